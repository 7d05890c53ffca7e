/**
 * Masks personal data and secrets before anything is written to long-term memory (M9). Patterns find, checksums and
 * libraries decide. Names, postal addresses and passports need a model and are not covered.
 */
import { createHmac } from 'node:crypto';
import { numberRules } from './numbers.js';
import { readable } from './readable.js';
import { contextChars, type PiiKind, type PiiRule } from './rule.js';
import { emailRules, secretRules } from './secrets.js';

/** Stored with what was masked, so that rows of an older masker can be found and masked again. */
export const maskVersion = 1;

/** A masked text. */
export interface Masked {
  readonly text: string;
  /** How often each kind was found; never the values. */
  readonly found: Readonly<Partial<Record<PiiKind, number>>>;
}

/** Masks a text. Masking a masked text changes nothing. */
export type Mask = (text: string) => Masked;

/** Choices of `createMask`. */
export interface MaskOptions {
  /**
   * Secret of one user. With it a placeholder carries a short keyed hash, `[EMAIL:7f3a]`, so that the same address stays
   * the same entity for that user and for nobody else; without it `[EMAIL]`.
   */
  readonly key?: string;
  /** Rules of the caller's own, tried first. */
  readonly rules?: readonly PiiRule[];
}

/** First come the rules whose match says most: a key may contain a phone number, not the other way round. */
const shippedRules: readonly PiiRule[] = [...secretRules, ...emailRules, ...numberRules];

/** Makes a masker. */
export function createMask({ key, rules = [] }: MaskOptions = {}): Mask {
  const all = [...rules, ...shippedRules];
  return (original) => {
    const { text, origin } = readable(original);
    const spans = spansIn(text, all);
    if (spans.length === 0) return { text: original, found: {} };
    const found: Partial<Record<PiiKind, number>> = {};
    let masked = '';
    let from = 0;
    for (const { kind, start, end } of spans) {
      const begins = origin[start] ?? 0;
      const placeholder =
        key === undefined ? kind : `${kind}:${tagOf(key, text.slice(start, end))}`;
      masked += `${original.slice(from, begins)}[${placeholder}]`;
      from = (origin[end - 1] ?? begins) + 1;
      found[kind] = (found[kind] ?? 0) + 1;
    }
    return { text: masked + original.slice(from), found };
  };
}

interface Span {
  readonly kind: PiiKind;
  readonly start: number;
  readonly end: number;
}

function spansIn(text: string, rules: readonly PiiRule[]): readonly Span[] {
  const spans: Span[] = [];
  for (const rule of rules) {
    for (const match of text.matchAll(rule.pattern)) {
      const whole = match.groups?.value ?? match[0];
      const start = match.index + match[0].lastIndexOf(whole);
      const before = text.slice(Math.max(0, start - contextChars), start);
      const value = acceptedPart(rule, whole, before);
      const end = start + value.length;
      if (value !== '' && !spans.some((s) => start < s.end && s.start < end))
        spans.push({ kind: rule.kind, start, end });
    }
  }
  return spans.sort((a, b) => a.start - b.start);
}

function acceptedPart({ accepts, shrinks }: PiiRule, whole: string, before: string): string {
  if (accepts === undefined) return whole;
  for (let value = whole; value !== ''; value = value.replace(/[ -]?[^ -]*$/, '')) {
    if (accepts(value, before)) return value;
    if (shrinks !== true) return '';
  }
  return '';
}

/** The same value written with other separators is the same entity. */
const tagOf = (key: string, value: string): string =>
  createHmac('sha256', key)
    .update(value.toLowerCase().replace(/[\s().-]/g, ''))
    .digest('hex')
    .slice(0, 4);
