import { existsSync } from 'node:fs';
import { AIMessage } from '@langchain/core/messages';
import { interrupt, MessagesAnnotation, StateGraph } from '@langchain/langgraph';

const seen = (node, { configurable }) =>
  new AIMessage(
    [
      node,
      configurable.langgraph_auth_user.identity,
      configurable.langgraph_auth_user_id,
      configurable.user_id,
      configurable.langgraph_auth_permissions,
    ].join(' '),
  );

/** Each node says who asks: before a question, behind its answer, and once more when the gate of the test is open. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('before', (_state, config) => ({ messages: [seen('before', config)] }))
  .addNode('ask', (_state, config) => {
    interrupt('go on?');
    return { messages: [seen('ask', config)] };
  })
  .addNode('behind', async (_state, config) => {
    while (!existsSync(process.env.GATE)) await new Promise((done) => setTimeout(done, 50));
    return { messages: [seen('behind', config)] };
  })
  .addEdge('__start__', 'before')
  .addEdge('before', 'ask')
  .addEdge('ask', 'behind')
  .compile();
