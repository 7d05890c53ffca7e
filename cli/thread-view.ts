/** Threads as text for a terminal. Pure. */
import stringWidth from 'string-width';
import type { HistoryReply, ThreadReply } from '../contracts/http.schema.js';
import { printable } from './reply-view.js';

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

export const threadColumns = 'THREAD STATUS GRAPH VERSION UPDATED BUILD TURN'.split(' ');

export function threadCells(thread: ThreadReply, nowMs: number): readonly string[] {
  const { thread_id, status, graph, version, updated_at, turn, build_id: build = '-' } = thread;
  const since = turn && `${turn.status} ${ago(turn.accepted_at, nowMs)}${tries(turn.attempts)}`;
  const cells = [thread_id, status, graph ?? '-', String(version), ago(updated_at, nowMs)];
  return [...cells, build, since ?? '-'];
}

/** Rows under a head, padded to the widest cell; the status is the one thing with a colour. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  paint: Paint,
): readonly string[] {
  const shown = [head, ...rows].map((cells) => cells.map(printable));
  const widths = head.map((_, i) => Math.max(...shown.map((cells) => stringWidth(cells[i] ?? ''))));
  return shown.map((cells, row) => {
    const padded = cells.map((cell, i) => {
      const pad = i === cells.length - 1 ? 0 : (widths[i] ?? 0) - stringWidth(cell);
      const text = cell + ' '.repeat(pad);
      return row > 0 && head[i] === 'STATUS' ? inColor(cell, text, paint) : text;
    });
    const line = padded.join('  ').trimEnd();
    return row === 0 ? paint.bold(line) : line;
  });
}

function inColor(status: string, text: string, paint: Paint): string {
  if (['committed', 'idle'].includes(status)) return paint.green(text);
  if (['busy', 'running', 'pending'].includes(status)) return paint.cyan(text);
  return paint.yellow(text);
}

export function threadLines(
  thread: ThreadReply,
  history: HistoryReply['history'],
  { paint, nowMs }: { readonly paint: Paint; readonly nowMs: number },
): readonly string[] {
  const { turn, interrupts = [] } = thread;
  const facts: readonly (readonly [string, string])[] = [
    ['thread', thread.thread_id],
    ['status', thread.status],
    ['graph', thread.graph ?? '-'],
    ['version', `${thread.version} (epoch ${thread.epoch})`],
    ['created', `${thread.created_at} (${ago(thread.created_at, nowMs)} ago)`],
    ['updated', `${thread.updated_at} (${ago(thread.updated_at, nowMs)} ago)`],
    ...(thread.build_id === undefined ? [] : [['build', thread.build_id] as const]),
    ...(thread.next.length > 0 ? [['next', thread.next.join(', ')] as const] : []),
    ...(interrupts.length > 0 ? [['asks', questions(interrupts.length)] as const] : []),
    ...(turn === undefined
      ? []
      : [
          [
            'turn',
            `${turn.turn_id} (seq ${turn.seq}), ${turn.status}, accepted ${ago(turn.accepted_at, nowMs)} ago, ${attempts(turn.attempts)}`,
          ] as const,
          ...(turn.unserved_queue === undefined ? [] : [['waits', waitsFor(turn)] as const]),
        ]),
  ];
  const lines = facts.map(([name, value]) => `${paint.dim(name.padEnd(8))} ${printable(value)}`);
  if (history.length === 0) return lines;
  const rows = history.map((entry) => [
    ...[String(entry.version), entry.status, entry.turn_id, `${ago(entry.settled_at, nowMs)} ago`],
  ]);
  return [...lines, '', ...table(['VERSION', 'STATUS', 'TURN', 'SETTLED'], rows, paint)];
}

const questions = (count: number): string =>
  count === 1 ? 'one question (answer it with `everthread chat`)' : `${count} questions`;

/** A worker that stops runs to the end what it has, and asks for nothing more. */
const waitsFor = ({ status, unserved_queue: queue }: NonNullable<ThreadReply['turn']>): string =>
  status === 'pending'
    ? `for a worker on queue ${queue}; none polls`
    : `unless its worker still runs it, for one on queue ${queue}; none polls`;

/** The first attempt is no news. */
const tries = (count: number): string => (count > 1 ? `, ${attempts(count)}` : '');

function attempts(count: number): string {
  if (count === 0) return 'no worker has taken it yet';
  return count === 1 ? '1 attempt' : `${count} attempts`;
}

/** Clocks differ: what seems to come from the future is now. */
export function ago(time: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${seconds % 60}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h${minutes % 60}m` : `${Math.floor(hours / 24)}d`;
}
