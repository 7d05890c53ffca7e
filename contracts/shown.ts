/** The text that a live turn has shown so far, frame by frame. Pure. */
import type { Frame, Shown } from './frames.js';

/** Longer texts are not kept for late joiners, who get the committed reply: a joiner must never cost more than one cut reader. */
export const maxShownChars = 1 << 17;

/**
 * One frame later. Frames of a fence that is over change nothing. A frame that does not follow, or does not fit, ends the
 * keeping: what is kept stays right up to its own `seq`.
 */
export function shownAfter(before: Shown | undefined, frame: Frame): Shown | undefined {
  const { fence, step, seq } = frame;
  const begins = before === undefined || fence > before.fence;
  if (!begins && fence < before.fence) return before;
  if (seq !== (begins ? 0 : before.seq) + 1) return begins ? undefined : before;
  const text = textAfter(begins ? '' : before.text, frame);
  if (text === null || text.length > maxShownChars) return begins ? undefined : before;
  return { fence, step, seq, text };
}

function textAfter(text: string, frame: Frame): string | null {
  switch (frame.kind) {
    case 'text':
      return frame.data.text;
    case 'token':
      return text + frame.data.text;
    case 'custom':
    case 'mode':
    case 'step':
    case 'wake':
      return text;
  }
}
