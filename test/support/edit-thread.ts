/** Graphs whose state tests edit, and a thread on which turns, updates and resets run as the activity makes them. */
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import {
  Annotation,
  DeltaChannel,
  interrupt,
  MessagesAnnotation,
  messagesStateReducer,
  StateGraph,
} from '@langchain/langgraph';
import type { EditInput, RunInput } from '../../contracts/turn-input.js';
import { isEdit } from '../../contracts/turn-input.js';
import { editState } from '../../engine/edit-state.js';
import type { Stop } from '../../engine/port.js';
import type { PregelGraph } from '../../engine/project/types.js';
import { runToStop } from '../../engine/run-to-stop.js';
import type { Settled } from '../../storage/port.js';
import { modules, runOf } from '../engine/drive.js';
import { SaverThread, type OpenedTurn } from './saver-run.js';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
  even: Annotation<number>({
    reducer: (_, b) => {
      if (b % 2 === 1) throw new Error(`odd: ${b}`);
      return b;
    },
    default: () => 0,
  }),
});
type Values = typeof State.State;

const said = ({ messages }: Values): string => messages.at(-1)?.text ?? '';

/** plan → ask (may interrupt) → act; a message "ask …" is asked back. */
const builder = () =>
  new StateGraph(State)
    .addNode('plan', (state) => ({ log: [`plan ${said(state)}`] }))
    .addNode('ask', (state) => {
      if (!said(state).startsWith('ask')) return { log: ['no question'] };
      return { log: [`answer ${String(interrupt(`really, ${state.log.length}?`))}`] };
    })
    .addNode('act', ({ log, messages }) => ({
      messages: [new AIMessage({ id: `ai-${messages.length}`, content: log.join() })],
    }))
    .addEdge('__start__', 'plan')
    .addEdge('plan', 'ask')
    .addEdge('ask', 'act');
const whole = builder().compile() as unknown as PregelGraph;
export const careful = builder().compile({ interruptBefore: ['act'] }) as unknown as PregelGraph;
/** After a deploy that took `ask` away. */
export const without = new StateGraph(State)
  .addNode('plan', ({ log }) => ({ messages: [new AIMessage(`now ${log.join()}`)] }))
  .addEdge('__start__', 'plan')
  .compile() as unknown as PregelGraph;

const Rebuilt = Annotation.Root({
  messages: () =>
    new DeltaChannel<BaseMessage[]>((held, writes) =>
      writes.reduce<BaseMessage[]>((all, one) => messagesStateReducer(all, one as never), held),
    ),
});
export const rebuilt = new StateGraph(Rebuilt)
  .addNode('act', ({ messages }) => ({
    messages: [new AIMessage(messages.map(({ text }) => text).join('|'))],
  }))
  .addEdge('__start__', 'act')
  .compile() as unknown as PregelGraph;

export const update = (values: unknown, asNode?: string): EditInput => ({
  ...{ kind: 'update_state', values },
  ...(asNode !== undefined && { asNode }),
});
export const reset = (toVersion: number): EditInput => ({ kind: 'reset', toVersion });

export class EditThread extends SaverThread {
  graph = whole;

  async created(graph: PregelGraph = whole): Promise<this> {
    this.graph = graph;
    await this.storage.threads.create({ thread: this.thread, graph: 'g' });
    return this;
  }

  /** Accepts a turn, loses as many claims before the commit, and settles it. */
  async do(input: EditInput | RunInput, lose = 0): Promise<{ stop: Stop; settled: Settled }> {
    await this.turn({ input });
    for (let i = 0; i < lose; i++) {
      const lost = await this.open();
      await this.apply(lost);
      await lost.attempt.finish();
      lost.attempt.drop();
    }
    const opened = await this.open({ hold: isEdit(input) || input.kind === 'resume' });
    const stop = await this.apply(opened);
    return { stop, settled: await this.settleStop(opened, stop) };
  }

  apply({ turn, attempt }: OpenedTurn): Promise<Stop> {
    const { input, closeDangling, waits } = turn;
    const loaded = { name: 'g', graph: this.graph, modules };
    if (isEdit(input)) {
      const identity = { ...this.thread, turnId: turn.claim.turnId, graphId: 'g' };
      const edit = { graph: loaded, attempt, identity, closeDangling, edit: input };
      return editState({ ...edit, ...(waits !== undefined && { waits }) });
    }
    const shape = { name: 'g', build: () => this.graph, turns: [] };
    const opened = {
      ...{ attempt, turnId: turn.claim.turnId, finishedSteps: 0, recovered: null, closeDangling },
      settle: () => Promise.resolve(true),
    };
    const run = runOf({ graph: this.graph, shape, opened, start: input, mode: {}, frames: [] });
    const identity = { ...run.identity, threadId: this.thread.threadId };
    return runToStop({ ...run, identity, forks: turn.forks });
  }

  async settleStop({ turn, attempt }: OpenedTurn, stop: Stop): Promise<Settled> {
    const { claims } = this.storage;
    if (stop.kind === 'failed') return claims.settle(turn.claim, stop, null);
    if (stop.kind !== 'finished' && stop.kind !== 'interrupted')
      throw new Error(JSON.stringify(stop));
    const rows = await attempt.finish();
    const waiting = stop.kind === 'interrupted';
    const settled = await claims.settle(
      turn.claim,
      {
        kind: waiting ? 'interrupted' : 'committed',
        checkpointId: attempt.headCheckpointId() ?? '',
        ...stop.output,
        interrupts: waiting ? stop.interrupts : [],
        next: waiting ? stop.next : [],
      },
      rows,
    );
    if (settled.kind === 'settled') attempt.keep();
    else attempt.drop();
    return settled;
  }

  async say(text: string): Promise<string> {
    const { stop } = await this.do({ kind: 'message', text });
    return stop.kind === 'finished' ? stop.output.response : stop.kind;
  }

  async answer(value: unknown, more: { fromVersion?: number } = {}): Promise<string> {
    const { stop } = await this.do({ kind: 'resume', value, ...more });
    return stop.kind === 'finished' ? stop.output.response : stop.kind;
  }

  /** What the messages of users say, read page by page. */
  async asked(): Promise<string[]> {
    const said: string[] = [];
    for (let after = null as { seq: number; index: number } | null; ;) {
      const page = await this.storage.threads.messages(this.thread, after, 1);
      for (const { role, content } of page?.messages ?? []) if (role === 'user') said.push(content);
      if (page?.next == null) return said;
      after = page.next;
    }
  }

  async leftBehind(): Promise<number[]> {
    const history = (await this.storage.threads.history(this.thread, null, 50)) ?? [];
    return history.filter((entry) => entry.leftBehind).map(({ version }) => version);
  }

  async state() {
    const found = await this.storage.threads.state(this.thread);
    if (found === undefined) throw new Error('no thread');
    const { values, next, interrupts, version } = found;
    return { log: values.log, even: values.even, next, interrupts, version };
  }
}
