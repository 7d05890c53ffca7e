/** What a message says about the form, by rules. Pure: values are candidates, the schema judges them. */
import { findPhoneNumbersInText } from 'libphonenumber-js';
import type { FieldName } from './fields.js';

export type Stated = Partial<Record<FieldName, string>>;

const email = /[^\s@<>(),;:"']+@[^\s@<>(),;:"']+/u;
/** A value ends at punctuation, or where the next one begins. */
const value = String.raw`([^\n,;!?]{1,300}?)(?=\s*(?:[\n,;!?]|\.(?:\s|$)|$|\s(?:and|y)\s+(?:my|i|me|mi)\b))`;
const introduced = (words: string): RegExp => new RegExp(`(?:${words})\\s*${value}`, 'iu');

const phrases: Readonly<Partial<Record<FieldName, RegExp>>> = {
  name: introduced(
    String.raw`\bmy name(?: is|'s)\b|\bname\s*[:=]|\bi am called\b|\bme llamo\b|\bmi nombre es\b|제 이름은|我叫|我的名字是`,
  ),
  company: introduced(
    String.raw`\b(?:my|our|the) company is\b|\bcompany\s*[:=]|\bi work (?:at|for)\b|\btrabajo en\b|회사는|公司是`,
  ),
  topic: introduced(
    String.raw`\b(?:the |my )?topic is\b|\btopic\s*[:=]|\bsubject\s*[:=]|\b(?:it is|it's|i am writing|i'm writing|i write|question|request) about\b|\bregarding\b`,
  ),
};

/** Longer than an answer to "your name?"; a whole letter is none. */
const longestAnswer: Readonly<Partial<Record<FieldName, number>>> = {
  name: 60,
  company: 100,
  topic: 500,
};

/** @param asked the field that was asked for last, if it is still open: a bare answer is its */
export function statedIn(text: string, asked: FieldName | null): Stated {
  const stated: Stated = {};
  const address = email.exec(text)?.[0];
  if (address !== undefined) stated.email = address.replace(/[.!?]+$/, '');
  const phone = phoneIn(text, asked);
  if (phone !== undefined) stated.phone = phone;
  for (const [name, phrase] of Object.entries(phrases) as [FieldName, RegExp][]) {
    const found = phrase.exec(text)?.[1]?.trim();
    if (found !== undefined && found !== '') stated[name] = found.replace(/\.$/, '');
  }
  const bare = text.trim();
  if (asked !== null && Object.keys(stated).length === 0 && isAnswer(bare, asked)) {
    stated[asked] = bare;
  }
  return stated;
}

function phoneIn(text: string, asked: FieldName | null): string | undefined {
  const [found] = findPhoneNumbersInText(text);
  if (found !== undefined) return found.number.number;
  // What was meant as one and is none is worth a word about why.
  const isMeant = asked === 'phone' || /\b(?:phone|mobile|tel(?:ephone)?|call me)\b/i.test(text);
  return isMeant ? /\+?\d[\d\s().-]{4,}\d/.exec(text)?.[0] : undefined;
}

/** Addresses and numbers are found by their form above; a greeting or a question is no name. */
const isAnswer = (text: string, asked: FieldName): boolean =>
  text.length > 0 && text.length <= (longestAnswer[asked] ?? 0) && !isTalk(text);

const isTalk = (text: string): boolean =>
  text.endsWith('?') ||
  /^(?:hi|hello|hey|good (?:morning|afternoon|evening)|thanks|thank you|ok(?:ay)?|help|hola|안녕하세요|你好)\b[\s.!]*$/iu.test(
    text,
  ) ||
  /^(?:안녕하세요|你好)[\s.!。！]*$/u.test(text);

export const isYes = (text: string): boolean =>
  /^\s*(?:yes|y|yep|yeah|correct|right|that(?:'s| is) (?:right|correct)|confirm(?:ed)?|ok(?:ay)?|sí|si|네|예|맞아요|是|对)(?=[\s.!,。！]|$)/iu.test(
    text,
  );

export const isNo = (text: string): boolean =>
  /^\s*(?:no|n|nope|wrong|not (?:quite|right)|아니요|不|不对)(?=[\s.!,。！]|$)/iu.test(text);

/** Of an optional field. */
export const isSkip = (text: string): boolean =>
  isNo(text) ||
  /^\s*(?:skip|none|nothing|n\/a|-|no tengo|(?:i )?(?:don't|do not) have(?: one| any)?|i(?:'d| would) rather not|pass)[\s.!]*$/iu.test(
    text,
  );
