const { AIMessage } = require('@langchain/core/messages');
const { Annotation, MessagesAnnotation } = require('@langchain/langgraph');

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  trace: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
});

/** A node that leaves its name in the trace, after something outside the process. */
const step =
  (name, more = () => ({})) =>
  async (state) => {
    await new Promise((resolve) => setImmediate(resolve));
    return { trace: [name], ...more(state) };
  };
const lastText = (state) => String(state.messages.at(-1)?.content ?? '');
const says = (text) => ({ messages: [new AIMessage(text)] });

module.exports = { State, step, lastText, says };
