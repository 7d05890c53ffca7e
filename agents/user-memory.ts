/** Long-term memory in an agent's graph (M20): recalled once before the model, written once after the answer. */
import type { BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { z } from 'zod';
import { reachCrashPoint } from '../contracts/crash-point.js';
import { speakerOf, textOf } from '../memory/context/message.js';
import type { MemoryOwner, MemoryStore } from '../memory/store.js';

/**
 * What was recalled for a turn: ids, so that a retry is shown the same and an erased user's words are in no checkpoint. A
 * fact's words never change.
 */
export const recollectionSchema = z.strictObject({
  facts: z.array(z.string().max(200)).max(50),
  episodes: z.array(z.string().max(400)).max(50),
});
export type Recollection = z.output<typeof recollectionSchema>;
export const nothingRecalled: Recollection = { facts: [], episodes: [] };

/** Whose memory a run uses; undefined when its turn names no user. From the run's config alone: a state can be written by its user. */
function ownerOf({ configurable }: RunnableConfig): MemoryOwner | undefined {
  const { tenant, user_id: userId } = (configurable ?? {}) as Record<string, unknown>;
  return typeof tenant === 'string' && typeof userId === 'string' && userId !== ''
    ? { tenant, userId }
    : undefined;
}

/** What knows phone numbers, checksums and search takes a while to load: at the first turn that names a user. */
const loadRules = () => (loading ??= rules());
let loading: ReturnType<typeof rules> | undefined;
async function rules() {
  const [{ batchFrom }, { createMask }, { recall, recalledText }] = await Promise.all([
    import('../memory/extract.js'),
    import('../memory/pii/mask.js'),
    import('../memory/recall.js'),
  ]);
  // No key: its placeholders would carry 16 bits of a hash of what they stand for, and a phone number has few more.
  return { batchFrom, recall, recalledText, mask: createMask() };
}

/** Long-term memory as nodes of a graph; in a run without a user, or without a store, they do nothing. */
export interface MemoryNodes {
  /** Whether the run has a user, and so a memory. */
  readonly isFor: (config: RunnableConfig) => boolean;
  /** Chooses what fits the newest question. */
  readonly recall: (
    state: Transcript,
    config: RunnableConfig,
  ) => Promise<{ readonly user_id?: string; readonly recalled?: Recollection }>;
  /** The words of what was chosen, for the prompt; what was erased since is missing. */
  readonly words: (
    state: { readonly recalled: Recollection },
    config: RunnableConfig,
  ) => Promise<string>;
  /** Keeps what the running turn leaves, and says whether anything was written, by this attempt or an earlier one. */
  readonly remember: (
    state: Transcript,
    config: RunnableConfig,
  ) => Promise<{ readonly user_id?: string; readonly memory_updated?: boolean }>;
}

interface Transcript {
  readonly messages: readonly BaseMessage[];
}

/** `recall` goes before the model, `remember` after the answer. */
export function memoryNodes(store: MemoryStore | undefined, now = () => new Date()): MemoryNodes {
  const ownedIn = (config: RunnableConfig): Owned | undefined => {
    const owner = ownerOf(config);
    return store === undefined || owner === undefined
      ? undefined
      : { store, owner, now: now().toISOString() };
  };
  return {
    isFor: (config) => ownedIn(config) !== undefined,
    async recall({ messages }, config) {
      const owned = ownedIn(config);
      if (owned === undefined) return {};
      return { user_id: owned.owner.userId, recalled: await recalledFor(owned, messages) };
    },
    async words({ recalled }, config) {
      const owned = ownedIn(config);
      return owned === undefined ? '' : await wordsOf(owned, recalled);
    },
    async remember({ messages }, config) {
      const owned = ownedIn(config);
      if (owned === undefined) return {};
      return { user_id: owned.owner.userId, memory_updated: await keep(owned, messages, config) };
    },
  };
}

/** One user's part of the store, at one time. */
interface Owned {
  readonly store: MemoryStore;
  readonly owner: MemoryOwner;
  /** ISO time. */
  readonly now: string;
}

async function recalledFor(
  { store, owner, now }: Owned,
  messages: readonly BaseMessage[],
): Promise<Recollection> {
  const { recall } = await loadRules();
  const [facts, episodes] = await Promise.all([
    store.facts(owner, { now }),
    store.episodes(owner, { now }),
  ]);
  const question = messages.findLast((m) => speakerOf(m) === 'user');
  const chosen = recall({ facts, episodes }, question === undefined ? '' : textOf(question), now);
  return {
    facts: chosen.facts.map(({ id }) => id),
    episodes: chosen.episodes.map(({ id }) => id),
  };
}

async function wordsOf({ store, owner, now }: Owned, recalled: Recollection): Promise<string> {
  const { recalledText } = await loadRules();
  const [facts, episodes] = await Promise.all([
    recalled.facts.length === 0 ? [] : store.facts(owner, { now, history: true }),
    recalled.episodes.length === 0 ? [] : store.episodes(owner, { now }),
  ]);
  return recalledText({
    facts: byIds(facts, recalled.facts),
    episodes: byIds(episodes, recalled.episodes),
  });
}

async function keep(
  { store, owner, now }: Owned,
  messages: readonly BaseMessage[],
  { configurable }: RunnableConfig,
): Promise<boolean> {
  const { thread_id: threadId, run_id: turnId } = configurable as Record<string, string>;
  if (threadId === undefined || turnId === undefined) return false;
  const { batchFrom, mask } = await loadRules();
  // A turn's id is no other turn's, of any epoch: a retry finds that this turn was kept.
  const from = { threadId, range: turnId, mask, now };
  const batch = await batchFrom(messagesOf(messages, turnId), from);
  const nothing = batch.accepted.length + batch.episodes.length === 0;
  if (nothing && Object.keys(batch.refused).length === 0) return false;
  reachCrashPoint('before-remember', threadId);
  const { added, episodes } = await store.remember(owner, batch);
  reachCrashPoint('after-remember', threadId);
  return added + episodes > 0;
}

const byIds = <T extends { readonly id: string }>(
  all: readonly T[],
  ids: readonly string[],
): readonly T[] => ids.flatMap((id) => all.filter((one) => one.id === id));

/** The messages of the running turn: from its message on, whose id is the turn's, or from the newest question of an input. */
function messagesOf(messages: readonly BaseMessage[], turnId: string): readonly BaseMessage[] {
  const own = messages.findIndex((m) => m.id === turnId);
  return messages.slice(own === -1 ? messages.findLastIndex((m) => speakerOf(m) === 'user') : own);
}
