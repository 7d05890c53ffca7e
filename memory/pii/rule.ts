/** What a masking rule is. */

/** Kinds of personal data and secrets that are masked; each is also the name in its placeholder. */
export type PiiKind =
  | 'EMAIL'
  | 'PHONE'
  | 'CARD'
  | 'IBAN'
  | 'IP'
  | 'KR_RRN'
  | 'US_SSN'
  | 'ES_ID'
  | 'CN_ID'
  | 'API_KEY'
  | 'PRIVATE_KEY'
  | 'PASSWORD';

/** One pattern. Quantifiers are bounded, so that no input takes more than linear time. */
export interface PiiRule {
  readonly kind: PiiKind;
  /** Global. The group `value`, if it has one, is what is masked; otherwise the whole match. */
  readonly pattern: RegExp;
  /** Whether the match is what it looks like; `before` is the text just in front of it. */
  readonly accepts?: (value: string, before: string) => boolean;
  /** A value written in groups may have caught words behind it: refused, it is tried again without its last group. */
  readonly shrinks?: boolean;
}

/** As much text before a match as says what it is ("my phone is …"). */
export const contextChars = 40;

/** The digits of a value, and nothing else. */
export const digitsOf = (value: string): string => value.replace(/\D/g, '');
