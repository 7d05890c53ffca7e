/** Showing a turn to one reader as server-sent events, from wherever it is to its end (DESIGN 7, P10). */
import type { Response } from 'express';
import type { Frame, Shown } from '../contracts/frames.js';
import type { ModeSet } from '../contracts/stream-modes.js';
import type { TurnGlance, TurnRecord } from '../storage/port.js';
import type { Gateway } from './gateway.js';
import { longBytes, longEnd } from './long-reply.js';
import { oneAtATime } from './one-at-a-time.js';
import { type Problem, problemBody, toProblem } from './problem.js';
import { type EventStream, openEventStream, type SseEvent } from './sse.js';
import { acceptedReply, replyJson, spokenText, type Verdict, verdictOf } from './turn-reply.js';
import {
  catchUp,
  fallenBehind,
  finalText,
  joining,
  lastSeen,
  moveTo,
  present,
  showFrame,
  type Shows,
  type Viewer,
} from './viewer.js';
import { erased, readRow } from './wait.js';

/** A gap that no snapshot closed is looked at again after this; drafts are written about as often. */
const gapMs = 300;
/** Readers of a gateway that closes come back at once: another one is there, or this one is back soon. */
const closingRetryMs = 250;

export interface StreamedTurn {
  readonly glance: TurnGlance;
  /** The turn was accepted by this very request: nothing of it can have been missed. */
  readonly fresh: boolean;
  readonly lastEventId?: string | undefined;
  /** LangGraph's stream modes that this reader asked for. */
  readonly modes: ModeSet;
}

/** Answers with the stream; returns as soon as it is open. It goes on until the turn settles or the reader leaves. */
export function streamTurn(gateway: Gateway, res: Response, streamed: StreamedTurn): void {
  const { closing, settings } = gateway;
  const { glance, fresh, lastEventId, modes } = streamed;
  const { turn } = glance;
  const ends: (() => void)[] = [];
  const out = openEventStream(res, settings.stream, {
    drain: () => advance(view, undefined),
    close: () => ends.forEach((end) => end()),
  });
  const row = headOf(turn);
  const view: View = {
    ...{ gateway, out, row, ends },
    viewer: fresh
      ? present(row.turnId, row.fence, modes)
      : joining(row.turnId, row.fence, { modes, seen: lastSeen(row.turnId, lastEventId) }),
    read: fresh,
    stale: false,
    gap: undefined,
    look: lookOf(() => view),
  };
  follow(view);
  const onClosing = (): void => out.end(closingRetryMs);
  closing.addEventListener('abort', onClosing, { once: true });
  ends.push(() => closing.removeEventListener('abort', onClosing));

  greet(view, turn);
  if (closing.aborted) onClosing();
  else if (fresh || verdictOf(turn) !== undefined) take(view, glance);
  else view.look();
}

/** What is kept of a turn while it is shown: nothing of what it says, which may be long. */
type Head = Pick<TurnRecord, 'thread' | 'turnId' | 'fence' | 'step'>;

const headOf = ({ thread, turnId, fence, step }: TurnRecord): Head => ({
  ...{ thread, turnId, fence, step },
});

/** One reader's view of a turn. */
interface View {
  readonly gateway: Gateway;
  readonly out: EventStream;
  row: Head;
  viewer: Viewer;
  /** `row` is no older than the subscription to the relay, so that row and frames leave no gap between them. */
  read: boolean;
  /** The row has news that a slow reader was not shown: it is read again when the reader has caught up. */
  stale: boolean;
  /** Looks again at a gap that is open. */
  gap: NodeJS.Timeout | undefined;
  /** Reads the row. */
  readonly look: () => void;
  /** What ends with the stream. */
  readonly ends: (() => void)[];
}

function lookOf(viewOf: () => View): () => void {
  return oneAtATime(
    async () => {
      const view = viewOf();
      view.stale = view.out.isFull();
      if (view.stale || view.out.closed) return;
      const { storage, log } = view.gateway;
      const { thread, turnId } = view.row;
      const found = await readRow({ log, turnId }, () =>
        storage.turns.glance(thread, turnId, longBytes),
      );
      if (found !== 'unknown') take(view, found);
    },
    (error) => {
      const { out, gateway } = viewOf();
      out.finish([errorEvent(toProblem(error, gateway.log))]);
    },
  );
}

