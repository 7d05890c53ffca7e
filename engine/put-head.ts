/** The checkpoint that an edit stands on, put once more with other values of some channels. */
import type { Checkpoint } from '@langchain/langgraph-checkpoint';
import type { TurnInterrupt } from '../contracts/http.schema.js';
import type { EditInput } from '../contracts/turn-input.js';
import type { GraphRun, Stop } from './port.js';
import { closings } from './start-input.js';

export interface StateEdit extends Pick<
  GraphRun,
  'graph' | 'attempt' | 'identity' | 'closeDangling'
> {
  readonly edit: EditInput;
  /** What the version asks that a reset goes back to; absent when it waits for nobody. */
  readonly waits?: readonly TurnInterrupt[];
}
export type EditStop = Extract<Stop, { kind: 'finished' | 'interrupted' | 'failed' }>;

type Values = Readonly<Record<string, unknown>>;

/** LangGraph's step of the checkpoint before a thread's first one, less one. */
const beforeInput = -2;

interface PutAs {
  /** The run that it is a result of; without one it counts as what the turn stands on, and LangGraph takes input behind it. */
  readonly runId?: string;
  /** A name that takes the new version without being a channel. */
  readonly mark?: string;
}

/** Puts the checkpoint that the turn stands on once more, with other values of these channels. */
export async function putHead(
  { attempt, identity, graph }: Pick<GraphRun, 'graph' | 'attempt' | 'identity'>,
  channels: Values,
  { runId, mark }: PutAs = {},
): Promise<Checkpoint> {
  const { saver } = attempt;
  const lib = graph.modules.checkpoint;
  const root = { thread_id: identity.threadId, checkpoint_ns: '' };
  const head = await saver.getTuple({ configurable: root });
  const base = head?.checkpoint ?? lib.emptyCheckpoint();
  const known = Object.values(base.channel_versions).map(Number).filter(Number.isFinite);
  const newest = Math.max(0, ...known);
  const version = saver.getNextVersion(newest);
  const versions = Object.fromEntries(Object.keys(channels).map((name) => [name, version]));
  const marked = mark === undefined ? {} : { [mark]: version };
  const { [seenByBreakpoints]: seen, ...others } = base.versions_seen;
  const step = (head?.metadata?.step ?? beforeInput) + 1;
  const checkpoint: Checkpoint = {
    ...base,
    id: lib.uuid6(step),
    ts: new Date().toISOString(),
    channel_values: { ...base.channel_values, ...channels },
    channel_versions: { ...base.channel_versions, ...versions, ...marked },
    // A version that no breakpoint has seen would make the next one stop twice.
    versions_seen:
      mark === undefined
        ? base.versions_seen
        : { ...others, [seenByBreakpoints]: { ...seen, ...marked } },
  };
  await saver.put(
    {
      configurable: { ...root, ...(head && { checkpoint_id: head.checkpoint.id }) },
      ...(runId !== undefined && { metadata: { run_id: runId } }),
    },
    checkpoint,
    { parents: {}, ...head?.metadata, source: 'update', step },
    versions,
  );
  return checkpoint;
}

/** Where LangGraph keeps what it had seen at its last breakpoint. */
const seenByBreakpoints = '__interrupt__';

/** Like any plain turn behind one that was cut off, an edit answers its open tool calls (P6, P7). */
export async function closed(run: StateEdit): Promise<Values> {
  const answers = await closings(run);
  const { messages } = (await run.attempt.baseValues()) ?? {};
  return answers.length === 0 || !Array.isArray(messages)
    ? {}
    : { messages: [...(messages as unknown[]), ...answers] };
}
