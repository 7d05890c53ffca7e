import type { EmbeddingsInterface } from '@langchain/core/embeddings';

/**
 * Makes the embeddings that a spec such as `openai:text-embedding-3-small` names; the key and the address come from the
 * provider's own variables.
 * @throws Error that says which providers there are
 */
export async function createEmbeddings(spec: string, dims: number): Promise<EmbeddingsInterface> {
  const [provider, ...rest] = spec.split(':');
  const model = rest.join(':');
  if (provider !== 'openai' || model === '')
    throw new Error(
      `"${spec}" names no embeddings. Write openai:<model>, or the place of your own: ./src/embeddings.ts:embeddings.`,
    );
  const { OpenAIEmbeddings } = await import('@langchain/openai');
  // Servers that speak the protocol often ignore base64, the client's own choice, and a quarter of the numbers would arrive.
  return new OpenAIEmbeddings({ model, dimensions: dims, encodingFormat: 'float' });
}
