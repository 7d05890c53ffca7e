/** What a chaos run says at its end. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChaosOptions } from './run.js';
import type { History, Violation } from './history.js';
import type { Fault, FaultKind } from './world.js';

export interface FaultSpan {
  readonly kind: FaultKind;
  readonly startMs: number;
  endMs: number;
}

export interface Report {
  readonly seed: number;
  readonly storage: string;
  readonly seconds: number;
  readonly plan: readonly Fault[];
  /** Turns that advanced a thread, and how all others ended. */
  readonly committed: number;
  readonly turnsByStatus: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly opsByKind: Readonly<Record<string, number>>;
  readonly callsPerCommitted: number;
  readonly claimsPerTurn: number;
  readonly longestHealMs: number;
  readonly violations: readonly Violation[];
  readonly detectedAfterSeconds: number | undefined;
  readonly history: History;
}

export function reportOf(run: {
  readonly options: ChaosOptions;
  readonly plan: readonly Fault[];
  readonly history: History;
  readonly violations: readonly Violation[];
  readonly spans: readonly FaultSpan[];
  readonly seconds: number;
  readonly signals: number;
  readonly detectedAfterSeconds: number | undefined;
}): Report {
  const { options, history, spans } = run;
  const { turns } = history.store;
  const committed = turns.filter(({ version }) => version !== null).length;
  const claims = turns.reduce((sum, { fence }) => sum + fence, 0);
  return {
    ...{ seed: options.seed, storage: options.storage, seconds: run.seconds, plan: run.plan },
    committed,
    turnsByStatus: countBy(turns, ({ status }) => status),
    faults: countBy(spans, ({ kind }) => kind),
    opsByKind: { ...countBy(history.ops, ({ kind }) => kind), signals: run.signals },
    callsPerCommitted: history.calls.length / Math.max(committed, 1),
    claimsPerTurn: claims / Math.max(turns.length, 1),
    longestHealMs: longestHeal(history, spans),
    violations: run.violations,
    detectedAfterSeconds: run.detectedAfterSeconds,
    history,
  };
}

function countBy<T>(list: readonly T[], name: (entry: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of list) counts[name(entry)] = (counts[name(entry)] ?? 0) + 1;
  return counts;
}

/** From a fault's end to the next reply on a thread where somebody waited through that end; the longest of all. */
function longestHeal({ ops }: History, spans: readonly FaultSpan[]): number {
  const replies = ops.filter(
    ({ kind, result, status }) => kind === 'turn' && result === 'ok' && status === 200,
  );
  const waits = new Map<string, { thread: string; startMs: number; endMs: number }>();
  for (const { kind, key, thread, startMs, endMs } of ops) {
    if (kind !== 'turn' || key === undefined) continue;
    const wait = waits.get(key);
    if (wait === undefined) waits.set(key, { thread, startMs, endMs });
    else
      waits.set(key, {
        thread,
        startMs: Math.min(wait.startMs, startMs),
        endMs: Math.max(wait.endMs, endMs),
      });
  }
  let longest = 0;
  for (const { endMs: healed } of spans) {
    const affected = new Set(
      [...waits.values()]
        .filter((w) => w.startMs < healed && w.endMs > healed)
        .map((w) => w.thread),
    );
    for (const thread of affected) {
      const next = replies.filter((op) => op.thread === thread && op.endMs >= healed);
      if (next.length > 0)
        longest = Math.max(longest, Math.min(...next.map(({ endMs }) => endMs)) - healed);
    }
  }
  return longest;
}

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'none';

export function shownReport(report: Report): string {
  const lines = [
    `turns      ${report.committed} committed in ${Math.round(report.seconds)} s (${listed(report.turnsByStatus)})`,
    `requests   ${listed(report.opsByKind)}`,
    `faults     ${listed(report.faults)}`,
    `model      ${report.callsPerCommitted.toFixed(2)} calls per committed turn, ${report.claimsPerTurn.toFixed(3)} claims per turn`,
    `heal       ${(report.longestHealMs / 1_000).toFixed(1)} s at the longest`,
    `violations: ${report.violations.length}`,
  ];
  for (const [kind, count] of Object.entries(countBy(report.violations, (v) => v.kind))) {
    const first = report.violations.find((v) => v.kind === kind);
    lines.push(`  ${kind} ${count}: ${(first?.detail ?? '').slice(0, 600)}`);
  }
  return lines.join('\n');
}

/** Keeps everything that a violation can be understood from. @returns the file */
export function storeHistory(report: Report): string {
  const file = path.join(tmpdir(), `everthread-chaos-${report.storage}-${report.seed}.json`);
  writeFileSync(file, JSON.stringify(report));
  return file;
}
