/** Checkpoints before format 4 hold no sends: they stand in the writes of the checkpoint before. */
import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';

const tasksChannel = '__pregel_tasks';

/** @param before the checkpoint before, if there is one */
export async function withPendingSends(
  tuple: CheckpointTuple,
  before: () => Promise<CheckpointTuple | undefined>,
): Promise<CheckpointTuple> {
  const { checkpoint } = tuple;
  if (checkpoint.v >= 4) return tuple;
  const parent = await before();
  if (parent === undefined) return tuple;
  const sends = (parent.pendingWrites ?? [])
    .filter(([, channel]) => channel === tasksChannel)
    .map(([, , value]) => value);
  checkpoint.channel_values[tasksChannel] = sends;
  const versions = Object.values(checkpoint.channel_versions);
  checkpoint.channel_versions[tasksChannel] = versions.reduce((a, b) => (a > b ? a : b), 1);
  return tuple;
}
