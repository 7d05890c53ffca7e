/** Shortening text without splitting a character that a reader sees as one (M4). */
import type { Tokenizer } from './tokens.js';

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });
/** A character may be joined of many code points; longer chains than this are nobody's writing. */
const graphemeReach = 512;

/** The last border between two characters at or before `at`. */
export function borderBefore(text: string, at: number): number {
  if (at <= 0) return 0;
  if (at >= text.length) return text.length;
  // Segmenting needs a start that is a border for sure: plain ASCII is one.
  let start = Math.max(0, at - graphemeReach);
  for (let i = at - 1; i > start; i--) {
    if (/[ -~]/.test(text.charAt(i)) && /[ -~]/.test(text.charAt(i - 1))) start = i;
  }
  const found = graphemes.segment(text.slice(start, at + graphemeReach)).containing(at - start);
  return found === undefined ? at : start + found.index;
}

/** The first border at or after `at`. */
function borderAfter(text: string, at: number): number {
  const before = borderBefore(text, at);
  if (before === at) return at;
  const [first] = graphemes.segment(text.slice(before, before + 2 * graphemeReach));
  return before + (first?.segment.length ?? 0);
}

/** The first characters of a text, whole ones only. */
export const headOf = (text: string, chars: number): string =>
  text.slice(0, borderBefore(text, chars));

/**
 * The text, or its beginning and end within `maxTokens`, with how long it was in between. Takes time for what is kept,
 * not for what is left out. Below about 20 tokens only the note fits, and an empty text is given if that does not.
 */
export function elideMiddle(text: string, maxTokens: number, tokenizer: Tokenizer): string {
  if (tokenizer.count(text, maxTokens) <= maxTokens) return text;
  const note = `\n… [left out of the middle; ${text.length} characters in all] …\n`;
  for (let room = maxTokens - tokenizer.count(note); room > 0; room -= 1 + (room >> 3)) {
    const head = reach(text, Math.ceil(room * 0.6), tokenizer, 'head');
    const tail = reach(text, Math.floor(room * 0.4), tokenizer, 'tail');
    if (head + tail >= text.length) continue;
    const start = borderBefore(text, head);
    const end = Math.max(start, borderAfter(text, text.length - tail));
    const short = text.slice(0, start) + note + text.slice(end);
    if (tokenizer.count(short, maxTokens) <= maxTokens) return short;
  }
  return tokenizer.count(note) <= maxTokens ? note : '';
}

/** How many characters from one end are about `tokens` tokens. */
function reach(text: string, tokens: number, tokenizer: Tokenizer, from: 'head' | 'tail'): number {
  const step = Math.min(200, Math.max(8, tokens));
  let chars = 0;
  for (let left = tokens; chars < text.length;) {
    const next = Math.min(chars + step, text.length);
    const piece =
      from === 'head'
        ? text.slice(chars, next)
        : text.slice(text.length - next, text.length - chars);
    left -= tokenizer.count(piece);
    if (left < 0) break;
    chars = next;
  }
  return chars;
}
