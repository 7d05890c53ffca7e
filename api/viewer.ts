/**
 * What one viewer of a turn has been shown, and what it must be shown next (P10). Pure, and small whatever the turn says:
 * of the text only a trace is kept. A client's text: `snapshot` replaces it, `token` appends, `reset` clears.
 */
import type { Frame, Shown } from '../contracts/frames.js';
import { type ModeSet, noModes, showsEvent } from '../contracts/stream-modes.js';
import { noText, sameText, type TextTrace, traced } from '../contracts/text-trace.js';
import type { SseEvent } from './sse.js';

export interface Viewer {
  readonly turn: string;
  /** Frames of lower fences are dropped. */
  readonly fence: number;
  /** Last frame of that fence that was shown, or that a snapshot covered. */
  readonly seq: number;
  /** What the client shows now. */
  readonly shows: TextTrace;
  /** The newest superstep of which an unfinished frame was shown; -1 when none. */
  readonly touched: number;
  /** Frames that cannot be shown before a gap is closed, without a gap between them; null when the viewer is live. */
  readonly waiting: Waiting | null;
  /** Stream modes that it asked for. */
  readonly modes: ModeSet;
  /** What the reader has had over an earlier connection: no event id comes twice (S2). */
  readonly seen: Seen | undefined;
}

/** What a Last-Event-ID says. */
export interface Seen {
  readonly fence: number;
  readonly seq: number;
}

interface Waiting {
  readonly frames: readonly Frame[];
  readonly chars: number;
}

export interface Shows {
  readonly viewer: Viewer;
  readonly events: readonly SseEvent[];
}

/** Most that is kept for a viewer that waits: as much as a slow reader may leave unsent. Older frames are in the snapshot that comes. */
const maxWaitingChars = 64 << 10;
/** Room that a frame takes beside its data. */
const frameChars = 100;

const nothingWaits: Waiting = { frames: [], chars: 0 };

/** A viewer that was there before the turn began: it misses nothing. */
export const present = (turn: string, fence: number, modes: ModeSet = noModes): Viewer => ({
  turn,
  fence,
  seq: 0,
  shows: noText,
  touched: -1,
  waiting: null,
  modes,
  seen: undefined,
});

/** A viewer that joins: it waits until the first `catchUp`. */
export const joining = (
  turn: string,
  fence: number,
  { modes = noModes, seen }: { readonly modes?: ModeSet; readonly seen?: Seen | undefined } = {},
): Viewer => ({
  ...present(turn, fence, modes),
  waiting: nothingWaits,
  seen,
});

