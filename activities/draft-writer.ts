/** Keeps the draft row of a running turn fresh, so that a late joiner of another process sees what was said so far (DESIGN 7). */
import type { Claim, ClaimStore } from '../storage/port.js';
import type { TurnFrames } from './turn-frames.js';

/** A joiner misses at most this much text until the next frame; four rows a second cost PostgreSQL about 1 % at 1,000 streams. */
const draftEveryMs = 300;
/** A long text is written less often, since it is written whole: at most 200 kB a second. */
const draftCharsPerMs = 200;

export function draftWriter(
  claims: Pick<ClaimStore, 'saveDrafts'>,
  claim: Claim,
  frames: TurnFrames,
): () => void {
  let written = 0;
  let ended = false;
  let timer: NodeJS.Timeout;
  const write = async (): Promise<void> => {
    const { shown } = frames;
    if (shown === undefined || shown.text === '' || shown.seq === written) return;
    try {
      const draft = { ...shown, thread: claim.thread, turn: claim.turnId };
      await claims.saveDrafts([{ claim, draft }]);
      written = shown.seq;
    } catch {
      // A draft is never the truth: without it a late joiner waits for the next frame.
    }
  };
  const next = (): void => {
    const chars = frames.shown?.text.length ?? 0;
    timer = setTimeout(
      () =>
        void write().then(() => {
          if (!ended) next();
        }),
      Math.max(draftEveryMs, chars / draftCharsPerMs),
    );
  };
  next();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
