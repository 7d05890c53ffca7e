/** Names of task queues: short ones in langgraph.json and settings, long ones in Temporal. */

/** The queue of the workflows, and of every graph that names none. */
export const mainQueue = 'main';

/**
 * What Temporal knows a queue by. Behind the main one's name, since several installations may share a namespace, and an
 * activity that reaches another one's worker ends its thread's run (P1).
 */
export const taskQueueOf = (main: string, name: string): string =>
  name === mainQueue ? main : `${main}.${name}`;
