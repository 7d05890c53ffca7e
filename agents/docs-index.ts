import MiniSearch from 'minisearch';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** A paragraph of a document, and where it stands. */
export interface DocsPassage {
  readonly source: string;
  readonly text: string;
}

/** The documents that ship with the product. */
export const shippedDocsFolder = fileURLToPath(new URL('./docs', import.meta.url));

/** Weaker hits than this share of the best one only dilute an answer. */
const keptShare = 0.4;

/** Opens a folder of Markdown files for lexical search. They are read at the first search, since most starts need none. */
export function openDocs(folder: string): (query: string, limit: number) => DocsPassage[] {
  let index: MiniSearch<IndexedPassage> | undefined;
  return (query, limit) => {
    index ??= indexFolder(folder);
    const hits = index.search(query.slice(0, 500), { boost: { heading: 2 }, processTerm });
    const best = hits[0]?.score ?? 0;
    return hits
      .filter((hit) => hit.score >= best * keptShare)
      .slice(0, limit)
      .map((hit) => ({ source: String(hit.source), text: String(hit.text) }));
  };
}

interface IndexedPassage extends DocsPassage {
  readonly id: string;
  readonly heading: string;
}

const processTerm = (term: string): string | null => {
  const word = term.toLowerCase();
  if (commonWords.has(word)) return null;
  // "crashes" finds "crash": cutting the plural is all the stemming that a few pages need.
  return word.length > 4 ? word.replace(/(?<=sh|ch|ss|x)es$|(?<!s)s$/, '') : word;
};

const commonWords = new Set(
  'a an and are be can could did do does for has have how i in is it long many may me much my of on or should tell that the their then there this to was we what when where which who why will with work works would you your'.split(
    ' ',
  ),
);

function indexFolder(folder: string): MiniSearch<IndexedPassage> {
  const index = new MiniSearch<IndexedPassage>({
    fields: ['heading', 'text'],
    storeFields: ['source', 'text'],
    processTerm,
  });
  for (const file of readdirSync(folder).sort()) {
    if (file.endsWith('.md'))
      index.addAll(passagesOf(file, readFileSync(path.join(folder, file), 'utf8')));
  }
  return index;
}

function passagesOf(file: string, markdown: string): IndexedPassage[] {
  let heading = '';
  const passages: IndexedPassage[] = [];
  for (const block of markdown.split(/\n\s*\n/)) {
    const title = /^#+\s+(.*)/.exec(block.trim())?.[1];
    if (title !== undefined) {
      heading = title;
      continue;
    }
    const text = block.trim().replace(/\s*\n\s*/g, ' ');
    if (text !== '')
      passages.push({ id: `${file}#${passages.length}`, source: file, heading, text });
  }
  return passages;
}
