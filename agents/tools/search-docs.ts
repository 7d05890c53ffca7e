import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import type { DocsPassage } from '../docs-index.js';

/** Enough to answer from, little enough for a small context. */
const passagesPerSearch = 3;

export const createDocsSearch = (docs: (query: string, limit: number) => readonly DocsPassage[]) =>
  tool(
    ({ query }) => {
      const passages = docs(query, passagesPerSearch);
      return passages.length === 0
        ? 'Nothing found.'
        : passages.map((p) => `${p.text} (from ${p.source})`).join('\n\n');
    },
    {
      name: 'search_docs',
      description:
        'Searches the documents about Everthread: what it is, HTTP API, crashes, settings, limits.',
      schema: z.object({ query: z.string().min(1).max(500).describe('A few words') }),
    },
  );
