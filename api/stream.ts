/** Showing a turn to one reader as server-sent events, from wherever it is to its end (DESIGN 7, P10). */
import type { Response } from 'express';
import type { Frame, Relay, Shown } from '../contracts/frames.js';
import type { TurnRecord } from '../storage/port.js';
import type { Gateway } from './gateway.js';
import { oneAtATime } from './one-at-a-time.js';
import { type Problem, problemBody, toProblem } from './problem.js';
import { type EventStream, openEventStream, type SseEvent } from './sse.js';
import { acceptedReply, replyJson, spokenText, verdictOf } from './turn-reply.js';
import {
  catchUp,
  finalText,
  joining,
  lastSeenFence,
  moveTo,
  present,
  showFrame,
  type Shows,
  type Viewer,
} from './viewer.js';
import { erased, readTurn } from './wait.js';

/** A gap that no snapshot closed is looked at again after this; drafts are written about as often. */
const gapMs = 300;
/** Readers of a gateway that closes come back at once: another one is there, or this one is back soon. */
const closingRetryMs = 250;

export interface StreamedTurn {
  readonly turn: TurnRecord;
  /** The turn was accepted by this very request: nothing of it can have been missed. */
  readonly fresh: boolean;
  readonly lastEventId?: string | undefined;
}

/** Answers with the stream; returns as soon as it is open. It goes on until the turn settles or the reader leaves. */
export function streamTurn(gateway: Gateway, res: Response, streamed: StreamedTurn): void {
  const { relay, closing, log, settings, storage } = gateway;
  const { turn, fresh } = streamed;
  const ends: (() => void)[] = [];
  const out = openEventStream(res, settings.stream, {
    drain: () => advance(view),
    close: () => ends.forEach((end) => end()),
  });
  const view: View = {
    relay,
    out,
    row: turn,
    read: fresh || verdictOf(turn) !== undefined,
    viewer: fresh ? present(turn.turnId, turn.fence) : joining(turn.turnId, turn.fence),
    gap: undefined,
    look: oneAtATime(
      async () => {
        const found = await readTurn({ turns: storage.turns, log }, turn);
        if (!out.closed && found !== 'unknown') take(view, found);
      },
      (error) => {
        finish(view, [errorEvent(toProblem(error, log))]);
      },
    ),
  };
  ends.push(
    relay.subscribe(turn.turnId, (frame) => takeFrame(view, frame)),
    gateway.watch.watch(turn, view.look),
    () => clearTimeout(view.gap),
  );
  const onClosing = (): void => out.end(closingRetryMs);
  closing.addEventListener('abort', onClosing, { once: true });
  ends.push(() => closing.removeEventListener('abort', onClosing));

  greet(view, streamed.lastEventId);
  if (closing.aborted) onClosing();
  else if (view.read) advance(view);
  else view.look();
}

/** One reader's view of a turn. */
interface View {
  readonly relay: Relay;
  readonly out: EventStream;
  row: TurnRecord;
  /** `row` is no older than the subscription to the relay, so that row and frames leave no gap between them. */
  read: boolean;
  viewer: Viewer;
  /** Looks again at a gap that is open. */
  gap: NodeJS.Timeout | undefined;
  /** Reads the row. */
  readonly look: () => void;
}

function greet({ out, row, viewer }: View, lastEventId: string | undefined): void {
  out.send([{ event: 'accepted', data: JSON.stringify(acceptedData(row)) }]);
  const seen = lastSeenFence(viewer.turn, lastEventId);
  const outdated = seen !== undefined && seen < row.fence;
  if (outdated && ending(row) === undefined) out.send([{ event: 'reset', data: '{}' }]);
}

function takeFrame(view: View, frame: Frame): void {
  if (view.out.closed) return;
  show(view, showFrame(view.viewer, frame, view.out.isFull()));
  if (view.read && !view.out.isFull()) closeGapSoon(view);
}

function take(view: View, found: TurnRecord | undefined): void {
  if (found === undefined) {
    finish(view, [errorEvent(erased(view.row))]);
    return;
  }
  view.row = found;
  view.read = true;
  advance(view);
}

/** Shows what the row and the relay's text allow. A slow reader gets nothing until it has caught up, the end included. */
function advance(view: View): void {
  const { out, row, relay } = view;
  if (!view.read || out.closed || out.isFull()) return;
  const end = ending(row);
  // A settled turn has no next attempt: its last event says all, whatever its fence (a cancel raises it).
  if (end === undefined) show(view, moveTo(view.viewer, row.fence, row.step));
  const known = newest(relay.shown(row.turnId), row.draft);
  while (!out.isFull() && view.viewer.waiting !== null) {
    const next = catchUp(view.viewer, known);
    if (next.viewer === view.viewer) break;
    show(view, next);
  }
  if (out.isFull()) return;
  if (end !== undefined) finish(view, [...finalText(view.viewer, spokenText(row)), end]);
  else closeGapSoon(view);
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

function finish({ out }: View, events: readonly SseEvent[]): void {
  out.send(events);
  out.end();
}

const acceptedData = (turn: TurnRecord): Record<string, unknown> => ({
  ...acceptedReply(turn),
  ...(turn.baseVersion === null ? {} : { version: turn.baseVersion }),
});

/** The last event of a settled turn; undefined while it is not settled. `done` holds the bytes of the JSON answer. */
function ending(turn: TurnRecord): SseEvent | undefined {
  const verdict = verdictOf(turn);
  if (verdict === undefined) return undefined;
  return verdict.kind === 'reply'
    ? { event: 'done', data: replyJson(turn) }
    : errorEvent(verdict.problem);
}

const errorEvent = (problem: Problem): SseEvent => ({
  event: 'error',
  data: JSON.stringify(problemBody(problem)),
});

function newest(a: Shown | undefined, b: Shown | null): Shown | undefined {
  if (a === undefined || b === null) return a ?? b ?? undefined;
  return a.fence > b.fence || (a.fence === b.fence && a.seq >= b.seq) ? a : b;
}
