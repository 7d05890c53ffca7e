/** How an accepted candidate changes what is known. Pure: a store applies the changes in one transaction (M11). */
import { maskVersion } from '../pii/mask.js';
import { claimLifeMs, isActive, type Fact } from './fact.js';
import { gateVersion, type Verdict } from './gate.js';

/** One row to write or to end. A fact's own words are never changed. */
export type FactChange =
  | { readonly kind: 'add'; readonly fact: Fact }
  | {
      readonly kind: 'end';
      readonly id: string;
      readonly validTo: string;
      readonly retiredAt: string;
      readonly supersededBy: string | null;
    };

/** What a caller adds to a verdict: pure code has no clock and no ids. */
export interface RecordedBy {
  readonly id: string;
  /** ISO time. */
  readonly now: string;
  readonly threadId: string;
}

type Accepted = Extract<Verdict, { kind: 'accepted' }>;

/** Higher ones end lower ones; never the other way round. */
const rank = { claimed: 0, preference: 1, verified: 2 } as const;

/** The changes that recording makes to these facts of one user; none when it is known already. */
export function record(
  facts: readonly Fact[],
  accepted: Accepted,
  by: RecordedBy,
): readonly FactChange[] {
  const fact = factOf(accepted, by);
  const rivals = facts.filter(
    (f) => isActive(f, by.now) && f.subject === fact.subject && f.predicate === fact.predicate,
  );
  const same = rivals.filter((f) => sameWords(f.value, fact.value));
  if (same.some((f) => rank[f.standing] >= rank[fact.standing])) return [];
  const displaced = (fact.single ? rivals : same).filter(
    (f) => rank[f.standing] <= rank[fact.standing],
  );
  // News of how it was before what is known now: it does not end what came after it.
  const later = displaced.filter(
    (f) => f.validFrom > fact.validFrom && !sameWords(f.value, fact.value),
  );
  const ended = displaced.filter((f) => !later.includes(f));
  const validTo = later.map((f) => f.validFrom).sort()[0] ?? null;
  return [
    ...ended.map((f) => end(f, fact.validFrom, by.now, fact.id)),
    { kind: 'add', fact: { ...fact, validTo } },
  ];
}

/** Ends a fact because its user says so. */
export const withdraw = (fact: Fact, now: string): FactChange => end(fact, now, now, null);

const end = (
  fact: Fact,
  validTo: string,
  retiredAt: string,
  supersededBy: string | null,
): FactChange => ({
  kind: 'end',
  id: fact.id,
  validTo: validTo < fact.validFrom ? fact.validFrom : validTo,
  retiredAt,
  supersededBy,
});

function factOf({ candidate, standing, source, toolCallId }: Accepted, by: RecordedBy): Fact {
  const { evidence, validFrom = by.now, ...said } = candidate;
  return {
    ...said,
    id: by.id,
    standing,
    source,
    evidence: {
      threadId: by.threadId,
      messageId: evidence.messageId,
      quote: evidence.quote,
      ...(toolCallId !== undefined && { toolCallId }),
    },
    validFrom,
    validTo: null,
    recordedAt: by.now,
    retiredAt: null,
    supersededBy: null,
    expiresAt:
      standing === 'claimed' ? new Date(Date.parse(by.now) + claimLifeMs).toISOString() : null,
    maskVersion,
    gateVersion,
  };
}

const sameWords = (a: string, b: string): boolean => plain(a) === plain(b);
const plain = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s.,!]+/g, ' ')
    .trim();

/** Facts after changes: what a store does with rows, for those who hold them in memory. */
export function applied(facts: readonly Fact[], changes: readonly FactChange[]): readonly Fact[] {
  return changes.reduce<readonly Fact[]>((all, change) => {
    switch (change.kind) {
      case 'add':
        return [...all, change.fact];
      case 'end': {
        const { id, validTo, retiredAt, supersededBy } = change;
        return all.map((f) => (f.id === id ? { ...f, validTo, retiredAt, supersededBy } : f));
      }
    }
  }, facts);
}
