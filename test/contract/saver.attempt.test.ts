import { setImmediate as nextPhase } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { Command, MemorySaver } from '@langchain/langgraph';
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import type { FlushRows } from '../../storage/saver/port.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import {
  agent,
  asking,
  chat,
  editing,
  Gate,
  human,
  nested,
  parallel,
} from '../support/saver-graphs.js';
import { type Runnable, SaverThread } from '../support/saver-run.js';

const shown = (values: unknown): string => JSON.stringify(values);

/** Waits until a condition that other code makes true. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('waited for 20 s');
    await nextPhase();
  }
}

const channelsOf = (rows: FlushRows | undefined): string[] =>
  (rows?.writes ?? []).map(({ channel }) => channel);

describe.each(backends)('saver on %s', (kind) => {
  const database = databaseInTests(kind);
  const thread = (): SaverThread => new SaverThread(database.storage);

  test('a one-node turn flushes nothing before it settles, and stores one checkpoint of three puts', async () => {
    const { opened, last } = await thread().run({ graph: chat, input: human('a') });
    expect(opened.flushed).toEqual([]);
    expect(last.checkpoints).toHaveLength(1);
    expect(last.writes).toEqual([]);
    expect(last.superstep).toEqual({ finished: 1, ran: ['model'], next: [] });
    expect(opened.steps).toEqual([{ step: 1, nodes: ['model'] }]);
  });

  test.each([
    ['a chat', chat],
    ['an agent with Sends', agent],
    ['a graph that edits messages in place', editing],
  ] as [string, Runnable & { getState(config: object): Promise<unknown> }][])(
    '%s has the same state after each turn, warm and cold, as with a MemorySaver',
    async (_, graph) => {
      const here = thread();
      const config = { configurable: { thread_id: 'x', __pregel_checkpointer: new MemorySaver() } };
      for (const text of ['a', 'b', 'c']) {
        const { result } = await here.run({ graph, input: human(text) });
        expect(shown(result)).toBe(shown(await graph.invoke(human(text), config)));
      }
      const { values } = (await graph.getState(config)) as { values: { messages: unknown } };
      expect(shown((await here.coldValues())?.messages)).toBe(shown(values.messages));
      const { result } = await here.run({ graph, input: human('d') });
      expect(shown(result)).toBe(shown(await graph.invoke(human('d'), config)));
    },
  );

  test('C3 P4 each superstep that something follows is flushed, the last one settles', async () => {
    const { opened, last } = await thread().run({ graph: agent, input: human('a') });
    expect(opened.flushed.map(({ superstep }) => superstep)).toEqual([
      { finished: 1, ran: ['model'], next: ['tools', 'tools'] },
      { finished: 2, ran: ['tools', 'tools'], next: ['model'] },
    ]);
    expect(opened.flushed.map(({ checkpoints }) => checkpoints.length)).toEqual([1, 1]);
    expect(last.superstep).toEqual({ finished: 3, ran: ['model'], next: [] });
  });

  test('P5 a task that finishes before the others is flushed with its checkpoint, and a retry does not run it again', async () => {
    const here = thread();
    const [quick, slow] = [new Gate(), new Gate()];
    const graph = parallel(quick, slow);
    await here.turn();
    const lost = await here.open();
    void here.invoke(lost, graph, { log: ['in'] }).catch(() => undefined);
    await until(() => quick.runs === 1 && slow.runs === 1);
    quick.open();
    await until(() => lost.flushed.length === 1);
    expect(lost.flushed[0]?.superstep).toBeNull();
    expect(lost.flushed[0]?.checkpoints).toHaveLength(1);
    expect(channelsOf(lost.flushed[0])).toContain('log');

    const heir = await here.open();
    expect(heir.attempt.hasRows).toBe(true);
    slow.open();
    const result = await here.invoke(heir, graph, null);
    expect(result).toEqual({ log: ['in', 'quick', 'slow', 'last of 3'] });
    expect([quick.runs, slow.runs]).toEqual([1, 2]);
    await expect(here.settle(heir, result)).resolves.toMatchObject({ kind: 'settled' });
    // The zombie's slow task has ended too, and its flush is refused.
    await until(() => lost.lost.length === 1);
    expect(lost.lost).toMatchObject([{ kind: expect.stringMatching(/fence_lost|settled_before/) }]);
    await expect(lost.attempt.finish()).rejects.toThrow('refused');
  });

  test('P5 a crash inside a subgraph resumes in it', async () => {
    const here = thread();
    const [inner, outer] = [new Gate(), new Gate()];
    const graph = nested(inner, outer);
    await here.turn();
    const lost = await here.open();
    void here.invoke(lost, graph, { log: ['in'] }).catch(() => undefined);
    await until(() => outer.runs === 1);
    await until(() => lost.flushed.length > 0);
    const heir = await here.open();
    outer.open();
    const result = await here.invoke(heir, graph, null);
    expect(result).toEqual({ log: ['in', 'in', 'one', 'two'] });
    expect(inner.runs).toBe(1);
    await expect(here.settle(heir, result)).resolves.toMatchObject({ kind: 'settled' });
  });

  test('P5 a resume flushes nothing before its first superstep ends, and two questions take two answers', async () => {
    const here = thread();
    const first = await here.run({ graph: asking, input: { log: [] } });
    expect(first.result).toMatchObject({ __interrupt__: [{ value: 'name?' }] });
    const second = await here.run({
      graph: asking,
      input: new Command({ resume: 'Ann' }),
      hold: true,
    });
    expect(second.result).toMatchObject({ __interrupt__: [{ value: 'age?' }] });
    expect(second.opened.flushed).toEqual([]);
    // Cold: the second answer meets the first one in the database.
    await here.coldValues();
    const third = await here.run({
      graph: asking,
      input: new Command({ resume: '7' }),
      hold: true,
    });
    expect(third.result).toEqual({ log: ['Ann is 7', 'after 1'] });
    expect(third.opened.flushed.map(({ superstep }) => superstep)).toEqual([
      { finished: 1, ran: ['ask'], next: ['after'] },
    ]);
  });

  test('P5 a failed resume leaves nothing in the view of the next turn', async () => {
    const here = thread();
    await here.run({ graph: asking, input: { log: [] } });
    await here.turn();
    const failing = await here.open({ hold: true });
    await here.invoke(failing, asking, new Command({ resume: 'Bob' }));
    await here.storage.claims.settle(
      failing.turn.claim,
      { kind: 'failed', failure: { code: 'node_error', message: 'x' } },
      null,
    );
    failing.attempt.drop();
    const next = await here.run({
      graph: asking,
      input: new Command({ resume: 'Ann' }),
      hold: true,
    });
    expect(next.result).toMatchObject({ __interrupt__: [{ value: 'age?' }] });
    const last = await here.run({ graph: asking, input: new Command({ resume: '7' }), hold: true });
    expect(last.result).toEqual({ log: ['Ann is 7', 'after 1'] });
  });

  test('P5 an attempt sees its own turn and the committed ones, by id too', async () => {
    const here = thread();
    const { opened } = await here.run({ graph: chat, input: human('a') });
    const head = opened.attempt.headCheckpointId();
    await here.turn();
    const { attempt } = await here.open();
    const at = (id?: string): object => ({
      configurable: {
        thread_id: here.thread.threadId,
        ...(id !== undefined && { checkpoint_id: id }),
      },
    });
    const tuple = await attempt.saver.getTuple(at());
    expect(tuple?.checkpoint.id).toBe(head);
    expect(tuple?.metadata).toMatchObject({ run_id: opened.turn.claim.turnId, source: 'loop' });
    expect((await attempt.saver.getTuple(at(head ?? '')))?.checkpoint).toEqual(tuple?.checkpoint);
    await expect(attempt.saver.getTuple(at('none'))).resolves.toBeUndefined();
    const listed = [];
    for await (const one of attempt.saver.list(at())) listed.push(one.checkpoint.id);
    expect(listed).toEqual([head]);
  });

  test('P4 after a refused flush nothing more is written, and after the end nothing is put', async () => {
    const here = thread();
    await here.turn();
    const opened = await here.open({ flush: () => Promise.resolve({ kind: 'fence_lost' }) });
    await expect(here.invoke(opened, agent, human('a'))).rejects.toThrow('fence_lost');
    expect(opened.lost).toEqual([{ kind: 'fence_lost' }]);
    const again = await here.open();
    const result = await here.invoke(again, chat, human('a'));
    await here.settle(again, result);
    const config = { configurable: { thread_id: here.thread.threadId, checkpoint_id: 'x' } };
    const { saver } = again.attempt;
    await expect(saver.putWrites(config, [['messages', []]], 'task')).rejects.toThrow('finished');
    await expect(saver.put(config, emptyCheckpoint(), {} as never, {})).rejects.toThrow('finished');
  });

  test('what a serde cannot write fails the put, and flushes nothing', async () => {
    const here = thread();
    await here.turn();
    const opened = await here.open();
    await expect(here.invoke(opened, asking, { log: [1n] })).rejects.toThrow(
      'cannot be serialised',
    );
    expect(opened.flushed).toEqual([]);
  });

  test('the state of a head is read as plain data', async () => {
    const here = thread();
    await here.run({ graph: agent, input: human('a') });
    const state = await database.storage.threads.state(here.thread);
    expect(state?.values).toEqual({
      messages: [
        { id: 'human-a', role: 'user', content: 'a' },
        {
          id: 'ai-1',
          role: 'assistant',
          content: '',
          tool_calls: [
            { id: 'a-1', name: 'a', args: {} },
            { id: 'b-1', name: 'b', args: {} },
          ],
        },
        {
          id: 'tool-a-1',
          role: 'tool',
          content: 'a saw 2 messages',
          tool_call_id: 'a-1',
          name: 'a',
        },
        {
          id: 'tool-b-1',
          role: 'tool',
          content: 'b saw 2 messages',
          tool_call_id: 'b-1',
          name: 'b',
        },
        { id: 'ai-4', role: 'assistant', content: 'Both tools have answered.' },
      ],
    });
  });
});
