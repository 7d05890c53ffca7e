/** Text as patterns can read it: full-width forms, exotic dashes and invisible characters made plain, each place mapped back. */

/** The plain form of a text. */
export interface Readable {
  readonly text: string;
  /** Where the character at a place of `text` stands in the original; one more entry for its end. */
  readonly origin: readonly number[];
}

const invisible = /[\u00AD\u200B-\u200F\u2060\uFEFF]/;
const dashes = /[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D\u30FC]/;
const blanks = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/;
const plain = /^[\t-~]*$/;

/** Makes a text readable. */
export function readable(original: string): Readable {
  if (plain.test(original))
    return { text: original, origin: Array.from({ length: original.length + 1 }, (_, i) => i) };
  let text = '';
  const origin: number[] = [];
  for (let i = 0; i < original.length; i++) {
    const char = original.charAt(i);
    if (invisible.test(char)) continue;
    text += plainChar(char);
    origin.push(i);
  }
  origin.push(original.length);
  return { text, origin };
}

/** One character for one, so that places can be mapped back. */
function plainChar(char: string): string {
  if (char <= '~') return char;
  if (dashes.test(char)) return '-';
  if (blanks.test(char)) return ' ';
  // Full-width letters, digits and signs.
  const folded = /[\uFF01-\uFF5E]/.test(char) ? char.normalize('NFKC') : char;
  return folded.length === 1 ? folded : char;
}
