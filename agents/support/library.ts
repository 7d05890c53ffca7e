/** The documents that support answers from: areas to choose from, and a search that abstains. Read once, at the first use. */
import MiniSearch from 'minisearch';
import { headOf } from '../../memory/context/cut-text.js';
import { weightOf } from '../../memory/search/rank.js';
import { termsOf } from '../../memory/search/terms.js';
import { readMarkdownFolder, type Section } from '../markdown-folder.js';

/** What a question can be about: a document at the top of the folder, or a sub-folder. */
export interface Area {
  /** Path without ending: short, stable, the `category` of a reply. */
  readonly id: string;
  readonly title: string;
}

/** A section that was found. */
export interface Passage {
  /** Place in the library; changes when the documents do. */
  readonly id: number;
  readonly source: string;
  readonly heading: string;
  readonly area: string;
  readonly text: string;
}

/** What is looked for. */
export interface Wanted {
  /** Terms (see `termsOf`) in the language of the question. */
  readonly terms: readonly string[];
  /** The same in English, as far as a glossary knows them, and which share of the question that is. */
  readonly english: readonly string[];
  readonly englishShare: number;
  /** Looks in this area alone. */
  readonly area?: string | undefined;
  /** Takes what fits best, however little it holds of the terms. */
  readonly anyFit?: true;
  /** Passages that were shown already. */
  readonly skip?: readonly number[] | undefined;
}

/** Support's documents. */
export interface Library {
  areas(): readonly Area[];
  /** The best passages, none when nothing fits what was asked. */
  search(wanted: Wanted, limit: number): readonly Passage[];
  /** The beginning of an area, and the headings of all of it. */
  overview(area: string): {
    readonly passages: readonly Passage[];
    readonly headings: readonly string[];
  };
}

/** A passage must hold this share of what was asked, rare words counting more; less is a shared word, not an answer. */
const leastCoverage = 0.45;
/** Weaker hits than this share of the best one only dilute an answer. */
const keptShare = 0.6;
/** One paragraph or table may be longer than any answer. */
const passageChars = 4_000;
const boost = { heading: 2, title: 1.2 };

/** Opens a folder. @throws at the first use, when the folder has no documents */
export function openLibrary(folder: string): Library {
  let opened: Opened | undefined;
  const open = (): Opened => (opened ??= openSections(readMarkdownFolder(folder)));
  return {
    areas: () => open().areas,
    search: (wanted, limit) => search(open(), wanted, limit),
    overview(area) {
      const passages = open().passages.filter((p) => p.area === area);
      return { passages, headings: [...new Set(passages.map((p) => p.heading))] };
    },
  };
}

interface Opened {
  readonly areas: readonly Area[];
  readonly passages: readonly Passage[];
  readonly index: MiniSearch<IndexedPassage>;
  /** In how many passages a term stands. */
  readonly holding: ReadonlyMap<string, number>;
}

type IndexedPassage = Pick<Passage, 'id' | 'heading' | 'text'> & { readonly title: string };

function openSections(sections: readonly Section[]): Opened {
  const areas = new Map<string, Area>();
  const passages: Passage[] = [];
  const holding = new Map<string, number>();
  const index = new MiniSearch<IndexedPassage>({
    fields: ['title', 'heading', 'text'],
    tokenize: termsOf,
    processTerm: (term) => term,
  });
  for (const [id, { source, title, heading, text }] of sections.entries()) {
    const area = areaOf(source, title);
    if (!areas.has(area.id)) areas.set(area.id, area);
    passages.push({ id, source, heading, area: area.id, text: headOf(text, passageChars) });
    index.add({ id, title, heading, text });
    for (const term of new Set(termsOf(`${title}\n${heading}\n${text}`)))
      holding.set(term, (holding.get(term) ?? 0) + 1);
  }
  return { areas: [...areas.values()], passages, index, holding };
}

function areaOf(source: string, title: string): Area {
  const [top = '', ...rest] = source.split('/');
  if (rest.length === 0) return { id: top.replace(/\.[^.]*$/, ''), title };
  return { id: top, title: top.replace(/[-_]+/g, ' ').replace(/^\p{Ll}/u, (c) => c.toUpperCase()) };
}

function search(opened: Opened, wanted: Wanted, limit: number): readonly Passage[] {
  const own = hits(opened, wanted, { terms: wanted.terms, share: 1 });
  const english = hits(opened, wanted, { terms: wanted.english, share: wanted.englishShare });
  const found = bestCoverage(english) > bestCoverage(own) ? english : own;
  const best = found[0]?.score ?? 0;
  return found
    .filter((hit) => hit.score >= best * keptShare)
    .slice(0, limit)
    .flatMap((hit) => opened.passages[hit.id] ?? []);
}

interface Hit {
  readonly id: number;
  readonly score: number;
  readonly coverage: number;
}

const bestCoverage = (found: readonly Hit[]): number =>
  found.reduce((most, { coverage }) => Math.max(most, coverage), 0);

/** What holds enough of the terms, which stand for this share of the question; best first. */
function hits(
  opened: Opened,
  wanted: Wanted,
  { terms, share }: { readonly terms: readonly string[]; readonly share: number },
): Hit[] {
  const { area, anyFit, skip = [] } = wanted;
  const asked = new Set(terms);
  if (asked.size === 0) return [];
  const weight = (term: string): number =>
    weightOf(opened.holding.get(term) ?? 0, opened.passages.length);
  const whole = [...asked].reduce((sum, term) => sum + weight(term), 0);
  return opened.index
    .search([...asked].join(' '), { combineWith: 'OR', tokenize: (text) => text.split(' '), boost })
    .filter(({ id }) => !skip.includes(Number(id)))
    .filter(({ id }) => area === undefined || opened.passages[Number(id)]?.area === area)
    .map((found) => {
      const held = found.queryTerms.reduce((sum, term) => sum + weight(term), 0);
      return { id: Number(found.id), score: found.score, coverage: (share * held) / whole };
    })
    .filter(({ coverage }) => anyFit === true || coverage >= leastCoverage);
}