function follow(view: View): void {
  const { relay, watch } = view.gateway;
  view.ends.push(
    relay.subscribe(view.row.turnId, (frame) => takeFrame(view, frame)),
    watch.watch(view.row, view.look),
    () => clearTimeout(view.gap),
  );
}

function greet({ out, row, viewer }: View, turn: TurnRecord): void {
  out.send([{ event: 'accepted', data: JSON.stringify(acceptedData(turn)) }]);
  const outdated = viewer.seen !== undefined && viewer.seen.fence < row.fence;
  if (outdated && verdictOf(turn) === undefined) out.send([{ event: 'reset', data: '{}' }]);
}

function takeFrame(view: View, frame: Frame): void {
  if (view.out.closed) return;
  show(view, showFrame(view.viewer, frame, view.out.isFull()));
  if (view.read && !view.out.isFull()) closeGapSoon(view);
}

function take(view: View, found: TurnGlance | undefined): void {
  if (view.out.closed) return;
  if (found === undefined) {
    view.out.finish([errorEvent(erased(view.row))]);
    return;
  }
  view.row = headOf(found.turn);
  view.read = true;
  advance(view, found);
}

/**
 * Shows what the relay and the row, when it has just been read, allow. A slow reader gets nothing until it has caught up,
 * the end included.
 */
function advance(view: View, glance: TurnGlance | undefined): void {
  const found = glance?.turn;
  const { out, row, gateway } = view;
  if (!view.read || out.closed) return;
  if (out.isFull()) {
    view.stale ||= found !== undefined;
    return;
  }
  const shown = gateway.relay.shown(row.turnId);
  if (found === undefined && (view.stale || (view.viewer.waiting !== null && !shown))) {
    view.look();
    return;
  }
  const verdict = found && verdictOf(found);
  // A settled turn has no next attempt: its last event says all, whatever its fence (a cancel raises it).
  if (verdict === undefined) show(view, moveTo(view.viewer, row.fence, row.step));
  const known = newest(shown, found?.draft ?? null);
  if (found !== undefined) view.viewer = fallenBehind(view.viewer, known);
  while (!out.isFull() && view.viewer.waiting !== null) {
    const next = catchUp(view.viewer, known);
    if (next.viewer === view.viewer) break;
    show(view, next);
  }
  if (verdict === undefined || glance === undefined) closeGapSoon(view);
  else if (out.isFull()) view.stale = true;
  else finish(view, glance, verdict);
}

function closeGapSoon(view: View): void {
  if (view.viewer.waiting === null) return;
  view.gap ??= setTimeout(() => {
    view.gap = undefined;
    view.look();
  }, gapMs);
}

function show(view: View, { viewer, events }: Shows): void {
  view.viewer = viewer;
  view.out.send(events);
}

/** The last event of a settled turn: `done` holds the bytes of the JSON answer. */
function finish(view: View, glance: TurnGlance, verdict: Verdict): void {
  const { turn } = glance;
  if (verdict.kind === 'problem') {
    view.out.finish([...finalText(view.viewer, spokenText(turn)), errorEvent(verdict.problem)]);
    return;
  }
  switch (glance.kind) {
    case 'whole': {
      const done: SseEvent = { event: 'done', data: replyJson(turn) };
      view.out.finish([...finalText(view.viewer, spokenText(turn)), done]);
      return;
    }
    case 'long': {
      const { storage, places } = view.gateway;
      const { shows } = view.viewer;
      view.out.finishWith(longEnd({ turns: storage.turns, places }, glance, shows));
    }
  }
}

const acceptedData = (turn: TurnRecord): Record<string, unknown> => ({
  ...acceptedReply(turn),
  ...versionOf(turn),
});

/** That which it stands on, until it has one of its own. */
function versionOf({ version, baseVersion }: TurnRecord): { readonly version?: number } {
  const known = version ?? baseVersion;
  return known === null ? {} : { version: known };
}

const errorEvent = (problem: Problem): SseEvent => ({
  event: 'error',
  data: JSON.stringify(problemBody(problem)),
});

function newest(a: Shown | undefined, b: Shown | null): Shown | undefined {
  if (a === undefined || b === null) return a ?? b ?? undefined;
  return a.fence > b.fence || (a.fence === b.fence && a.seq >= b.seq) ? a : b;
}
