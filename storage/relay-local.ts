/** The relay of one process: an emitter, and the text of live turns for late joiners (DESIGN 7). */
import type { Frame, Relay, Shown } from '../contracts/frames.js';
import { shownAfter } from '../contracts/shown.js';

/** Most text kept for late joiners of all live turns together; beyond it joiners get the committed reply. */
const maxKeptChars = 32 << 20;

interface Live {
  readonly listeners: Set<(frame: Frame) => void>;
  shown: Shown | undefined;
}

export function localRelay(): Relay {
  const turns = new Map<string, Live>();
  let keptChars = 0;
  const live = (turn: string): Live => {
    const known = turns.get(turn);
    if (known !== undefined) return known;
    const fresh: Live = { listeners: new Set(), shown: undefined };
    turns.set(turn, fresh);
    return fresh;
  };
  const keep = (entry: Live, shown: Shown | undefined): void => {
    const grown = (shown?.text.length ?? 0) - (entry.shown?.text.length ?? 0);
    if (grown > 0 && keptChars + grown > maxKeptChars) return;
    keptChars += grown;
    entry.shown = shown;
  };
  const forget = (turn: string): void => {
    const entry = turns.get(turn);
    if (entry?.listeners.size === 0 && entry.shown === undefined) turns.delete(turn);
  };

  const listen: Relay['subscribe'] = (turn, onFrame) => {
    const { listeners } = live(turn);
    listeners.add(onFrame);
    return () => {
      listeners.delete(onFrame);
      forget(turn);
    };
  };

  return {
    publish(frames) {
      for (const frame of frames) {
        const entry = live(frame.turn);
        keep(entry, frame.kind === 'wake' ? undefined : shownAfter(entry.shown, frame));
        for (const listener of [...entry.listeners]) listener(frame);
        forget(frame.turn);
      }
    },
    subscribe: (turn, onFrame) =>
      listen(turn, (frame) => {
        if (frame.kind !== 'wake') onFrame(frame);
      }),
    onWake: (turn, onWake) =>
      listen(turn, (frame) => {
        if (frame.kind === 'wake') onWake(frame.fence);
      }),
    hearable: () => Promise.resolve(),
    shown: (turn) => turns.get(turn)?.shown,
    close: () => Promise.resolve(),
  };
}
