/**
 * Which nodes follow a root checkpoint. The saver asks after each superstep: where something follows, the superstep is
 * flushed before the next one starts, and the last one rides in the settling transaction (P5, P11).
 */
import type { Checkpoint } from '@langchain/langgraph-checkpoint';
import type { PregelGraph } from './project/types.js';
import { nameOf } from './stop-of-error.js';

const tasksChannel = '__pregel_tasks';

interface Channel {
  fromCheckpoint(value: unknown): { isAvailable?: () => boolean; get?: () => unknown };
}

/**
 * Asks the graph's own channels, as LangGraph does when it prepares the next superstep: a node follows when one of its
 * triggers is newer than what it has seen and holds a value. Sorted; one name for each pending Send of a node.
 */
export function successorsOf(graph: PregelGraph): (checkpoint: Checkpoint) => readonly string[] {
  const triggers = Object.entries(graph.nodes).map(
    ([name, node]) => [name, (node as { triggers?: readonly string[] }).triggers ?? []] as const,
  );
  return (checkpoint) => {
    const follows = triggers
      .filter(([name, channels]) => channels.some((c) => isNews(graph, checkpoint, name, c)))
      .map(([name]) => name);
    return [...sendsIn(checkpoint), ...follows].sort();
  };
}

function isNews(graph: PregelGraph, checkpoint: Checkpoint, node: string, name: string): boolean {
  const version = checkpoint.channel_versions[name];
  const seen = checkpoint.versions_seen[node]?.[name];
  if (version === undefined || (seen !== undefined && version <= seen)) return false;
  return isAvailable(graph.channels[name] as Channel | undefined, checkpoint.channel_values[name]);
}

/** A trigger of an unknown kind counts as available: one flush too many is harmless, one too few loses work. */
function isAvailable(channel: Channel | undefined, value: unknown): boolean {
  if (channel === undefined) return false;
  try {
    const opened = channel.fromCheckpoint(value);
    if (opened.isAvailable !== undefined) return opened.isAvailable();
    // Before 0.3 a channel that holds nothing says so by throwing.
    opened.get?.();
    return true;
  } catch (error) {
    return nameOf(error) !== 'EmptyChannelError';
  }
}

/** Pending Sends: a list, before 1.x `[seen, list]`, and before 0.4 beside the channels. */
export function sendsIn(checkpoint: Checkpoint & { readonly pending_sends?: unknown }): string[] {
  const value: unknown = checkpoint.channel_values[tasksChannel] ?? checkpoint.pending_sends;
  if (!Array.isArray(value)) return [];
  return value
    .flat()
    .map((send: unknown) =>
      typeof send === 'object' && send !== null && 'node' in send ? send.node : undefined,
    )
    .filter((node) => typeof node === 'string');
}
