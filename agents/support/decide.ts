/** What is to be done with a message: ask back, say something fixed, or look it up. Pure: the same thread gives the same decision. */
import { termsOf } from '../../memory/search/terms.js';
import type { Area } from './library.js';
import { fold, type Language } from './language.js';
import { allTerms, isVague, readQuestion, type Question } from './question.js';

/** What support asked the user, and has no answer to yet. */
export interface Asked {
  /** Ids of the areas, in the order in which they were offered. */
  readonly offered: readonly string[];
}

export type Decision =
  | { readonly kind: 'clarify'; readonly language: Language }
  | {
      readonly kind: 'say';
      readonly what: 'welcome' | 'goodbye' | 'areas';
      readonly language: Language;
    }
  | ({ readonly kind: 'look_up'; readonly language: Language } & LookUp);

/** A question, an area as a whole, or more of what was just answered. */
export type LookUp =
  | {
      readonly for: 'question';
      readonly terms: readonly string[];
      readonly english: readonly string[];
      readonly englishShare: number;
      /** Where to look first: the area that was named when asked, or that of the answer which the question leans on. */
      readonly area: string | null;
      /** The message says little more than the area's name. */
      readonly mostlyArea: boolean;
    }
  | { readonly for: 'area'; readonly area: string }
  | { readonly for: 'more'; readonly terms: readonly string[]; readonly area: string };

/** What a decision is made from. */
export interface Situation {
  readonly message: string;
  /** The user's earlier messages, oldest first. */
  readonly earlier: readonly string[];
  readonly asked: Asked | null;
  /** Area of the answer before this message, null when the documents had none. */
  readonly answered: string | null;
  readonly areas: readonly Area[];
}

export function decide(situation: Situation): Decision {
  const { message, earlier, asked, areas } = situation;
  const question = readQuestion(message, earlier);
  const { language } = question;
  const polite = politeness(message);
  if (polite !== undefined) return { kind: 'say', what: polite, language };
  const area =
    asked === null ? exactArea(message, question, areas) : chosenArea(question, asked, areas);
  if (area !== undefined && onlyNames(question, area))
    return { kind: 'look_up', language, for: 'area', area: area.id };
  if (!isVague(question))
    return { kind: 'look_up', language, ...questionOf(question, situation, area) };
  if (situation.answered !== null && asksForMore.test(fold(message)))
    return {
      ...{ kind: 'look_up', language, for: 'more', area: situation.answered },
      terms: lastTerms(earlier),
    };
  // Asking twice in a row is a wall: the second time it says what there is.
  return asked === null ? { kind: 'clarify', language } : { kind: 'say', what: 'areas', language };
}

function questionOf(
  question: Question,
  { message, answered }: Situation,
  named: Area | undefined,
): Extract<LookUp, { for: 'question' }> {
  const { terms, english, englishShare } = question;
  return {
    ...{ for: 'question', terms, english, englishShare },
    area: named?.id ?? (leansBack.test(fold(message)) ? answered : null),
    mostlyArea: named !== undefined && shareOf(question, named) >= 0.5,
  };
}

/** Terms of the newest earlier message that has any. */
const lastTerms = (earlier: readonly string[]): readonly string[] =>
  earlier
    .slice(-4)
    .map((text) => allTerms(readQuestion(text)))
    .findLast((terms) => terms.length > 0) ?? [];

/** The area that the whole message names. */
const exactArea = (message: string, question: Question, areas: readonly Area[]): Area | undefined =>
  areas.find((area) => fold(area.title) === fold(message).trim()) ??
  areas.find((area) => sameTerms(namesOf(area), question.terms)) ??
  areas.find((area) => sameTerms(namesOf(area), question.english));

/** The area that answers "which area?": by number, by name, or by a word of its name. */
function chosenArea(question: Question, asked: Asked, areas: readonly Area[]): Area | undefined {
  const byNumber = question.choice === undefined ? undefined : asked.offered[question.choice - 1];
  if (byNumber !== undefined) return areas.find(({ id }) => id === byNumber);
  const words = new Set([...question.said, ...question.english]);
  const held = areas.map((area) => {
    const names = namesOf(area);
    return { area, share: names.filter((t) => words.has(t)).length / names.length };
  });
  const best = held.reduce<(typeof held)[number] | undefined>(
    (most, next) => (next.share > (most?.share ?? 0) ? next : most),
    undefined,
  );
  return best?.area;
}

/** Whether nothing but the area is named, as in "2" or "streaming, please". */
const onlyNames = (question: Question, area: Area): boolean => {
  const names = new Set(namesOf(area));
  const own = question.terms.every((t) => names.has(t));
  const translated = question.englishShare === 1 && question.english.some((t) => names.has(t));
  return own || (translated && question.english.length <= 2) || question.choice !== undefined;
};

/** Share of what the message says that is in the name of the area. */
function shareOf(question: Question, area: Area): number {
  const names = new Set(namesOf(area));
  const share = (terms: readonly string[]): number =>
    terms.length === 0 ? 0 : terms.filter((t) => names.has(t)).length / terms.length;
  return Math.max(share(question.terms), share(question.english) * question.englishShare);
}

const namesOf = ({ id, title }: Area): readonly string[] => {
  const terms = termsOf(title);
  return terms.length > 0 ? terms : termsOf(id);
};

const sameTerms = (a: readonly string[], b: readonly string[]): boolean =>
  a.length > 0 && a.length === b.length && a.every((t) => b.includes(t));

const politeness = (message: string): 'welcome' | 'goodbye' | undefined => {
  const text = fold(message)
    .replace(/[^\p{L}\p{N}\s']/gu, ' ')
    .trim();
  if (text.length > 40) return undefined;
  if (thanks.test(text)) return 'welcome';
  return farewell.test(text) ? 'goodbye' : undefined;
};

const thanks =
  /^(ok(ay)? |great |perfect |no )*(thanks|thank you|thx|cheers)( (a lot|so much|very much|again|for your help|for the help))?$|^(muchas |mil )?gracias( por (tu|su) ayuda)?$|^(정말 )?(감사합니다|감사해요|고마워요?|고맙습니다)$|^(谢谢|多谢|感谢)(你|您|了)?$/;
const farewell =
  /^(good)?bye( bye)?$|^see you( later)?$|^(adios|hasta luego|chao|chau)$|^(안녕히 (계세요|가세요)|잘 가요?)$|^(再见|拜拜)$/;
const asksForMore =
  /\b(more|explain|details?|elaborate|examples?|why|how so|go on|mean)\b|\b(mas|explica\w*|detalles?|ejemplos?|por que)\b|더|자세|예시|예를|설명|왜|更多|详细|例子|为什么|解释/;
const leansBack =
  /^(and|but|so|also|what about|how about)\b|\b(it|that|this|they|them)\b|^(y|pero|entonces)\b|\b(eso|esto|ello)\b|^(그럼|그러면|그리고|그런데|근데|그건|그거|그게|그것)|^(那|那么|还有|而且)|它|这个|那个/;
