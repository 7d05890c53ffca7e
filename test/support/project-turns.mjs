/** The turns that the graphs of `test/projects` are given, by the name of the graph. */
const message = (text) => ({ kind: 'message', text });
const resume = (value) => ({ kind: 'resume', value });

const byName = {
  ask: [message('hello'), resume('Ada'), message('again'), resume('Grace')],
  // A node that threw NodeInterrupt is run again by a resume, and by a new message.
  approve: [message('hello'), resume(null), message('approved')],
  gate: [message('hello'), resume(null), message('again')],
};

export const turnsOf = (graph) => byName[graph] ?? [message('hello'), message('again')];
