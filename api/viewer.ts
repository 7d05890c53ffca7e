/**
 * What one viewer of a turn has been shown, and what it must be shown next (P10). Pure.
 * A client's text: `snapshot` replaces it, `token` appends, `reset` clears.
 */
import type { Frame, Shown } from '../contracts/frames.js';
import type { SseEvent } from './sse.js';

export interface Viewer {
  readonly turn: string;
  /** Frames of lower fences are dropped. */
  readonly fence: number;
  /** Last frame of that fence that was shown, or that a snapshot covered. */
  readonly seq: number;
  /** What the client shows now. */
  readonly text: string;
  /** Where in `text` each superstep's text begins. */
  readonly marks: readonly { readonly step: number; readonly at: number }[];
  /** The newest superstep of which an unfinished frame was shown; -1 when none. */
  readonly touched: number;
  /** Frames that cannot be shown before a gap is closed, without a gap between them; null when the viewer is live. */
  readonly waiting: readonly Frame[] | null;
}

export interface Shows {
  readonly viewer: Viewer;
  readonly events: readonly SseEvent[];
}

/** Most frames kept for a viewer that waits; older ones are covered by the snapshot that comes later. */
const maxWaiting = 200;

/** A viewer that was there before the turn began: it misses nothing. */
export const present = (turn: string, fence: number): Viewer => ({
  turn,
  fence,
  seq: 0,
  text: '',
  marks: [],
  touched: -1,
  waiting: null,
});

/** A viewer that joins: it waits until the first `catchUp`. */
export const joining = (turn: string, fence: number): Viewer => ({
  ...present(turn, fence),
  waiting: [],
});

/** The fence that a Last-Event-ID of this turn names; undefined for anything else, which is ignored. */
export function lastSeenFence(turn: string, lastEventId: string | undefined): number | undefined {
  const found = /^([^.]{1,64})\.(\d{1,15})\.(\d{1,15})$/.exec(lastEventId ?? '');
  return found?.[1] === turn ? Number(found[2]) : undefined;
}

/** A frame has come. `hold` keeps it back because the reader is slow. */
export function showFrame(viewer: Viewer, frame: Frame, hold: boolean): Shows {
  if (frame.kind === 'wake' || frame.fence < viewer.fence) return { viewer, events: [] };
  const moved = moveTo(viewer, frame.fence, frame.step);
  const now = moved.viewer;
  if (frame.seq <= now.seq) return moved;
  if (hold || now.waiting !== null || frame.seq !== now.seq + 1) {
    return { viewer: { ...now, waiting: keep(now.waiting ?? [], frame) }, events: moved.events };
  }
  const shown = pass(now, frame);
  return { viewer: shown.viewer, events: [...moved.events, ...shown.events] };
}

/**
 * The turn runs under this fence and step. A `reset` comes exactly when the viewer was shown an unfinished frame of this
 * step (or a later one) under a lower fence; the text of finished steps stays.
 */
export function moveTo(viewer: Viewer, fence: number, step: number): Shows {
  if (fence <= viewer.fence) return { viewer, events: [] };
  const waiting = viewer.waiting === null ? null : [];
  const moved: Viewer = { ...viewer, fence, seq: 0, waiting };
  if (viewer.touched < step) return { viewer: moved, events: [] };
  const lost = viewer.marks.find((mark) => mark.step >= step);
  const text = viewer.text.slice(0, lost?.at);
  return {
    viewer: { ...moved, text, marks: viewer.marks.filter((m) => m.step < step), touched: step - 1 },
    events: [{ event: 'reset', data: '{}' }, ...(text === '' ? [] : [snapshot(text)])],
  };
}

/**
 * Brings a waiting viewer one move nearer to being live: a snapshot of what is known of the text, or the next frame that
 * waits. Gives the same viewer when the gap cannot be closed yet.
 */
export function catchUp(viewer: Viewer, known: Shown | undefined): Shows {
  if (viewer.waiting === null) return { viewer, events: [] };
  const [first, ...later] = viewer.waiting;
  const follows = first?.seq === viewer.seq + 1;
  const joins = viewer.seq === 0 && viewer.text === '';
  if (known !== undefined && reaches(known, viewer) && (joins || !follows)) {
    return passSnapshot(viewer, known);
  }
  if (first === undefined) return { viewer: { ...viewer, waiting: null }, events: [] };
  return follows ? pass({ ...viewer, waiting: orLive(later) }, first) : { viewer, events: [] };
}

/** What the turn said, when that is not what the viewer shows: frames were lost, or came from a model call that is no message. */
export const finalText = (viewer: Viewer, spoken: string): readonly SseEvent[] =>
  spoken === '' || spoken === viewer.text ? [] : [snapshot(spoken)];

/** Known up to a frame that the viewer lacks, and leaving no gap before those that wait. */
const reaches = (known: Shown, { fence, seq, waiting }: Viewer): boolean =>
  known.fence === fence && known.seq > seq && known.seq >= (waiting?.[0]?.seq ?? 0) - 1;

function passSnapshot(viewer: Viewer, { seq, text, step }: Shown): Shows {
  const waiting = orLive((viewer.waiting ?? []).filter((frame) => frame.seq > seq));
  const id = `${viewer.turn}.${viewer.fence}.${seq}`;
  return {
    viewer: { ...viewer, seq, text, touched: step, marks: [{ step, at: 0 }], waiting },
    events: text === viewer.text ? [] : [{ ...snapshot(text), id }],
  };
}

const orLive = (waiting: readonly Frame[]): Viewer['waiting'] =>
  waiting.length === 0 ? null : waiting;

function pass(viewer: Viewer, frame: Frame): Shows {
  const { kind, seq, step } = frame;
  const data = jsonOf(frame.data);
  const id = `${viewer.turn}.${viewer.fence}.${seq}`;
  const events: SseEvent[] = data === undefined ? [] : [{ event: kind, data, id }];
  if (kind !== 'token') {
    const touched = kind === 'custom' ? Math.max(viewer.touched, step) : viewer.touched;
    return { viewer: { ...viewer, seq, touched }, events };
  }
  const marks = viewer.marks.some((mark) => mark.step >= step)
    ? viewer.marks
    : [...viewer.marks, { step, at: viewer.text.length }];
  const text = viewer.text + frame.data.text;
  const touched = Math.max(viewer.touched, step);
  return { viewer: { ...viewer, seq, text, marks, touched }, events };
}

/** What a node wrote may be no JSON: it is not shown, and whoever published it must not hear of it. */
function jsonOf(data: unknown): string | undefined {
  try {
    return JSON.stringify(data);
  } catch {
    return undefined;
  }
}

/** Frames that follow each other; after a gap only the newer ones are of use. */
function keep(waiting: readonly Frame[], frame: Frame): readonly Frame[] {
  const last = waiting.at(-1);
  if (last !== undefined && frame.seq <= last.seq) return waiting;
  if (last !== undefined && frame.seq !== last.seq + 1) return [frame];
  return [...waiting, frame].slice(-maxWaiting);
}

const snapshot = (text: string): SseEvent => ({
  event: 'snapshot',
  data: JSON.stringify({ text }),
});
