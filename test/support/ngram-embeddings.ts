/** Embeddings without a model: counts of hashed character pairs and triples. Texts that share pieces are near, in any script. */
import { Embeddings } from '@langchain/core/embeddings';

export class NgramEmbeddings extends Embeddings {
  /** Texts embedded so far. */
  embedded = 0;
  readonly #dims: number;

  constructor(dims = 256) {
    super({});
    this.#dims = dims;
  }

  embedDocuments(texts: string[]): Promise<number[][]> {
    this.embedded += texts.length;
    return Promise.resolve(texts.map((text) => this.#vector(text)));
  }

  embedQuery(text: string): Promise<number[]> {
    return Promise.resolve(this.#vector(text));
  }

  #vector(text: string): number[] {
    const counts = new Array<number>(this.#dims).fill(0);
    const letters = Array.from(` ${text.toLowerCase().replace(/[\s\p{P}]+/gu, ' ')} `);
    for (const size of [2, 3]) {
      for (let i = 0; i + size <= letters.length; i += 1) {
        const at = hash(letters.slice(i, i + size).join('')) % this.#dims;
        counts[at] = (counts[at] ?? 0) + 1;
      }
    }
    return counts;
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (const letter of text) h = Math.imul(h ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return h;
}
