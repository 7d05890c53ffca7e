/**
 * Where the Sends of the next superstep stand. In checkpoints of format 4 they are a channel, and so they are stored;
 * LangGraph before 0.4 keeps them beside the channels, as `pending_sends`.
 */
import type { ChannelVersions, Checkpoint, CheckpointTuple } from '@langchain/langgraph-checkpoint';
import type { CheckpointModule } from './port.js';

const tasksChannel = '__pregel_tasks';

type Older = Checkpoint & { pending_sends?: unknown[] };

/** Whether the project's LangGraph keeps Sends beside the channels. */
export const keepsSendsBeside = ({ emptyCheckpoint }: CheckpointModule): boolean =>
  emptyCheckpoint !== undefined && 'pending_sends' in emptyCheckpoint();

/** As it is stored. The version of the channel is the checkpoint's id: they are new each time. */
export function sendsAsChannel(
  checkpoint: Checkpoint,
  newVersions: ChannelVersions,
): { readonly checkpoint: Checkpoint; readonly newVersions: ChannelVersions } {
  const { pending_sends: sends = [], ...frame } = checkpoint as Older;
  const version = { [tasksChannel]: frame.id };
  return {
    checkpoint: {
      ...frame,
      channel_values: { ...frame.channel_values, [tasksChannel]: sends },
      channel_versions: { ...frame.channel_versions, ...version },
    },
    newVersions: { ...newVersions, ...version },
  };
}

/** As LangGraph before 0.4 reads it. */
export function sendsBeside(tuple: CheckpointTuple): CheckpointTuple {
  const { [tasksChannel]: sends, ...values } = tuple.checkpoint.channel_values;
  const { [tasksChannel]: _, ...versions } = tuple.checkpoint.channel_versions;
  const checkpoint: Older = {
    ...tuple.checkpoint,
    channel_values: values,
    channel_versions: versions,
    pending_sends: Array.isArray(sends) ? (sends as unknown[]) : [],
  };
  return { ...tuple, checkpoint };
}

/**
 * As LangGraph since 0.4 reads a checkpoint of before.
 * @param before the checkpoint before, if there is one: where no saver of ours has put them, the Sends are in its writes
 */
export async function withPendingSends(
  tuple: CheckpointTuple,
  before: () => Promise<CheckpointTuple | undefined>,
): Promise<CheckpointTuple> {
  const { checkpoint } = tuple;
  if (checkpoint.v >= 4) return tuple;
  const { [tasksChannel]: _, ...others } = checkpoint.channel_versions;
  if (!(tasksChannel in checkpoint.channel_values)) {
    const parent = await before();
    if (parent === undefined) return tuple;
    checkpoint.channel_values[tasksChannel] = (parent.pendingWrites ?? [])
      .filter(([, channel]) => channel === tasksChannel)
      .map(([, , value]) => value);
  }
  const newest = Object.values(others).reduce((a, b) => (a > b ? a : b), 1);
  checkpoint.channel_versions = { ...others, [tasksChannel]: newest };
  return tuple;
}
