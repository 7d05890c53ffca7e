/** Names of task queues: short ones in langgraph.json and settings, long ones in Temporal. */

/** The queue of the workflows, and of every graph that names none. */
export const mainQueue = 'main';

/**
 * What Temporal knows a queue by. Behind the main one's name, since several installations may share a namespace, and an
 * activity that reaches another one's worker ends its thread's run (P1).
 */
export const taskQueueOf = (main: string, name: string): string =>
  name === mainQueue ? main : `${main}.${name}`;

/** A task queue and who serves it, as Temporal tells it. */
export interface QueueState {
  /** Short. */
  readonly name: string;
  /** As Temporal knows it. */
  readonly taskQueue: string;
  /** Worker processes that ask it for turns. One that was killed counts for a minute more. */
  readonly workers: number;
  /** Tasks that wait for one of them, about: those that have waited too long and were asked for anew count for a while. */
  readonly backlog: number;
}
