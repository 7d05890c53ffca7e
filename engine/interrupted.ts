/** A run that waits for a person: its output is the state that is committed, without what unfinished supersteps wrote. */
import type { TurnInterrupt } from '../contracts/http.schema.js';
import { baseValues } from './base-values.js';
import { callableIn, rootPlace } from './call.js';
import { turnOutput } from './output.js';
import { toJson, type Json } from './plain-json.js';
import type { PregelGraph } from './project/types.js';
import type { GraphRun, Stop } from './port.js';
import { messageJson } from './transcript.js';

interface Snapshot {
  readonly values: unknown;
  readonly tasks: readonly { readonly id: string; readonly name: string }[];
}

/** Writes that say how a task went, not what it gave. */
const notOutput = new Set(['__error__', '__interrupt__', '__resume__', '__error_source_node__']);

/**
 * A parallel task that has finished beside the interrupt is not in the output: its messages belong to the turn whose
 * superstep ends.
 */
export async function interruptedStop(run: GraphRun, raised: readonly unknown[]): Promise<Stop> {
  const graph = callableIn(run);
  const configurable = { ...rootPlace(run), checkpoint_id: run.attempt.headCheckpointId() };
  const tuple = await run.attempt.saver.getTuple({ configurable });
  const done = new Set(
    (tuple?.pendingWrites ?? []).filter(([, c]) => !notOutput.has(c)).map(([task]) => task),
  );
  const snapshot = (await graph.getState({ configurable })) as Snapshot;
  return {
    kind: 'interrupted',
    output: turnOutput(
      outputOf(graph, snapshot.values),
      await baseValues(run),
      run.identity.turnId,
    ),
    interrupts: interruptsOf(raised),
    next: [...new Set(snapshot.tasks.filter(({ id }) => !done.has(id)).map(({ name }) => name))],
  };
}

/** A snapshot shows all channels; the output only those that the graph gives out. */
export function outputOf({ outputChannels }: PregelGraph, values: unknown): unknown {
  if (typeof outputChannels === 'string' || typeof values !== 'object' || values === null) {
    return values;
  }
  return Object.fromEntries(Object.entries(values).filter(([key]) => outputChannels.includes(key)));
}

interface RaisedInterrupt {
  readonly id?: unknown;
  readonly interrupt_id?: unknown;
  readonly value?: unknown;
}

/** Each once: a subgraph's interrupt is told by the subgraph and by its parent. */
export function interruptsOf(raised: readonly unknown[]): TurnInterrupt[] {
  const byId = new Map<unknown, TurnInterrupt>();
  for (const one of raised as readonly RaisedInterrupt[]) {
    const id = one.id ?? one.interrupt_id;
    const value: Json = toJson(one.value, messageJson);
    byId.set(id ?? one, { ...(typeof id === 'string' && { id }), value });
  }
  return [...byId.values()];
}
