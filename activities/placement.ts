/** Where turns run (Q1): most graphs on the task queue of the workflows, some on one of their own. */
import type { Place } from '../contracts/protocol.js';

export interface Placement {
  /** The task queue of the workflows. */
  readonly main: string;
  /** Task queue of each graph that does not live on the main one. */
  readonly queues: ReadonlyMap<string, string>;
  /** See `Place.waitMs`. */
  readonly waitMs: number;
}

/** The queue that a graph's turns run on. */
export const queueOf = (placement: Placement, graph: string): string =>
  placement.queues.get(graph) ?? placement.main;

/** How the workflow is told of a queue; the main one needs no telling. */
export const placeOn = ({ main, waitMs }: Placement, queue: string): { readonly place?: Place } =>
  queue === main ? {} : { place: { queue, waitMs } };
