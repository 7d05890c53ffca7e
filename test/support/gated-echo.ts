/** A graph of one node that answers when a test lets it, and remembers what it was asked. */
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

/** @returns `gates`: what a message makes the node wait for; `ran`: the messages that it ran with, in order */
export function gatedEcho() {
  const gates = new Map<string, Promise<void>>();
  const ran: string[] = [];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('answer', async ({ messages }) => {
      const people = messages.filter((m) => HumanMessage.isInstance(m));
      const text = people.at(-1)?.text ?? '';
      ran.push(text);
      await gates.get(text);
      return { messages: [new AIMessage(`seen ${people.length}: ${text}`)] };
    })
    .addEdge(START, 'answer')
    .compile();
  return { graph, gates, ran };
}
