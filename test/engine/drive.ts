/** Runs the turns of a shape: as LangGraph does by itself, and as the engine does under attempts that yield and crash. */
import * as messages from '@langchain/core/messages';
import * as langgraph from '@langchain/langgraph';
import * as checkpoint from '@langchain/langgraph-checkpoint';
import type { TurnInterrupt } from '../../contracts/http.schema.js';
import type { FrameBody } from '../../contracts/frames.js';
import { callable } from '../../engine/call.js';
import type { GraphRun, RunToStop, Start, Stop } from '../../engine/port.js';
import type { PregelGraph } from '../../engine/project/types.js';
import { runToStop } from '../../engine/run-to-stop.js';
import { canonicalJson } from '../../engine/plain-json.js';
import { isMessageObject, transcriptMessage } from '../../engine/transcript.js';
import { Log, type Shape } from './shape.js';
import type { OpenRun, TestThread } from './threads.js';

/** How one turn ended, ids of messages and interrupts left out. */
export interface TurnEnd {
  readonly kind: Stop['kind'];
  readonly values: string;
  readonly next: readonly string[];
  readonly interrupts: readonly unknown[];
  readonly ran: readonly string[];
}

interface Snapshot {
  readonly values: unknown;
  readonly next: readonly string[];
  readonly tasks: readonly { readonly interrupts?: readonly { readonly value?: unknown }[] }[];
}

const bare = (value: unknown): string =>
  canonicalJson(value, (v) => {
    if (!isMessageObject(v)) return undefined;
    const { id: _id, ...rest } = transcriptMessage(v, '');
    return rest as never;
  });

const shown = (kind: Stop['kind'], snapshot: Snapshot, ran: readonly string[]): TurnEnd => ({
  kind,
  values: bare(snapshot.values),
  next: snapshot.next,
  interrupts: snapshot.tasks.flatMap((t) => (t.interrupts ?? []).map((i) => i.value)),
  ran,
});

const turnIdOf = (turn: number): string => `turn-${turn}`;

export async function plainly(shape: Shape): Promise<TurnEnd[]> {
  const log = new Log();
  const graph = shape.build(log, { checkpointer: new checkpoint.MemorySaver() });
  const config = { configurable: { thread_id: 't' } };
  const ends: TurnEnd[] = [];
  let asked: readonly TurnInterrupt[] = [];
  for (const [i, turn] of shape.turns.entries()) {
    const start = typeof turn === 'function' ? turn(asked) : turn;
    const from = log.ran.length;
    let kind: Stop['kind'];
    try {
      const result = await graph.invoke(plainInput(start, turnIdOf(i)), {
        ...config,
        ...(shape.recursionLimit !== undefined && { recursionLimit: shape.recursionLimit }),
      });
      kind = langgraph.isInterrupted(result) ? 'interrupted' : 'finished';
      asked = langgraph.isInterrupted<never>(result)
        ? (result.__interrupt__ as TurnInterrupt[])
        : [];
    } catch {
      kind = 'failed';
    }
    const snapshot = (await graph.getState(config)) as Snapshot;
    if (kind === 'finished' && snapshot.next.length > 0) kind = 'interrupted';
    const end = shown(kind, snapshot, log.ran.slice(from));
    // A failed turn leaves nothing behind (P5); plain LangGraph keeps what it had.
    const before = ends.at(-1) ?? { ...end, values: '{}' };
    ends.push(kind === 'failed' ? { ...before, kind, ran: end.ran } : end);
  }
  return ends;
}

function plainInput(start: Start, turnId: string): unknown {
  switch (start.kind) {
    case 'message':
      return { messages: [new messages.HumanMessage({ content: start.text, id: turnId })] };
    case 'input':
      return start.value;
    case 'resume':
      return start.value === null ? null : new langgraph.Command({ resume: start.value });
  }
}

export interface Mode {
  readonly slice?: 'turn' | 'superstep';
  /** Every turn's first attempt dies at this flush; the settlement counts as one. */
  readonly crashAt?: number;
  readonly stream?: boolean;
  /** Where it runs; in this thread unless given. */
  readonly runToStop?: RunToStop;
}

export interface Driven {
  readonly ends: readonly TurnEnd[];
  readonly stops: readonly Stop[];
  readonly frames: readonly FrameBody[];
  readonly crashes: number;
  readonly yields: number;
}

export async function driven(shape: Shape, thread: TestThread, mode: Mode): Promise<Driven> {
  const done = { ends: [] as TurnEnd[], stops: [] as Stop[], frames: [] as FrameBody[] };
  let crashes = 0;
  let yields = 0;
  for (const turn of shape.turns) {
    const last = done.stops.at(-1);
    const asked = last?.kind === 'interrupted' ? last.interrupts : [];
    const start = typeof turn === 'function' ? turn(asked) : turn;
    const ran: string[] = [];
    let crashAt = mode.crashAt;
    for (;;) {
      const log = new Log();
      const opened = await thread.open(start, crashAt);
      const graph = shape.build(log, {});
      const run = runOf({ graph, shape, opened, start, mode, frames: done.frames });
      run.signal.addEventListener('abort', () => (log.dead = true));
      const stop = await (mode.runToStop ?? runToStop)(run);
      if (stop.kind === 'threw') throw stop.error;
      ran.push(...log.ran);
      if (stop.kind === 'aborted' || !(await opened.settle(stop))) {
        crashes += 1;
        crashAt = undefined;
        continue;
      }
      if (stop.kind === 'yielded') {
        yields += 1;
        continue;
      }
      done.stops.push(stop);
      done.ends.push(shown(stop.kind, await stateOf(thread, graph), ran));
      break;
    }
  }
  return { ...done, crashes, yields };
}

interface RunParts {
  readonly graph: PregelGraph;
  readonly shape: Shape;
  readonly opened: OpenRun;
  readonly start: Start;
  readonly mode: Mode;
  readonly frames: FrameBody[];
}

export const modules = {
  langgraph,
  messages,
  checkpoint,
  versions: { langgraph: '1.7.3', core: '1.4.0', checkpoint: '1.2.2' },
};

export function runOf({ graph, shape, opened, start, mode, frames }: RunParts): GraphRun {
  const process = new AbortController();
  const { attempt, turnId, finishedSteps, recovered, closeDangling } = opened;
  attempt.onLost = () => {
    process.abort();
  };
  return {
    ...{ attempt, start, finishedSteps, recovered, closeDangling },
    graph: { name: shape.name, graph, modules },
    identity: { threadId: 't', turnId, graphId: shape.name, tenant: 'x', userId: 'u' },
    ...(shape.recursionLimit !== undefined && { call: { recursionLimit: shape.recursionLimit } }),
    stream: mode.stream ?? false,
    signal: process.signal,
    slice: mode.slice ?? 'turn',
    drain: { request: () => undefined },
    emit: (frame) => frames.push(frame),
  };
}

/** What a reader of the thread would see now. */
export const stateOf = (thread: TestThread, graph: PregelGraph): Promise<Snapshot> =>
  thread.reader(async ({ saver }) => {
    const configurable = { thread_id: 't', __pregel_checkpointer: saver };
    return (await callable(graph).getState({ configurable })) as Snapshot;
  });