/** What a Last-Event-ID of this turn names; undefined for anything else, which is ignored. */
export function lastSeen(turn: string, lastEventId: string | undefined): Seen | undefined {
  const found = /^([^.]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(lastEventId ?? '');
  if (found?.[1] !== turn) return undefined;
  return { fence: Number(found[2]), seq: Number(found[3]) };
}

/** A frame has come. `hold` drops it because the reader is slow: a snapshot will cover it. */
export function showFrame(viewer: Viewer, frame: Frame, hold: boolean): Shows {
  if (frame.kind === 'wake' || frame.fence < viewer.fence) return { viewer, events: [] };
  const moved = moveTo(viewer, frame.fence, frame.step);
  const now = moved.viewer;
  if (frame.seq <= now.seq) return moved;
  if (hold) return { ...moved, viewer: { ...now, waiting: nothingWaits } };
  if (now.waiting !== null || frame.seq !== now.seq + 1) {
    const waiting = keep(now.waiting ?? nothingWaits, frame);
    return { ...moved, viewer: { ...now, waiting } };
  }
  const shown = pass(now, frame);
  return { viewer: shown.viewer, events: [...moved.events, ...shown.events] };
}

/**
 * The turn runs under this fence and step. A `reset` comes exactly when the viewer was shown an unfinished frame of this
 * step (or a later one) under a lower fence; the text of finished steps follows, as the attempt's first frame.
 */
export function moveTo(viewer: Viewer, fence: number, step: number): Shows {
  if (fence <= viewer.fence) return { viewer, events: [] };
  const waiting = viewer.waiting === null ? null : nothingWaits;
  const moved: Viewer = { ...viewer, fence, seq: 0, waiting };
  if (viewer.touched < step) return { viewer: moved, events: [] };
  return {
    viewer: { ...moved, shows: noText, touched: step - 1 },
    events: [{ event: 'reset', data: '{}' }],
  };
}

/**
 * Brings a waiting viewer one move nearer to being live: a snapshot of what is known of the text, or the next frame that
 * waits. Gives the same viewer when the gap cannot be closed yet.
 */
export function catchUp(viewer: Viewer, known: Shown | undefined): Shows {
  if (viewer.waiting === null) return { viewer, events: [] };
  const [first] = viewer.waiting.frames;
  const follows = first?.seq === viewer.seq + 1;
  const joins = viewer.seq === 0 && viewer.shows.chars === 0;
  if (known !== undefined && reaches(known, viewer) && (joins || !follows)) {
    return passSnapshot(viewer, known);
  }
  if (first === undefined) return { viewer: { ...viewer, waiting: null }, events: [] };
  if (!follows) return { viewer, events: [] };
  return pass({ ...viewer, waiting: after(viewer.waiting, first.seq) }, first);
}

/** A row that has just been read knows more than a live viewer was shown: frames were lost on the way. */
export const fallenBehind = (viewer: Viewer, known: Shown | undefined): Viewer =>
  viewer.waiting === null && known !== undefined && reaches(known, viewer)
    ? { ...viewer, waiting: nothingWaits }
    : viewer;

/** What the turn said, when that is not what the viewer shows: frames were lost, or came from a model call that is no message. */
export const finalText = (viewer: Viewer, spoken: string): readonly SseEvent[] =>
  spoken === '' || isShown(viewer, spoken) ? [] : [snapshot(spoken)];

const isShown = ({ shows }: Viewer, text: string): boolean =>
  shows.chars === text.length && sameText(shows, traced(noText, text));

/** Known up to a frame that the viewer lacks, and leaving no gap before those that wait. */
const reaches = (known: Shown, { fence, seq, waiting }: Viewer): boolean =>
  known.fence === fence && known.seq > seq && known.seq >= (waiting?.frames[0]?.seq ?? 0) - 1;

function passSnapshot(viewer: Viewer, { seq, text, step }: Shown): Shows {
  const waiting = after(viewer.waiting ?? nothingWaits, seq);
  return {
    viewer: { ...viewer, seq, shows: traced(noText, text), touched: step, waiting },
    events: isShown(viewer, text) ? [] : [{ ...snapshot(text), ...idOf(viewer, seq) }],
  };
}

/** What waits behind frame `seq`; null when that is nothing. */
function after({ frames }: Waiting, seq: number): Waiting | null {
  const later = frames.filter((frame) => frame.seq > seq);
  return later.length === 0 ? null : { frames: later, chars: charsOf(later) };
}

function pass(viewer: Viewer, frame: Frame): Shows {
  const { seq, step } = frame;
  switch (frame.kind) {
    case 'text':
      return passText({ ...viewer, seq }, frame.data.text, step);
    case 'token': {
      const shows = traced(viewer.shows, frame.data.text);
      const touched = Math.max(viewer.touched, step);
      return { viewer: { ...viewer, seq, shows, touched }, events: eventOf(viewer, frame) };
    }
    case 'custom': {
      const touched = Math.max(viewer.touched, step);
      return { viewer: { ...viewer, seq, touched }, events: eventOf(viewer, frame) };
    }
    case 'mode': {
      const { event, data } = frame.data;
      if (!showsEvent(viewer.modes, event)) return { viewer: { ...viewer, seq }, events: [] };
      const touched = Math.max(viewer.touched, step);
      return { viewer: { ...viewer, seq, touched }, events: eventOf(viewer, frame, event, data) };
    }
    case 'step':
    case 'wake':
      return { viewer: { ...viewer, seq }, events: eventOf(viewer, frame) };
  }
}

/** Only who shows nothing needs it: after a yield the others show the same, or more that is as good. */
function passText(viewer: Viewer, text: string | null, step: number): Shows {
  if (text === null || text === '' || viewer.shows.chars > 0) return { viewer, events: [] };
  const touched = Math.max(viewer.touched, step - 1);
  return {
    viewer: { ...viewer, shows: traced(noText, text), touched },
    events: [{ ...snapshot(text), ...idOf(viewer, viewer.seq) }],
  };
}

function eventOf(
  viewer: Viewer,
  { kind, seq, ...frame }: Frame,
  event: string = kind,
  data: unknown = frame.data,
): readonly SseEvent[] {
  const json = jsonOf(data);
  return json === undefined ? [] : [{ event, data: json, ...idOf(viewer, seq) }];
}

/** What a node wrote may be no JSON: it is not shown, and whoever published it must not hear of it. */
function jsonOf(data: unknown): string | undefined {
  try {
    return JSON.stringify(data);
  } catch {
    return undefined;
  }
}

function idOf({ turn, fence, seen }: Viewer, seq: number): { readonly id?: string } {
  if (seen?.fence === fence && seq <= seen.seq) return {};
  return { id: `${turn}.${fence}.${seq}` };
}

/** Frames that follow each other; after a gap, or when they are too many, only the newer ones are of use. */
function keep({ frames, chars }: Waiting, frame: Frame): Waiting {
  const last = frames.at(-1);
  if (last !== undefined && frame.seq <= last.seq) return { frames, chars };
  const size = charsOf([frame]);
  const goesOn = last === undefined || frame.seq === last.seq + 1;
  return goesOn && chars + size <= maxWaitingChars
    ? { frames: [...frames, frame], chars: chars + size }
    : { frames: [frame], chars: size };
}

const charsOf = (frames: readonly Frame[]): number =>
  frames.reduce((sum, frame) => {
    const text = frame.kind === 'token' ? frame.data.text : jsonOf(frame.data);
    return sum + frameChars + (text?.length ?? 0);
  }, 0);

const snapshot = (text: string): SseEvent => ({
  event: 'snapshot',
  data: JSON.stringify({ text }),
});
