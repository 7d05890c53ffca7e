/** A closed loop of threads, each with one turn under way, and what it measures. */
import { setTimeout as pause } from 'node:timers/promises';

export interface LoadPlan {
  /** Turns at once, each on a thread of its own. */
  readonly threads: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export interface Load {
  readonly turns: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** By name of a process, ms of CPU for each turn. */
  readonly cpuMsPerTurn: Readonly<Record<string, number>>;
}

export interface Loaded {
  /** Makes one turn on the thread of this number and waits for its answer. */
  readonly turn: (thread: number) => Promise<void>;
  /** Reads the CPU time so far of each process that takes part. */
  readonly cpu: () => Readonly<Record<string, number>>;
}

/** Bounds a run whatever the machine does. */
const maxTurns = 20_000;

export async function runLoad(plan: LoadPlan, { turn, cpu }: Loaded): Promise<Load> {
  const latencies: number[] = [];
  let measuring = false;
  let stopped = false;
  let turns = 0;
  const oneThread = async (thread: number): Promise<void> => {
    while (!stopped && turns < maxTurns) {
      const started = performance.now();
      await turn(thread);
      turns += 1;
      if (measuring) latencies.push(performance.now() - started);
    }
  };
  const running = Promise.all(Array.from({ length: plan.threads }, (_, n) => oneThread(n)));
  running.catch(() => undefined); // thrown where it is awaited below
  await Promise.race([pause(plan.warmUpMs), running]);
  const [cpuBefore, started] = [cpu(), performance.now()];
  measuring = true;
  await Promise.race([pause(plan.measureMs), running]);
  measuring = false;
  const [cpuAfter, ms] = [cpu(), performance.now() - started];
  stopped = true;
  await running;
  return {
    turns: latencies.length,
    perSecond: (latencies.length * 1_000) / ms,
    ...percentiles(latencies),
    cpuMsPerTurn: Object.fromEntries(
      Object.entries(cpuAfter).map(([name, after]) => [
        name,
        (after - (cpuBefore[name] ?? 0)) / latencies.length,
      ]),
    ),
  };
}

/** V8 compiles what a turn runs over the first thousand or so; a worker lives for days. */
const turnsToWarm = 1_500;
const turnsOfWindow = 250;

/** Turns until each process that runs them is warm. @returns ms of CPU per turn, of 250 turns after the other */
export async function warmUp(
  { quick }: { readonly quick: boolean },
  { turn, cpu }: Loaded,
  processes = 1,
): Promise<readonly number[]> {
  const total = (): number => Object.values(cpu()).reduce((sum, ms) => sum + ms, 0);
  const turns = quick ? 8 : turnsToWarm * processes;
  const windows: number[] = [];
  let [begun, before, done] = [0, total(), 0];
  const oneThread = async (thread: number): Promise<void> => {
    while (begun < turns) {
      begun += 1;
      await turn(thread);
      done += 1;
      if (done % turnsOfWindow !== 0) continue;
      const now = total();
      windows.push((now - before) / turnsOfWindow);
      before = now;
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, n) => oneThread(n)));
  return windows;
}

/** How long a thread rests before a turn that is to find it idle: longer than the 50 ms that Temporal may hold its next task. */
export const restMs = 150;

/** One turn at a time, each after a rest. */
export async function idleLatencies(
  count: number,
  turn: () => Promise<unknown>,
): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (let n = 0; n < count; n += 1) {
    await pause(restMs);
    const started = performance.now();
    await turn();
    latencies.push(performance.now() - started);
  }
  return latencies;
}

export function percentiles(values: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

export const median = (values: readonly number[]): number => percentiles(values).p50Ms;
