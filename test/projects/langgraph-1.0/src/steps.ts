import { AIMessage } from '@langchain/core/messages';
import { Annotation, MessagesAnnotation } from '@langchain/langgraph';

export const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  trace: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

/** A node that leaves its name in the trace, after something outside the process. */
export const step =
  (name: string, more: (state: any) => object = () => ({})) =>
  async (state: any): Promise<any> => {
    await new Promise((resolve) => setImmediate(resolve));
    return { trace: [name], ...more(state) };
  };
export const lastText = (state: any): string => String(state.messages.at(-1)?.content ?? '');
export const says = (text: string) => ({ messages: [new AIMessage(text)] });
