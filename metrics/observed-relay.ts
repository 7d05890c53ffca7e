/** A relay that counts frames, and tells of each turn's first token. */
import type { Frame, Relay } from '../contracts/frames.js';
import type { LiveTurns } from './live-turns.js';
import type { Meters } from './meters.js';

export const observedRelay = (relay: Relay, meters: Meters, live: LiveTurns): Relay => ({
  publish(frames) {
    for (const { kind, turn } of frames) {
      meters.framesPublished.inc({ kind });
      if (kind === 'token') live.spoke(turn);
    }
    relay.publish(frames);
  },
  subscribe: (turn, onFrame) =>
    relay.subscribe(turn, (frame: Frame) => {
      meters.framesHeard.inc();
      onFrame(frame);
    }),
  hearable: (turn) => relay.hearable(turn),
  onWake: (turn, onWake) => relay.onWake(turn, onWake),
  shown: (turn) => relay.shown(turn),
  close: () => relay.close(),
});
