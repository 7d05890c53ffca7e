/** The relay of one process: an emitter, and the text of live turns for late joiners (DESIGN 7). */
import type { Frame, Relay, Shown } from '../contracts/frames.js';

/** A turn's text beyond this is not kept for late joiners: they get the committed reply. */
const maxShownChars = 1 << 20;

interface Live {
  readonly listeners: Set<(frame: Frame) => void>;
  shown: Kept | undefined;
}

interface Kept extends Shown {
  /** The text of the supersteps before `step`: the next claim of the turn goes on from there. */
  readonly finished: string;
}

export function localRelay(): Relay {
  const turns = new Map<string, Live>();
  const live = (turn: string): Live => {
    const known = turns.get(turn);
    if (known !== undefined) return known;
    const fresh: Live = { listeners: new Set(), shown: undefined };
    turns.set(turn, fresh);
    return fresh;
  };
  const forget = (turn: string): void => {
    const entry = turns.get(turn);
    if (entry?.listeners.size === 0 && entry.shown === undefined) turns.delete(turn);
  };

  return {
    publish(frames) {
      for (const frame of frames) {
        const entry = live(frame.turn);
        entry.shown = frame.kind === 'wake' ? undefined : after(entry.shown, frame);
        for (const listener of [...entry.listeners]) listener(frame);
        forget(frame.turn);
      }
    },
    subscribe(turn, onFrame) {
      const { listeners } = live(turn);
      listeners.add(onFrame);
      return () => {
        listeners.delete(onFrame);
        forget(turn);
      };
    },
    shown: (turn) => turns.get(turn)?.shown,
    close: () => Promise.resolve(),
  };
}

/** What was shown, one frame later. Frames of a fence that is over change nothing; a higher one keeps finished steps. */
function after(before: Kept | undefined, frame: Frame): Kept | undefined {
  const { fence, step, seq } = frame;
  const added = frame.kind === 'token' ? frame.data.text : '';
  if (before === undefined || fence > before.fence) {
    const finished = before?.step === step ? before.finished : '';
    return { fence, step, seq, text: finished + added, finished };
  }
  // A frame that does not follow or does not fit ends the keeping: what is kept stays right up to its own seq.
  const fits = before.text.length + added.length <= maxShownChars;
  if (fence < before.fence || seq !== before.seq + 1 || !fits) return before;
  const finished = step > before.step ? before.text : before.finished;
  return { fence, step, seq, text: before.text + added, finished };
}
