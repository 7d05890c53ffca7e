/** The fact model: who said it, on what evidence, how far it is trusted, and when it was so (M10). */
import { z } from 'zod';

const at = z.iso.datetime();

/**
 * How far a fact may be trusted.
 * - `verified`: read from a trusted tool, or entered by an operator or approver
 * - `preference`: what a user says about himself and may decide himself; shown as "the user says"
 * - `claimed`: what a user says is so; kept apart, expires, never authorises anything
 */
export const standingSchema = z.enum(['verified', 'preference', 'claimed']);
/** How far a fact may be trusted. */
export type Standing = z.output<typeof standingSchema>;

/** Who produced what a fact rests on. */
export const sourceSchema = z.enum(['operator', 'approver', 'tool', 'user']);

/** Where it was said. The quote is a piece of the masked message. */
export const evidenceSchema = z.strictObject({
  threadId: z.string(),
  messageId: z.string(),
  quote: z.string().max(1_000),
  toolCallId: z.string().optional(),
});

/** A fact as stored. Nothing in it is ever overwritten but the three fields that end it. */
export const factSchema = z.strictObject({
  id: z.string().min(1),
  subject: z.string().min(1).max(100),
  predicate: z.string().min(1).max(100),
  value: z.string().min(1).max(500),
  /** The sentence for readers and for search. */
  text: z.string().min(1).max(500),
  /** Whether a subject has one value of this predicate at a time: another one supersedes it. */
  single: z.boolean(),
  standing: standingSchema,
  source: sourceSchema,
  evidence: evidenceSchema,
  confidence: z.number().min(0).max(1),
  /** When it became so in the world, and when it ceased to be; null while it is so. */
  validFrom: at,
  validTo: at.nullable(),
  /** When it was written, and when it was ended; null while it stands. */
  recordedAt: at,
  retiredAt: at.nullable(),
  /** The fact that took its place. */
  supersededBy: z.string().nullable(),
  /** After this it is not recalled. */
  expiresAt: at.nullable(),
  maskVersion: z.int(),
  gateVersion: z.int(),
});
/** A fact as stored. */
export type Fact = z.output<typeof factSchema>;

/** What an extractor proposes; the gate decides. */
export const candidateSchema = z.strictObject({
  subject: factSchema.shape.subject,
  predicate: factSchema.shape.predicate,
  value: factSchema.shape.value,
  text: factSchema.shape.text,
  single: z.boolean(),
  evidence: z.strictObject({ messageId: z.string().min(1), quote: z.string().min(3).max(1_000) }),
  confidence: z.number().min(0).max(1),
  /** When it became so, if that was said. */
  validFrom: at.optional(),
});
/** What an extractor proposes. */
export type Candidate = z.output<typeof candidateSchema>;

/** The subject of what a user says about himself. */
export const theUser = 'user';

/** A user's claim is forgotten after this, unless something confirms it. */
export const claimLifeMs = 30 * 24 * 60 * 60 * 1_000;

/** Whether a fact may be recalled at a time. */
export const isActive = (fact: Fact, now: string): boolean =>
  fact.retiredAt === null && (fact.expiresAt === null || fact.expiresAt > now);

/** What was believed at `knownAt` to be so at `validAt`: the two times of a bitemporal fact. */
export function asOf(
  facts: readonly Fact[],
  { validAt, knownAt }: { readonly validAt: string; readonly knownAt: string },
): readonly Fact[] {
  return facts.filter((f) => {
    if (f.recordedAt > knownAt || f.validFrom > validAt) return false;
    // Its end counts only from when it became known, unless it was known from the start.
    const endKnown = f.retiredAt === null || f.retiredAt <= knownAt;
    return f.validTo === null || !endKnown || f.validTo > validAt;
  });
}
