/**
 * What users say about themselves, read by rule: works without any model, in English, Korean, Spanish and Chinese. It
 * proposes; the gate decides.
 */
import { speakerOf, textOf, type MessageLike } from '../context/message.js';
import type { Mask } from '../pii/mask.js';
import { theUser, type Candidate } from './fact.js';
import { answerLanguages, answerStyles } from './gate.js';

/** Longer messages are documents, not statements about oneself. */
const readChars = 4_000;
const clauseChars = 300;

/** Candidates from the user's own messages, masked as a whole: a number is known by the words around it. */
export function statedFacts(messages: readonly MessageLike[], mask: Mask): readonly Candidate[] {
  return messages
    .filter((m) => speakerOf(m) === 'user' && typeof m.id === 'string')
    .flatMap((m) =>
      clausesOf(mask(textOf(m).slice(0, readChars)).text).flatMap((clause) => {
        const stated = readClause(clause);
        return stated === undefined ? [] : [candidateOf(stated, clause, m.id ?? '')];
      }),
    );
}

interface Stated {
  readonly subject: string;
  readonly predicate: string;
  readonly value: string;
  readonly single: boolean;
}

const candidateOf = (stated: Stated, clause: string, messageId: string): Candidate => ({
  ...stated,
  text: withoutAsking(clause),
  evidence: { messageId, quote: clause },
  confidence: 0.9,
});

const clausesOf = (text: string): string[] =>
  text
    .split(
      /(?<=[.!?。！？])\s+|(?<=[。！？])|[\n;；]|[,，]\s*(?=(?:please|and|but|also|por favor|y|pero|请|但)\b)|[,，](?=\s*(?:请|기억))/iu,
    )
    .map((clause) => clause.trim().replace(/[.!。！]+$/u, ''))
    .filter((clause) => clause.length >= 3 && clause.length <= clauseChars);

