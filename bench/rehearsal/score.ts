/** What clients saw in a span of time, out of the log of their requests. Pure. */
import type { Op } from '../../test/chaos/history.js';

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Score {
  /** Answered in the span. */
  readonly turns: number;
  /** Answers that made a client ask again, by kind. */
  readonly errors: Readonly<Record<string, number>>;
  /** Longest time in which no client had a reply. */
  readonly longestGapMs: number;
  /** From a turn's first request to its reply. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function scoreOf(ops: readonly Op[], span: Span): Score {
  const within = ops.filter(({ endMs }) => endMs >= span.fromMs && endMs < span.toMs);
  const replies = within.filter(isReply);
  const firstMs = new Map<string | undefined, number>();
  for (const { key, startMs } of ops)
    firstMs.set(key, Math.min(startMs, firstMs.get(key) ?? Infinity));
  const times = replies
    .map(({ key, endMs }) => endMs - (firstMs.get(key) ?? endMs))
    .sort((a, b) => a - b);
  const errors: Record<string, number> = {};
  for (const op of within) if (!isReply(op)) errors[kindOf(op)] = (errors[kindOf(op)] ?? 0) + 1;
  const ends = replies.map(({ endMs }) => endMs).sort((a, b) => a - b);
  const moments = [span.fromMs, ...ends, span.toMs];
  const gaps = moments.slice(1).map((ms, n) => ms - (moments[n] ?? ms));
  return {
    turns: replies.length,
    errors,
    longestGapMs: Math.max(...gaps),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  };
}

const isReply = ({ status, result }: Op): boolean => status === 200 && result === 'ok';

const kindOf = ({ status, code }: Op): string => {
  if (status === 0) return 'no answer';
  return code === undefined || code === 'no code' ? String(status) : `${status} ${code}`;
};

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
