import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';

/** Says who asks, as nodes of the platform find it. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('who', (_state, { configurable }) => ({
    messages: [
      new AIMessage(
        `${configurable.langgraph_auth_user_id}: ${configurable.langgraph_auth_user.role}, ${configurable.langgraph_auth_permissions}`,
      ),
    ],
  }))
  .addEdge('__start__', 'who')
  .compile();
