/** What a message asks, read by rules: its language, its words, and whether it says at all what it is about. Pure. */
import { termsOf } from '../../memory/search/terms.js';
import { glossary } from './glossary.js';
import { fold, languageOf, wordsOf, type Language, type Word } from './language.js';
import { isVagueWord } from './vague-words.js';

/** A message as it was understood. */
export interface Question {
  readonly language: Language;
  /** Terms of the words that say what it is about; none in a vague message. */
  readonly terms: readonly string[];
  /** Terms of all its words: an area may be called "Errors". */
  readonly said: readonly string[];
  /** English terms for them, as far as the glossary knows them, and for which share of the words it does. */
  readonly english: readonly string[];
  readonly englishShare: number;
  /** The number of a choice, when the message is little more than that. */
  readonly choice: number | undefined;
}

/** The beginning of a longer message says what it is about. */
const readChars = 2_000;

/** Reads a message; `earlier` are the user's messages before it, oldest first, which tell the language of "2" or "ok". */
export function readQuestion(message: string, earlier: readonly string[] = []): Question {
  const text = message.slice(0, readChars);
  const language =
    languageOf(text) ?? earlier.map((t) => languageOf(t.slice(0, readChars))).findLast(Boolean);
  const all = wordsOf(text);
  const words = all.filter((word) => !isVagueWord(word.text));
  const known =
    language === undefined || language === 'en' ? none : translate(text, words, language);
  return {
    language: language ?? 'en',
    terms: distinct(words.flatMap((word) => termsOf(stemOf(word.text)))),
    said: distinct(all.flatMap((word) => termsOf(stemOf(word.text)))),
    ...known,
    choice: choiceIn(text),
  };
}

/** Says nothing of the matter: to be asked back. */
export const isVague = ({ terms }: Question): boolean => terms.length === 0;

/** Its terms, in whichever language they are looked for. */
export const allTerms = ({ terms, english }: Question): readonly string[] => [...terms, ...english];

const none = { english: [], englishShare: 0 } as const;

function translate(
  text: string,
  words: readonly Word[],
  language: Language,
): Pick<Question, 'english' | 'englishShare'> {
  const spans = glossary.flatMap(({ pattern, english }) =>
    [...fold(text).matchAll(pattern)].map((m) => ({
      ...{ from: m.index, to: m.index + m[0].length },
      english,
    })),
  );
  // Names and codes are the same in every language; in Spanish only those that cannot be a word of its own.
  const shared = words.filter((w) => (language === 'es' ? /[\d_]/ : /^[\x21-\x7e]+$/).test(w.text));
  const known = words.filter(
    (word) =>
      shared.includes(word) ||
      spans.some(({ from, to }) => from < word.at + word.text.length && to > word.at),
  );
  const chars = (of: readonly Word[]): number => of.reduce((sum, w) => sum + w.text.length, 0);
  return {
    english: distinct(
      [...spans.map((s) => s.english), ...shared.map((w) => w.text)].flatMap((t) => termsOf(t)),
    ),
    englishShare: words.length === 0 ? 0 : chars(known) / chars(words),
  };
}

/** Korean words without particles and the commonest endings, which would be half of their pairs of characters. */
const stemOf = (word: string): string =>
  /^[가-힣]{3,}$/.test(word)
    ? word
        .replace(/(?<=^[가-힣]{2,})(?:하|되|돼|해|했|할|됐|한|된|합|됩)[가-힣]{0,4}$/, '')
        .replace(
          /(?<=^[가-힣]{2,})(?:은|는|이|가|을|를|의|에|에서|에게|으로|로|와|과|도|만|까지|부터|이나|나|란|이란)$/,
          '',
        )
    : word;

const before = '(?:(?:the|option|number|no|nr|area|el|la|opcion|numero|tema)[ .#]*)*';
const behind =
  '(?: ?(?:one|area|option|opcion|tema|please|por favor|번|번째|이요|요|입니다|주세요|个|项|号|方面))*';
const chosen = (what: string): RegExp => new RegExp(`^${before}${what}${behind}$`, 'u');
const byDigits = chosen('第?(\\d{1,2})');
const byOrdinal = [
  'first|primer[oa]?|첫 ?번째|첫째|第一',
  'second|segund[oa]|두 ?번째|둘째|第二',
  'third|tercer[oa]?|세 ?번째|셋째|第三',
  'fourth|cuart[oa]|네 ?번째|넷째|第四',
  'fifth|quint[oa]|다섯 ?번째|第五',
].map((words) => chosen(`(?:${words})`));

/** "2", "number 2", "the second one", "2번", "第二个". A message that says more is a question. */
function choiceIn(text: string): number | undefined {
  const folded = fold(text)
    .replace(/[^\p{L}\p{N}\s]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (folded.length > 40) return undefined;
  const digits = byDigits.exec(folded)?.[1];
  if (digits !== undefined) return Number(digits);
  const place = byOrdinal.findIndex((ordinal) => ordinal.test(folded));
  return place === -1 ? undefined : place + 1;
}

const distinct = (terms: readonly string[]): readonly string[] => [...new Set(terms)];
