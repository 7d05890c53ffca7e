/** Before 0.3 an interrupted run ends as a finished one does; whether it waits is read from the state that it left. */
import { callableIn, rootPlace } from '../call.js';
import type { GraphRun } from '../port.js';
import { traitsOf } from './traits.js';

interface Snapshot {
  readonly next: readonly string[];
  readonly tasks: readonly { readonly interrupts?: readonly unknown[] }[];
}

/** What the state waits for: interrupts, none of them at a static breakpoint, or null when nothing follows. */
export async function untoldInterrupts(run: GraphRun): Promise<readonly unknown[] | null> {
  if (traitsOf(run.graph.modules).tellsInterrupts) return null;
  const state = await callableIn(run).getState({ configurable: rootPlace(run) });
  const { next, tasks } = state as Snapshot;
  const interrupts = tasks.flatMap((task) => task.interrupts ?? []);
  return interrupts.length > 0 || next.length > 0 ? interrupts : null;
}
