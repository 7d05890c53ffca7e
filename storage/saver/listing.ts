/** Which checkpoints `list` gives, of those that stand newest first. */
import type { CheckpointListOptions, CheckpointTuple } from '@langchain/langgraph-checkpoint';
import type { Known } from './known.js';
import type { Stored } from './rows.js';

export async function* selectTuples(
  all: readonly (Known | Stored)[],
  id: string | null,
  options: CheckpointListOptions | undefined,
  tupleOf: (one: Known | Stored) => Promise<CheckpointTuple>,
): AsyncGenerator<CheckpointTuple> {
  const before: unknown = options?.before?.configurable?.checkpoint_id;
  let left = options?.limit ?? Infinity;
  for (const one of all) {
    if (left <= 0) return;
    const checkpointId = 'entries' in one ? one.id : one.row.checkpoint_id;
    if (id !== null && checkpointId !== id) continue;
    // Ids are times, and LangGraph looks for "before" by them.
    if (typeof before === 'string' && checkpointId >= before) continue;
    const tuple = await tupleOf(one);
    if (!matches(tuple, options?.filter)) continue;
    left -= 1;
    yield tuple;
  }
}

const matches = ({ metadata }: CheckpointTuple, filter: CheckpointListOptions['filter']): boolean =>
  Object.entries(filter ?? {}).every(
    ([key, value]) => (metadata as Record<string, unknown> | undefined)?.[key] === value,
  );
