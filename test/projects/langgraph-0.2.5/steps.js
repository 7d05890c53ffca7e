import { AIMessage } from '@langchain/core/messages';
import { Annotation, MessagesAnnotation } from '@langchain/langgraph';

export const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  trace: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

/** A node that leaves its name in the trace, after something outside the process. */
export const step =
  (name, more = () => ({})) =>
  async (state) => {
    await new Promise((resolve) => setImmediate(resolve));
    return { trace: [name], ...more(state) };
  };
export const lastText = (state) => String(state.messages.at(-1)?.content ?? '');
export const says = (text) => ({ messages: [new AIMessage(text)] });
