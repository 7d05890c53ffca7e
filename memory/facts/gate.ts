/**
 * The verification gate: nothing becomes long-term memory unless a rule lets it in (M10). The source decides, since wording
 * can be changed and origin cannot; wording can only take trust away. Pure.
 */
import { answeredCallOf, speakerOf, textOf, type MessageLike } from '../context/message.js';
import type { Mask } from '../pii/mask.js';
import { candidateSchema, theUser, type Candidate, type Standing } from './fact.js';
import { suspicionsOf, type Suspicion } from './suspicion.js';

/** Stored with what passed, so that facts of an older gate can be found. */
export const gateVersion = 1;

/** Why a candidate is no memory. */
export type Refusal =
  | Suspicion
  /** Not of the expected shape, or too long. */
  | 'malformed'
  /** The message that it quotes is not in the range. */
  | 'no_evidence'
  /** The message does not say what is quoted. */
  | 'quote_not_found'
  /** What is to be remembered is not in the quote. */
  | 'not_supported'
  /** The agent's own words are no evidence. */
  | 'own_words'
  /** A tool that nobody declared trustworthy. */
  | 'untrusted_tool'
  /** A user speaks of something that is not his own. */
  | 'not_about_user'
  /** Nothing is left when personal data is masked. */
  | 'only_personal_data'
  | 'low_confidence'
  /** A second opinion refused it. */
  | 'second_opinion';

/** The gate's answer. */
export type Verdict =
  | {
      readonly kind: 'accepted';
      readonly standing: Standing;
      readonly source: 'tool' | 'user';
      /** Masked. */
      readonly candidate: Candidate;
      readonly toolCallId?: string;
    }
  | { readonly kind: 'refused'; readonly reason: Refusal; readonly explanation: string };

/** What the gate may look at. */
export interface GateContext {
  /** The messages of the range that was extracted from. */
  readonly messages: readonly MessageLike[];
  /** Names of tools whose results are facts. None by default. */
  readonly trustedTools?: readonly string[];
  readonly mask: Mask;
}

const explanations: Readonly<Record<Refusal, string>> = {
  instruction: 'It instructs the agent. Memory holds information, not instructions.',
  authority:
    'It speaks of rights, prices or rules. Those are read where they are kept, never from memory.',
  about_others: 'It concerns others. A user decides only what is remembered about himself.',
  guess: 'It is a guess, not a statement.',
  question: 'It is a question.',
  malformed: 'It does not have the form of a fact.',
  no_evidence: 'The message it is said to come from is not there.',
  quote_not_found: 'The message does not say that.',
  not_supported: 'The quote does not say what was to be remembered.',
  own_words: "The agent's own words are no evidence.",
  untrusted_tool: 'This tool is not declared as a source of facts.',
  not_about_user: 'It is not recognisably about the user who said it.',
  only_personal_data: 'Nothing is left of it when personal data is masked.',
  low_confidence: 'The extractor was not sure enough.',
  second_opinion: 'A second check refused it.',
};

/** The gate's no. */
export const refused = (reason: Refusal): Verdict => ({
  kind: 'refused',
  reason,
  explanation: explanations[reason],
});

/** Below this an extractor is guessing. */
const leastConfidence = 0.5;

/** Predicates whose truth a user decides by saying so. */
export const ownToDecide = /^(prefers|taste|name|language|pronouns|answers|tone|nickname)\b/;

/** First person, in the languages that the gate knows: another language must come through an operator or a tool. */
const firstPerson =
  /\b(i|i'm|i've|i'd|me|my|mine|myself|we|our|us)\b|(^|\s)(저|제|나|내|우리)(는|가|를|의|도|에게|희|\s|$)|(^|\s)(제|내)\s|\b(yo|mi|mis|m[ií]o|m[ií]a|me|soy|estoy|prefiero|vivo|trabajo|tengo|quiero|odio|hablo|nuestr[oa]s?)\b|我|咱|私|僕|俺|\b(je|j'|mon|ma|mes|ich|mein|meine|mir)\b/iu;