const asking =
  /^(?:(?:and|but|also|please|pls|hey|ok|hi|well)[,\s]+)*(?:(?:please\s+)?(?:remember|note|keep in mind|don'?t forget)(?:\s+(?:that|for everyone|for all))?[:,]?\s+)|^(?:por favor[,\s]+)?(?:recuerda|ten en cuenta|no olvides|anota)(?:\s+que)?[:,]?\s+|^(?:请)?(?:记住|記住|记得)[，,:：]?\s*|[,\s]*(?:라는\s*(?:것|걸|점)(?:을|를)?\s*)?(?:꼭\s*)?기억해\s*(?:줘|주세요|둬|두세요|요)?$/iu;

const withoutAsking = (clause: string): string => {
  const rest = clause.replace(asking, '').trim();
  return rest === '' ? clause : rest;
};

/** What follows the words of a rule: up to a comma or a conjunction that begins another statement. */
const rest = '(?<v>[^,;，、]{1,120}?)';
const end = '(?=\\s*(?:$|[,;，、]|\\s(?:and|but|because|so|y|pero|porque)\\s))';
const rule = (before: string, after = ''): RegExp =>
  new RegExp(`${before}${rest}${after}${end}`, 'iu');

const single =
  (predicate: string) =>
  (value: string): Stated => ({ subject: theUser, predicate, value, single: true });
const taste =
  (value: 'likes' | 'dislikes') =>
  (what: string): Stated => ({
    subject: theUser,
    predicate: `taste: ${what.toLowerCase()}`.slice(0, 100),
    value,
    single: true,
  });

/** A preference displaces an earlier one of the same topic: the last word of what is preferred, or the first in Spanish. */
const prefers =
  (topicOf: (value: string) => string) =>
  (value: string): Stated => ({
    subject: theUser,
    predicate: `prefers: ${topicOf(value).toLowerCase()}`.slice(0, 100),
    value,
    single: true,
  });
const lastWord = (value: string): string =>
  value
    .split(/\s+(?:over|to|than|instead|rather|when|for|in|by|with|at|on)\s/i)[0]
    ?.split(/\s+/)
    .at(-1) ?? value;
const firstWord = (value: string): string =>
  /^(?:(?:las?|los|el|un|una)\s+)?(\S+)/i.exec(value)?.[1] ?? value;
const afterOf = (value: string): string => value.split('的').at(-1) ?? value;

const rules: readonly (readonly [RegExp, (value: string) => Stated])[] = [
  [rule("\\bi(?:'d| would)?\\s+(?:really |strongly |generally )?prefer\\s+"), prefers(lastWord)],
  [
    rule("\\bi\\s+(?:do not|don'?t|can'?t stand|really dislike|hate|dislike)\\s+(?:like\\s+)?"),
    taste('dislikes'),
  ],
  [rule('\\bi\\s+(?:really |also )?(?:like|love|enjoy)\\s+'), taste('likes')],
  [rule('\\b(?:my name is|call me)\\s+'), single('name')],
  [rule("\\bi(?:'m| am)?\\s+(?:live|living|based)\\s+in\\s+"), single('home')],
  [rule('\\bi\\s+work\\s+(?:at|for|as|in)\\s+'), single('work')],
  [rule("\\bi(?:'m| am)\\s+(?:allergic to)\\s+"), taste('dislikes')],
  [rule('\\bprefiero\\s+'), prefers(firstWord)],
  [rule('\\b(?:no me gustan?|odio|detesto)\\s+'), taste('dislikes')],
  [rule('\\bme (?:gustan?|encantan?)\\s+'), taste('likes')],
  [rule('\\b(?:me llamo|mi nombre es)\\s+'), single('name')],
  [rule('\\bvivo en\\s+'), single('home')],
  [rule('\\btrabajo (?:en|como|para)\\s+'), single('work')],
  [
    rule(
      '(?:저는|나는|전|난|제가|내가)\\s*',
      '(?:을|를|이|가)?\\s*(?:더\\s*)?(?:선호|원)(?:해요|합니다|해|한다|하니|하니까)?',
    ),
    prefers(lastWord),
  ],
  [
    rule(
      '(?:저는|나는|전|난)\\s*',
      '(?:을|를|이|가)?\\s*(?:안\\s*좋아|싫어|좋아하지\\s*않)[가-힣]*',
    ),
    taste('dislikes'),
  ],
  [
    rule('(?:저는|나는|전|난)\\s*', '(?:을|를|이|가)?\\s*(?:정말\\s*)?좋아[가-힣]*'),
    taste('likes'),
  ],
  [rule('(?:제|내)\\s*이름은\\s*', '(?:이에요|예요|입니다|이야|야)?'), single('name')],
  [rule('(?:저는|나는|전|난)\\s*', '에(?:서)?\\s*(?:살아|살고|거주)[가-힣\\s]*'), single('home')],
  [rule('我(?:更|比较|比較)?(?:喜欢|喜歡|偏好|倾向于|想要)(?=.*的)'), prefers(afterOf)],
  [rule('我(?:不喜欢|不喜歡|讨厌|討厭)'), taste('dislikes')],
  [rule('我(?:很|更|最)?(?:喜欢|喜歡|爱)'), taste('likes')],
  [rule('我(?:叫|的名字是)'), single('name')],
  [rule('我住在'), single('home')],
];

/** "my X is Y", whatever X is. */
const attributes: readonly RegExp[] = [
  /\bmy\s+(?<what>[\p{L} '-]{2,40}?)\s+(?:is|are)\s+(?<v>[^,;]{1,120}?)(?=\s*(?:$|[,;]|\s(?:and|but)\s))/iu,
  /\bmis?\s+(?<what>[\p{L} ]{2,40}?)\s+(?:es|son)\s+(?<v>[^,;]{1,120}?)(?=\s*(?:$|[,;]|\s(?:y|pero)\s))/iu,
  /(?:제|내)\s*(?<what>[가-힣 ]{1,20}?)(?:은|는)\s+(?<v>[^,]{1,80}?)(?:이에요|예요|입니다|이야|야)?$/u,
  /我的(?<what>[\p{Script=Han}]{1,12}?)是(?<v>[^，,。]{1,80})/u,
];

function readClause(clause: string): Stated | undefined {
  const style = answerStyle(clause);
  if (style !== undefined) return style;
  for (const [pattern, make] of rules) {
    const value = pattern.exec(clause)?.groups?.v?.trim();
    if (value !== undefined && value !== '') return make(value);
  }
  for (const pattern of attributes) {
    const { what, v } = pattern.exec(clause)?.groups ?? {};
    if (what !== undefined && v !== undefined) return single(what.trim().toLowerCase())(v.trim());
  }
  // Asked to remember, but nothing that a rule knows: the gate must see it, and say why not.
  const asked = clause.replace(asking, '').trim();
  return asked !== '' && asked !== clause
    ? {
        subject: /^(?:i|my|저|제|나|내|yo|mi|我)(?=[\s'는가의]|\P{L}|[\p{Script=Han}])/iu.test(
          asked,
        )
          ? theUser
          : 'unknown',
        predicate: 'note',
        value: asked,
        single: false,
      }
    : undefined;
}

/** "Always answer me in Korean", "keep your answers short": orders that only say how to answer. */
function answerStyle(clause: string): Stated | undefined {
  const order =
    /^(?:(?:please|always|and|also|from now on)[,\s]+)*(?:(?:answer|reply|respond|write|speak)(?:\s+(?:to )?me)?(?:\s+(?:only|always))?\s+in\s+(?<language>\p{L}+)|keep (?:your|the) (?:answers|replies) (?<style>\p{L}+))(?: please)?$/iu.exec(
      clause.replace(asking, ''),
    )?.groups;
  const language = answerLanguages.find((l) => l.toLowerCase() === order?.language?.toLowerCase());
  if (language !== undefined) return single('language of answers')(language);
  const style = answerStyles.find((s) => s === order?.style?.toLowerCase());
  return style === undefined ? undefined : single('answers')(style);
}
