/** Writes one batch of memory (M11): once per key, under the owner's lock, as `record` says. */
import { randomUUID } from 'node:crypto';
import { applied, record } from '../../memory/facts/record.js';
import type { MemoryBatch, MemoryOwner, Written } from '../../memory/store.js';
import { first, run, type Tx } from '../tx.js';
import { readFacts, writeChange } from './fact-rows.js';
import { countRecorded, keyOf, lockOrCreateOwner, ofOwner } from './owner-row.js';

export function* remember(owner: MemoryOwner, batch: MemoryBatch): Tx<Written> {
  const recorded = yield* lockOrCreateOwner(owner);
  const before = yield* first<{ written: string }>(
    `SELECT written FROM et_memory_keys WHERE ${ofOwner} AND batch_key = $3`,
    ...[...keyOf(owner), batch.key],
  );
  if (before !== undefined) return JSON.parse(before.written) as Written;
  const facts = yield* rememberFacts(owner, batch, recorded);
  const episodes = yield* rememberEpisodes(owner, batch, recorded + facts.added);
  const written: Written = { ...facts, episodes };
  yield* run(
    `INSERT INTO et_memory_keys (tenant, user_id, batch_key, written, refused) VALUES ($1, $2, $3, $4, $5)`,
    ...[...keyOf(owner), batch.key, JSON.stringify(written), JSON.stringify(batch.refused)],
  );
  yield* countRecorded(owner, recorded + facts.added + batch.episodes.length);
  return written;
}

/** Each fact is judged against those before it, of the same batch too. */
function* rememberFacts(
  owner: MemoryOwner,
  { accepted, now, threadId }: MemoryBatch,
  recorded: number,
): Tx<Omit<Written, 'episodes'>> {
  if (accepted.length === 0) return { added: 0, superseded: 0 };
  let facts = yield* readFacts(owner, 'standing');
  let [added, superseded] = [0, 0];
  for (const verdict of accepted) {
    const changes = record(facts, verdict, { id: randomUUID(), now, threadId });
    for (const change of changes) {
      yield* writeChange(owner, change, recorded + added);
      if (change.kind === 'add') added += 1;
      else superseded += 1;
    }
    facts = applied(facts, changes);
  }
  return { added, superseded };
}

/** Those that have expired are of no use to anybody and go. */
function* rememberEpisodes(
  owner: MemoryOwner,
  { episodes, now }: MemoryBatch,
  recorded: number,
): Tx<number> {
  yield* run(`DELETE FROM et_episodes WHERE ${ofOwner} AND expires_at <= $3`, ...keyOf(owner), now);
  let added = 0;
  for (const [i, episode] of episodes.entries()) {
    added += yield* run(
      `INSERT INTO et_episodes (tenant, user_id, episode_id, pos, body, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (tenant, user_id, episode_id) DO NOTHING`,
      ...[...keyOf(owner), episode.id, recorded + i, JSON.stringify(episode), episode.expiresAt],
    );
  }
  return added;
}
