/**
 * A user's long-term memory: see, correct, forget (M21). It belongs to the user of a tenant and to no thread; what was said stands
 * in the threads' transcripts all the same.
 */
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { userIdSchema } from '../../contracts/http.schema.js';
import {
  correctFactSchema,
  type EpisodeReply,
  type FactReply,
  type UserMemoryReply,
} from '../../contracts/memory.schema.js';
import type { Episode } from '../../memory/episodes/episode.js';
import type { Fact } from '../../memory/facts/fact.js';
import type { MemoryOwner } from '../../memory/store.js';
import { ownMemory } from '../authorize-turn.js';
import { parseBody, parseValue } from '../body.js';
import type { Gateway } from '../gateway.js';
import { Problem } from '../problem.js';

export async function showMemory(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const { memory } = gateway.storage;
  const owner = await ownerOf(gateway, req);
  const { after, limit, history } = parseValue(memoryQuery, { ...req.query });
  const now = new Date().toISOString();
  const all = await memory.facts(owner, { now, history });
  const from = after === undefined ? 0 : placeAfter(all, after);
  const page = all.slice(from, from + limit);
  const reply: UserMemoryReply = {
    user_id: owner.userId,
    facts: page.map(factView),
    episodes:
      from > 0 ? [] : (await memory.episodes(owner, { now })).slice(0, limit).map(episodeView),
    next_cursor: from + limit < all.length ? (page.at(-1)?.id ?? null) : null,
  };
  res.json(reply);
}

/** Repeatable: the same correction again finds what it has made. The corrected fact ends and stays in the history. */
export async function correctFact(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const { memory } = gateway.storage;
  const { value } = parseBody(correctFactSchema, req);
  const owner = await ownerOf(gateway, req);
  const now = new Date().toISOString();
  const fact = (await memory.facts(owner, { now, history: true })).find(
    ({ id }) => id === req.params.fact,
  );
  if (fact === undefined) throw unknownFact();
  const { correctionOf, createMask } = await loadCorrecting();
  const verdict = correctionOf(fact, value, createMask());
  if (verdict.kind === 'refused') {
    throw new Problem('invalid_request', `This is not remembered. ${verdict.explanation}`, {
      errors: [{ path: 'value', message: verdict.reason }],
    });
  }
  const { candidate } = verdict;
  if (fact.retiredAt === null && fact.value !== candidate.value) {
    await memory.remember(owner, {
      // What is corrected and to what: of two requests that say the same, one writes.
      key: `correction:${fact.id}:${sha256(candidate.value)}`,
      threadId: fact.evidence.threadId,
      accepted: [verdict],
      ...{ episodes: [], refused: {}, now },
    });
    // In a conversation a user's word does not end what is verified; here he says himself that it is wrong.
    await memory.withdraw(owner, fact.id, now);
  }
  const current = (await memory.facts(owner, { now })).findLast((f) => says(f, candidate));
  if (current === undefined) throw unknownFact();
  res.json(factView(current));
}

/** Knows phone numbers and checksums; most gateways never need it. */
async function loadCorrecting() {
  const [{ correctionOf }, { createMask }] = await Promise.all([
    import('../../memory/facts/correct.js'),
    import('../../memory/pii/mask.js'),
  ]);
  return { correctionOf, createMask };
}

const says = (
  fact: Fact,
  { subject, predicate, value }: Pick<Fact, 'subject' | 'predicate' | 'value'>,
) => fact.subject === subject && fact.predicate === predicate && fact.value === value;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export async function withdrawFact(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const owner = await ownerOf(gateway, req);
  const now = new Date().toISOString();
  const id = String(req.params.fact);
  if (!(await gateway.storage.memory.withdraw(owner, id, now))) {
    const known = await gateway.storage.memory.facts(owner, { now, history: true });
    if (!known.some((fact) => fact.id === id)) throw unknownFact();
  }
  res.status(204).end();
}

/** Repeatable, and the same for a user of whom nothing is known. */
export async function eraseMemory(gateway: Gateway, req: Request, res: Response): Promise<void> {
  await gateway.storage.memory.erase(await ownerOf(gateway, req));
  res.status(204).end();
}

async function ownerOf(gateway: Gateway, req: Request): Promise<MemoryOwner> {
  const caller = await gateway.identify(req);
  const userId = parseValue(userIdSchema, String(req.params.user));
  ownMemory(caller, userId);
  return { tenant: caller.tenant, userId };
}

const unknownFact = (): Problem => new Problem('not_found', 'There is no such fact.');

/** Most facts of one page, and how many there are when none are asked for. */
const pageLimit = z.coerce.number().int().min(1).max(200).default(100);
const memoryQuery = z.strictObject({
  /** Also what was superseded, withdrawn or has expired. */
  history: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(false),
  after: z.string().min(1).max(100).optional(),
  limit: pageLimit,
});

/** @throws Problem when the cursor's fact is gone: with it went the place to go on from */
function placeAfter(facts: readonly Fact[], id: string): number {
  const at = facts.findIndex((fact) => fact.id === id);
  if (at === -1) throw new Problem('invalid_request', 'The cursor names no fact; begin again.');
  return at + 1;
}

const factView = (fact: Fact): FactReply => ({
  id: fact.id,
  subject: fact.subject,
  predicate: fact.predicate,
  value: fact.value,
  text: fact.text,
  status: fact.standing,
  source: fact.source,
  confidence: fact.confidence,
  evidence: {
    thread_id: fact.evidence.threadId,
    message_id: fact.evidence.messageId,
    quote: fact.evidence.quote,
    ...(fact.evidence.toolCallId !== undefined && { tool_call_id: fact.evidence.toolCallId }),
  },
  valid_from: fact.validFrom,
  valid_to: fact.validTo,
  recorded_at: fact.recordedAt,
  ended_at: fact.retiredAt,
  superseded_by: fact.supersededBy,
  expires_at: fact.expiresAt,
});

const episodeView = (episode: Episode): EpisodeReply => ({
  id: episode.id,
  thread_id: episode.threadId,
  task: episode.task,
  steps: [...episode.steps],
  outcome: episode.outcome,
  result: episode.result,
  recorded_at: episode.recordedAt,
  expires_at: episode.expiresAt,
});
