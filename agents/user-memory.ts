/** Long-term memory in an agent's graph (M20): recalled once before the model, written once after the answer. */
import type { BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { z } from 'zod';
import { speakerOf, textOf } from '../memory/context/message.js';
import { reachCrashPoint } from '../contracts/crash-point.js';
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
export function ownerOf({ configurable }: RunnableConfig): MemoryOwner | undefined {
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

export interface UserMemory {
  /** Chooses what fits the newest question. */
  recallFor(owner: MemoryOwner, messages: readonly BaseMessage[]): Promise<Recollection>;
  /** The words of what was chosen; what was erased since is missing. */
  wordsOf(owner: MemoryOwner, recalled: Recollection): Promise<string>;
  /** Keeps what the running turn leaves. @returns whether anything was written, by this attempt or an earlier one */
  remember(
    owner: MemoryOwner,
    messages: readonly BaseMessage[],
    config: RunnableConfig,
  ): Promise<boolean>;
}

export function createUserMemory(store: MemoryStore, now: () => Date): UserMemory {
  const iso = () => now().toISOString();
  return {
    async recallFor(owner, messages) {
      const at = iso();
      const { recall } = await loadRules();
      const [facts, episodes] = await Promise.all([
        store.facts(owner, { now: at }),
        store.episodes(owner, { now: at }),
      ]);
      const question = messages.findLast((m) => speakerOf(m) === 'user');
      const chosen = recall(
        { facts, episodes },
        question === undefined ? '' : textOf(question),
        at,
      );
      return {
        facts: chosen.facts.map(({ id }) => id),
        episodes: chosen.episodes.map(({ id }) => id),
      };
    },

    async wordsOf(owner, recalled) {
      const at = iso();
      const { recalledText } = await loadRules();
      const [facts, episodes] = await Promise.all([
        recalled.facts.length === 0 ? [] : store.facts(owner, { now: at, history: true }),
        recalled.episodes.length === 0 ? [] : store.episodes(owner, { now: at }),
      ]);
      return recalledText({
        facts: byIds(facts, recalled.facts),
        episodes: byIds(episodes, recalled.episodes),
      });
    },

    async remember(owner, messages, { configurable }) {
      const { thread_id: threadId, run_id: turnId } = configurable as Record<string, string>;
      if (threadId === undefined || turnId === undefined) return false;
      const { batchFrom, mask } = await loadRules();
      const batch = await batchFrom(messagesOf(messages, turnId), {
        threadId,
        // A turn's id is no other turn's, of any epoch: a retry finds that this turn was kept.
        range: turnId,
        mask,
        now: iso(),
      });
      const nothing = batch.accepted.length + batch.episodes.length === 0;
      if (nothing && Object.keys(batch.refused).length === 0) return false;
      reachCrashPoint('before-remember', threadId);
      const { added, episodes } = await store.remember(owner, batch);
      reachCrashPoint('after-remember', threadId);
      return added + episodes > 0;
    },
  };
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
