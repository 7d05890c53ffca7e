/**
 * Streaming while a node holds its thread. LangGraph's stream is read between the steps of its nodes: a node that computes
 * without ever letting go would be heard at its end, all at once. Here what it writes is read as it is written, and a
 * model that streams waits after each token until that has been read.
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { ChunkReader } from './chunks.js';
import type { GraphRun } from './port.js';

/** Options of a call. */
export interface HeldThreadOptions {
  readonly writer?: (chunk: unknown) => void;
  readonly callbacks?: readonly object[];
}

/** Options of the call for a run that has a thread to itself and is listened to. */
export function heldThreadOptions(run: GraphRun, reader: ChunkReader): HeldThreadOptions {
  if (run.heldThread !== true || !run.stream) return {};
  return {
    writer: (chunk: unknown): void => reader.written(namespaceOfCaller(run), chunk),
    callbacks: [
      { name: 'held_thread', awaitHandlers: true, handleLLMNewToken: () => turnOfTheLoop() },
    ],
  };
}

/** The graph that the writing node belongs to, as LangGraph's own writer tells it. */
function namespaceOfCaller({ graph }: GraphRun): readonly string[] {
  const { getConfig } = graph.modules.langgraph as { getConfig?: () => Caller | undefined };
  const { configurable } = getConfig?.() ?? {};
  return configurable?.checkpoint_ns?.split('|').slice(0, -1) ?? [];
}

interface Caller {
  readonly configurable?: { readonly checkpoint_ns?: string };
}
