/** Keeps the draft row of a running turn fresh, so that a late joiner of another process sees what was said so far (DESIGN 7). */
import type { Claim, ClaimStore } from '../storage/port.js';
import type { TurnFrames } from './turn-frames.js';

/** A joiner misses at most this much text until the next frame; four rows a second cost PostgreSQL about 1 % at 1,000 streams. */
const draftEveryMs = 300;

export function draftWriter(
  claims: Pick<ClaimStore, 'saveDrafts'>,
  claim: Claim,
  frames: TurnFrames,
): () => void {
  let written = 0;
  let writing = false;
  const write = async (): Promise<void> => {
    const { seq, step, text } = frames;
    if (writing || text === '' || seq === written) return;
    writing = true;
    try {
      const draft = {
        thread: claim.thread,
        turn: claim.turnId,
        fence: claim.fence,
        step,
        seq,
        text,
      };
      await claims.saveDrafts([{ claim, draft }]);
      written = seq;
    } catch {
      // A draft is never the truth: without it a late joiner waits for the next frame.
    } finally {
      writing = false;
    }
  };
  const timer = setInterval(() => void write(), draftEveryMs);
  return () => clearInterval(timer);
}
