/** The plan of faults: all of it comes from the seed, and is printed before the run. */
import type { Random } from './random.js';
import type { Fault, FaultKind } from './world.js';

export type Mix = Readonly<Partial<Record<FaultKind, number>>>;

/** How often each kind comes, relative to the others. */
export const usualMix: Readonly<Record<FaultKind, number>> = {
  'worker-kill': 5,
  'gateway-kill': 3,
  'worker-pause': 3,
  'claim-pause': 1,
  'process-kill': 4,
  'process-pause': 2,
  'cut-before-commit': 3,
  'cut-after-commit': 3,
  'cut-all': 3,
  'postgres-restart': 2,
  'temporal-restart': 1,
};

/** Longer than the heartbeat time-out of 5 s, so that a paused worker's turns are given to others. */
const pauseMs = [6_500, 9_000] as const;

const lengths: Readonly<Record<FaultKind, readonly [number, number]>> = {
  'worker-kill': [0, 500],
  'gateway-kill': [0, 1_000],
  'process-kill': [0, 500],
  'worker-pause': pauseMs,
  'claim-pause': pauseMs,
  'process-pause': pauseMs,
  'cut-before-commit': [500, 1_500],
  'cut-after-commit': [500, 1_500],
  'cut-all': [0, 1],
  'postgres-restart': [0, 3_000],
  'temporal-restart': [0, 2_000],
};

export interface PlanOptions {
  readonly kinds: readonly FaultKind[];
  readonly mix: Mix;
  /** Quiet time between two faults. */
  readonly gapMs: readonly [number, number];
  readonly totalMs: number;
}

export function planFaults(choices: Random, options: PlanOptions): readonly Fault[] {
  const mix = Object.fromEntries(
    options.kinds.flatMap((kind) =>
      options.mix[kind] === undefined ? [] : [[kind, options.mix[kind]]],
    ),
  ) as Mix;
  if (Object.keys(mix).length === 0) return [];
  const plan: Fault[] = [];
  for (let atMs = 0; atMs < options.totalMs;) {
    const kind = choices.weighted<FaultKind>(mix);
    const afterMs = choices.between(...options.gapMs);
    const lengthMs = choices.between(...lengths[kind]);
    plan.push({ kind, which: choices.between(0, 6), lengthMs, afterMs });
    atMs += afterMs + (lastsBeside(kind) ? lengthMs / 3 : lengthMs);
  }
  return plan;
}

/** A pause is long, and other faults go on meanwhile. */
export const lastsBeside = (kind: FaultKind): boolean =>
  kind === 'worker-pause' || kind === 'claim-pause';

export const shownPlan = (plan: readonly Fault[]): string =>
  plan
    .map(({ kind, which, lengthMs, afterMs }) => `+${afterMs} ${kind}#${which} ${lengthMs}`)
    .join(', ');
