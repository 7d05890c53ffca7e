/**
 * A LangChain `Embeddings` that has proved itself (M16): a model that does not tell right from wrong makes recall worse than
 * words alone, so it is tried on facts and questions of four languages before it is used.
 */
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { cosine } from './meaning.js';
import { trial } from './trial.js';

/** What makes vectors. */
export interface Embedder {
  /** `<model>/<dimensions>`: vectors of different names are never compared. */
  readonly name: string;
  /** Less similarity than this means nothing. Measured, since every model has its own. */
  readonly least: number;
  /** @throws Error when a vector has not the model's dimensions */
  facts(texts: readonly string[]): Promise<readonly Float32Array[]>;
  /** @throws Error when the vector has not the model's dimensions */
  question(text: string): Promise<Float32Array>;
}

/** How the trial went. */
export type Tried =
  | { readonly kind: 'usable'; readonly embedder: Embedder; readonly found: TrialResult }
  | { readonly kind: 'unusable'; readonly reason: string; readonly found: TrialResult };

/** Questions whose own fact was nearest, of all, by language. */
export type TrialResult = Readonly<Record<string, { readonly right: number; readonly of: number }>>;

/** Below this share of right answers, words alone are better. */
const leastRight = 0.8;

/**
 * Tries a model. Two calls to it.
 * @param model its name, stored with each vector; another name makes the vectors anew
 */
export async function tryEmbeddings(
  embeddings: EmbeddingsInterface,
  model: string,
): Promise<Tried> {
  const pairs = trial.flatMap(({ language, pairs: own }) =>
    own.map(([fact, question]) => ({ language, fact, question })),
  );
  const facts = vectorsOf(await embeddings.embedDocuments(pairs.map(({ fact }) => fact)));
  const questions = await Promise.all(
    pairs.map(async ({ question }) => Float32Array.from(await embeddings.embedQuery(question))),
  );
  const dims = facts[0]?.length ?? 0;
  const own = pairs.map((_, i) => similarity(facts[i], questions[i]));
  const best = pairs.map(({ language }, i) =>
    Math.max(
      ...pairs.flatMap((other, j) =>
        j === i || other.language !== language ? [] : [similarity(facts[j], questions[i])],
      ),
    ),
  );
  const found = resultOf(
    pairs.map(({ language }, i) => [language, (own[i] ?? 0) > (best[i] ?? 0)] as const),
  );
  const right = Object.values(found).reduce((sum, r) => sum + r.right, 0);
  if (right < leastRight * pairs.length) {
    const reason = `${model} finds ${right} of ${pairs.length} facts of the trial; ranking by words is better.`;
    return { kind: 'unusable', reason, found };
  }
  const least = (median(own) + median(best)) / 2;
  return { kind: 'usable', embedder: embedderOf(embeddings, { model, dims, least }), found };
}

function embedderOf(
  embeddings: EmbeddingsInterface,
  { model, dims, least }: { readonly model: string; readonly dims: number; readonly least: number },
): Embedder {
  const checked = (vector: Float32Array): Float32Array => {
    if (vector.length === dims) return vector;
    throw new Error(`${model} gave a vector of ${vector.length} dimensions instead of ${dims}.`);
  };
  return {
    name: `${model}/${dims}`,
    least,
    facts: async (texts) =>
      vectorsOf(await embeddings.embedDocuments([...texts])).map((v) => checked(v)),
    question: async (text) => checked(Float32Array.from(await embeddings.embedQuery(text))),
  };
}

const vectorsOf = (vectors: readonly number[][]): readonly Float32Array[] =>
  vectors.map((vector) => Float32Array.from(vector));

const similarity = (a: Float32Array | undefined, b: Float32Array | undefined): number =>
  a === undefined || b === undefined ? 0 : cosine(a, b);

function resultOf(answers: readonly (readonly [string, boolean])[]): TrialResult {
  const found: Record<string, { right: number; of: number }> = {};
  for (const [language, isRight] of answers) {
    const counts = (found[language] ??= { right: 0, of: 0 });
    counts.of += 1;
    if (isRight) counts.right += 1;
  }
  return found;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
