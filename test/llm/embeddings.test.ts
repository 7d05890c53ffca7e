import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEmbeddings } from '../../llm/embeddings.js';

/** What was asked of a server that speaks the protocol. */
const asked: Record<string, unknown>[] = [];
let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const ask = JSON.parse(body) as { input: string | string[] };
      asked.push(ask);
      const data = [ask.input].flat().map((text, i) => ({ index: i, embedding: [text.length, 1] }));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ object: 'list', model: 'm', data }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  process.env.OPENAI_API_KEY = 'test';
  process.env.OPENAI_BASE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => void server.close());

test('M17 embeddings of a provider are asked for as numbers, in the dimensions of the index', async () => {
  const embeddings = await createEmbeddings('openai:text-embedding-3-small', 2);
  expect(await embeddings.embedDocuments(['ab', 'abc'])).toEqual([
    [2, 1],
    [3, 1],
  ]);
  expect(await embeddings.embedQuery('a')).toEqual([1, 1]);
  expect(asked[0]).toMatchObject({
    ...{ model: 'text-embedding-3-small', dimensions: 2, encoding_format: 'float' },
    input: ['ab', 'abc'],
  });
  await expect(createEmbeddings('cohere:x', 2)).rejects.toThrow(/openai:<model>.*embeddings\.ts/);
});
