/** Which of four languages a message is in, and its words. Pure; rules, no model. */

/** Languages that support speaks itself; in any other it answers in English. */
export type Language = 'en' | 'es' | 'ko' | 'zh';

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** A word and where it stands. */
export interface Word {
  readonly text: string;
  readonly at: number;
}

/** The words of a text, folded: no accents, no capitals. Chinese is cut by a dictionary, Korean at its blanks. */
export const wordsOf = (text: string): Word[] =>
  [...segmenter.segment(fold(text))]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment, index }) => ({ text: segment.replaceAll('’', "'"), at: index }));

/** Without accents and capitals; Hangul stays composed. */
export const fold = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\u00C0-\u024F]/g, (c) => c.normalize('NFD').replace(/\p{M}/gu, ''));

/** Undefined where nothing tells: a number, a name, an emoji. */
export function languageOf(text: string): Language | undefined {
  if (/\p{Script=Hangul}/u.test(text)) return 'ko';
  if (/\p{Script=Han}/u.test(text)) return 'zh';
  const words = wordsOf(text).map((w) => w.text);
  const spanish = words.filter((w) => spanishWords.has(w)).length + (/[ñ¿¡]/i.test(text) ? 2 : 0);
  const english = words.filter((w) => englishWords.has(w)).length;
  if (spanish === 0 && english === 0) return undefined;
  return spanish > english ? 'es' : 'en';
}

const spanishWords = new Set(
  'el la los las un una unos unas de del al y que cual como cuando donde quien por para con sin mi mis tu su se no lo le es son esta estan hay tengo tiene puedo puede quiero necesito ayuda ayudame ayudar hola buenas buenos gracias favor funciona problema problemas duda pregunta algo mal muy pero si nada todo'.split(
    ' ',
  ),
);
const englishWords = new Set(
  "a an the and or is are am be was do does did i i'm it it's my me you your we of to in on at for with from how what when where which who why can could should would will not no don't doesn't can't isn't help problem issue question something please hello hi hey thanks thank need have has get work works working wrong broken there this that".split(
    ' ',
  ),
);