/** Judges one candidate. */
export function judge(proposed: unknown, context: GateContext): Verdict {
  const parsed = candidateSchema.safeParse(proposed);
  if (!parsed.success) return refused('malformed');
  const candidate = masked(parsed.data, context.mask);
  const message = context.messages.find((m) => m.id === candidate.evidence.messageId);
  if (message === undefined) return refused('no_evidence');
  const said = context.mask(textOf(message)).text;
  if (!squeezed(said).includes(squeezed(candidate.evidence.quote)))
    return refused('quote_not_found');
  if (!supports(candidate)) return refused('not_supported');
  const plain = candidate.value.replace(/\[[A-Z_]+(:[0-9a-f]{4})?\]/g, '');
  if (!/[\p{L}\p{N}]/u.test(plain)) return refused('only_personal_data');
  if (candidate.confidence < leastConfidence) return refused('low_confidence');
  switch (speakerOf(message)) {
    case 'tool':
      return judgeTool(candidate, message, context.trustedTools ?? []);
    case 'user':
      return judgeUser(candidate);
    case 'assistant':
    case 'system':
      return refused('own_words');
  }
}

function judgeTool(
  candidate: Candidate,
  message: MessageLike,
  trusted: readonly string[],
): Verdict {
  if (typeof message.name !== 'string' || !trusted.includes(message.name))
    return refused('untrusted_tool');
  // A trusted tool may pass on what a stranger wrote.
  if (suspicionsOf(wordsOf(candidate)).includes('instruction')) return refused('instruction');
  const toolCallId = answeredCallOf(message);
  return { kind: 'accepted', standing: 'verified', source: 'tool', candidate, toolCallId };
}

function judgeUser(candidate: Candidate): Verdict {
  // How to be answered is the user's to say, though it is said as an order; its value comes from a closed list.
  const style = isAnswerStyle(candidate);
  const [worst] = style ? [] : suspicionsOf(`${wordsOf(candidate)}\n${candidate.evidence.quote}`);
  if (worst !== undefined) return refused(worst);
  if (!style && !firstPerson.test(candidate.evidence.quote)) return refused('not_about_user');
  const own = candidate.subject === theUser && ownToDecide.test(candidate.predicate);
  return { kind: 'accepted', standing: own ? 'preference' : 'claimed', source: 'user', candidate };
}

/** What a user may order about answers: nothing that could steer anything else. */
export const answerStyles: readonly string[] = [
  'short',
  'long',
  'detailed',
  'formal',
  'informal',
  'simple',
];
/** Languages that answers may be asked in. */
export const answerLanguages: readonly string[] = [
  'English',
  'Korean',
  'Spanish',
  'Chinese',
  'Japanese',
  'French',
  'German',
  'Portuguese',
  'Italian',
  'Russian',
];

const isAnswerStyle = ({ subject, predicate, value }: Candidate): boolean =>
  subject === theUser &&
  ((predicate === 'answers' && answerStyles.includes(value)) ||
    (predicate === 'language of answers' && answerLanguages.includes(value)));

const wordsOf = (c: Candidate): string => [c.subject, c.predicate, c.value, c.text].join('\n');

const squeezed = (text: string): string =>
  text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();

/** A value is said in the quote, or is one of a closed list that a rule maps words to. */
function supports(candidate: Candidate): boolean {
  if (isAnswerStyle(candidate)) return true;
  const said = squeezed(candidate.evidence.quote);
  const taste = candidate.predicate.startsWith('taste: ')
    ? candidate.predicate.slice('taste: '.length)
    : undefined;
  return taste !== undefined && ['likes', 'dislikes'].includes(candidate.value)
    ? said.includes(squeezed(taste))
    : said.includes(squeezed(candidate.value));
}

function masked(candidate: Candidate, mask: Mask): Candidate {
  const clean = (text: string) => mask(text).text;
  return {
    ...candidate,
    subject: clean(candidate.subject),
    predicate: clean(candidate.predicate),
    value: clean(candidate.value),
    text: clean(candidate.text),
    evidence: { ...candidate.evidence, quote: clean(candidate.evidence.quote) },
  };
}

/** What a second check, for example by a model, may do: lower trust, never raise it. */
export function lowered(verdict: Verdict, opinion: 'agree' | 'doubt' | 'refuse'): Verdict {
  if (verdict.kind === 'refused') return verdict;
  switch (opinion) {
    case 'agree':
      return verdict;
    case 'doubt':
      return { ...verdict, standing: 'claimed' };
    case 'refuse':
      return refused('second_opinion');
  }
}
