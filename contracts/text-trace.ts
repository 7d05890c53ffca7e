/** Tells whether two texts are the same without keeping either: length and two running hashes of 32 bits. Pure. */
export interface TextTrace {
  readonly chars: number;
  readonly a: number;
  readonly b: number;
}

export const noText: TextTrace = { chars: 0, a: 0, b: 0 };

/** The trace of a text with more behind it: the same however the text came in pieces. */
export function traced(before: TextTrace, more: string): TextTrace {
  let { a, b } = before;
  for (let i = 0; i < more.length; i++) {
    const code = more.charCodeAt(i);
    a = (Math.imul(a, 31) + code) | 0;
    b = Math.imul(b ^ code, 0x01000193) | 0; // FNV-1
  }
  return { chars: before.chars + more.length, a, b };
}

export const sameText = (one: TextTrace, other: TextTrace): boolean =>
  one.chars === other.chars && one.a === other.a && one.b === other.b;

/** What a turn said in all, as its row keeps it. `isResponse`: nothing but the response. */
export interface SpokenTrace extends TextTrace {
  readonly isResponse: boolean;
}
