/** Edits of typed fields on every backend, as the activity makes them: claim, the head again with other fields, commit. */
import { AIMessage, HumanMessage, type BaseMessage } from '@langchain/core/messages';
import { Annotation, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import type { FieldEdit } from '../../contracts/turn-input.js';
import { editState } from '../../engine/edit-state.js';
import type { Stop } from '../../engine/port.js';
import type { PregelGraph } from '../../engine/project/types.js';
import type { Settled } from '../../storage/port.js';
import type { FlushRows } from '../../storage/saver/port.js';
import { modules } from '../engine/drive.js';
import { backends, openDatabase } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { SaverThread, type OpenedTurn } from '../support/saver-run.js';

const fields = z.object({ a: z.int(), b: z.string().trim() });
type Fields = Record<string, unknown>;
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  fields: Annotation<Fields | undefined>,
});

/** Says what fields it saw; "a=5" sets one, as a node does; "call" ends with a tool call that nobody answers. */
const form = new StateGraph(State)
  .addNode('answer', ({ messages, fields: seen = {} }) => {
    const asked = messages.at(-1)?.text ?? '';
    const a = /a=(\d+)/.exec(asked)?.[1];
    const tool_calls = asked === 'call' ? [{ id: 'call-1', name: 'look', args: {} }] : [];
    return {
      messages: [
        new AIMessage({ id: `ai-${messages.length}`, content: JSON.stringify(seen), tool_calls }),
      ],
      ...(a !== undefined && { fields: { ...seen, a: Number(a) } }),
    };
  })
  .addEdge('__start__', 'answer')
  .compile();
const graph = { name: 'form', graph: form as unknown as PregelGraph, modules, fields };

const set = (name: string, value: unknown): FieldEdit => ({ kind: 'set_field', name, value });
const del = (name: string): FieldEdit => ({ kind: 'delete_field', name });
const human = (text: string) => ({
  messages: [new HumanMessage({ id: `human-${text}`, content: text })],
});

class FieldThread extends SaverThread {
  async created(): Promise<this> {
    await this.storage.threads.create({ thread: this.thread, graph: 'form' });
    return this;
  }

  /** Accepts and applies an edit; `lose` gives up the claim so many times before the commit. */
  async edit(
    input: FieldEdit,
    lose = 0,
  ): Promise<{ stop: Stop; settled: Settled; rows: FlushRows }> {
    await this.turn({ input });
    for (let i = 0; i < lose; i++) (await this.apply(await this.open())).opened.attempt.drop();
    const { opened, stop, rows } = await this.apply(await this.open());
    const settled = await this.settleEdit(opened, stop, rows);
    return { stop, settled, rows };
  }

  async apply(opened: OpenedTurn) {
    const { attempt, turn } = opened;
    if (turn.input.kind !== 'set_field' && turn.input.kind !== 'delete_field')
      throw new Error('no edit');
    const identity = {
      ...this.thread,
      turnId: turn.claim.turnId,
      graphId: 'form',
      userId: 'u',
    };
    const edit = turn.input;
    const { closeDangling } = turn;
    const stop = await editState({ graph, attempt, identity, closeDangling, edit });
    return { opened, stop, rows: await attempt.finish() };
  }

  async settleEdit({ turn, attempt }: OpenedTurn, stop: Stop, rows: FlushRows): Promise<Settled> {
    const { claims } = this.storage;
    if (stop.kind === 'failed') return claims.settle(turn.claim, stop, null);
    if (stop.kind !== 'finished') throw new Error(stop.kind);
    const checkpointId = attempt.headCheckpointId() ?? '';
    const head = { kind: 'committed', checkpointId, interrupts: [], next: [] } as const;
    const settled = await claims.settle(turn.claim, { ...head, ...stop.output }, rows);
    if (settled.kind === 'settled') attempt.keep();
    return settled;
  }

  async say(text: string): Promise<string> {
    const { result } = await this.run({ graph: form, input: human(text) });
    return (result as { messages: BaseMessage[] }).messages.at(-1)?.text ?? '';
  }

  /** Forgets the cached head, as another process does not have it. */
  forget(): Promise<unknown> {
    return this.coldValues();
  }

  async fields(): Promise<unknown> {
    return (await this.storage.threads.channel(this.thread, 'fields'))?.value;
  }
}

describe.each(backends)('fields on %s', (kind) => {
  const database = databaseInTests(kind);
  const begun = (): Promise<FieldThread> => new FieldThread(database.storage).created();

  test('F1 an edit neither makes nor revives a thread', async () => {
    const s = new FieldThread(database.storage);
    expect(await s.accept({ input: set('a', 1) })).toEqual({ kind: 'not_found' });
    expect(await database.storage.threads.get(s.thread)).toBeUndefined();
    await s.created();
    await s.edit(set('a', 1));
    await database.storage.threads.delete(s.thread);
    expect(await s.accept({ input: set('a', 2) })).toEqual({ kind: 'not_found' });
    expect(await database.storage.threads.get(s.thread)).toBeUndefined();
    expect(await database.storage.threads.channel(s.thread, 'fields')).toBeUndefined();
    await s.created();
    expect(await database.storage.threads.channel(s.thread, 'fields')).toMatchObject({
      epoch: 2,
      value: undefined,
    });
  });

  test('F1 F3 edits and chat turns of one thread see each other, warm and cold, and keep the transcript', async () => {
    const s = await begun();
    expect((await s.edit(set('a', 1))).settled).toMatchObject({ status: 'committed', version: 1 });
    expect(await s.say('hello')).toBe('{"a":1}');
    await s.forget();
    await s.edit(set('b', '  two '));
    expect(await s.say('a=7')).toBe('{"a":1,"b":"two"}');
    await s.edit(del('b'));
    await s.forget();
    expect(await s.say('last')).toBe('{"a":7}');
    const state = await database.storage.threads.state(s.thread);
    expect(state).toMatchObject({ version: 6, values: { fields: { a: 7 } } });
    expect(state?.values.messages).toHaveLength(6);
    expect(await database.storage.threads.channel(s.thread, 'fields')).toEqual({
      ...{ graph: 'form', version: 6, epoch: 1, value: { a: 7 } },
    });
    const history = await database.storage.threads.history(s.thread, null, 10);
    expect(history?.map(({ version }) => version)).toEqual([6, 5, 4, 3, 2, 1]);
  });

  test('F2 what the schema refuses settles failed, with its reason, and leaves head and version', async () => {
    const s = await begun();
    await s.edit(set('a', 1));
    for (const [edit, code] of [
      [set('a', 'one'), 'invalid_field'],
      [set('c', 1), 'unknown_field'],
      [del('constructor'), 'unknown_field'],
    ] as const) {
      expect(await s.edit(edit)).toMatchObject({
        stop: { kind: 'failed', failure: { code } },
        settled: { status: 'failed', version: 1 },
      });
    }
    expect(await s.fields()).toEqual({ a: 1 });
    expect((await s.edit(set('a', 2))).settled).toMatchObject({ version: 2 });
  });

  test('F1 C7 an edit writes its fields, not the history', async () => {
    const s = await begun();
    for (let i = 0; i < 5; i++) await s.say(`message ${i}`);
    const { rows } = await s.edit(set('b', 'x'));
    expect(rows.checkpoints).toHaveLength(1);
    expect([rows.deltas, rows.writes]).toEqual([[], []]);
  });

  test('F4 a thread that waits for an answer takes no edit, neither at once nor in its place', async () => {
    const s = await begun();
    const question = { kind: 'interrupted', interrupts: [{ id: 'i', value: 'really?' }] } as const;
    await s.turn();
    const { claim } = await s.claimed();
    const waiting = await s.turn({ input: set('a', 1) });
    await s.commit(claim, question);
    expect(await s.claim()).toMatchObject({ kind: 'failed', code: 'thread_interrupted' });
    expect((await s.get(waiting.turnId)).failure?.code).toBe('thread_interrupted');
    expect(await s.accept({ input: set('a', 1) })).toEqual({ kind: 'thread_interrupted' });
    expect(await s.record()).toMatchObject({ version: 1, status: 'interrupted' });
    expect(await s.accept({ input: { kind: 'resume', value: 'yes' } })).toMatchObject({
      kind: 'accepted',
    });
  });

  test('F1 P4 a stale fence writes no field', async () => {
    const s = await begun();
    await s.edit(set('a', 1));
    await s.turn({ input: set('a', 2) });
    const zombie = await s.apply(await s.open());
    const heir = await s.apply(await s.open());
    expect(await s.settleEdit(zombie.opened, zombie.stop, zombie.rows)).toEqual({
      kind: 'fence_lost',
    });
    expect(await s.fields()).toEqual({ a: 1 });
    expect(await s.settleEdit(heir.opened, heir.stop, heir.rows)).toMatchObject({ version: 2 });
    expect(await s.settleEdit(zombie.opened, zombie.stop, zombie.rows)).toMatchObject({
      kind: 'settled_before',
    });
    expect(await s.fields()).toEqual({ a: 2 });
  });

  test('F1 P6 an edit behind a turn that was cut off answers its open tool calls, as a plain turn does', async () => {
    const s = await begun();
    await s.turn();
    const cut = await s.open();
    cut.attempt.successors = () => ['more']; // so that the superstep is flushed
    await form.invoke(human('call'), s.config(cut.attempt, cut.turn.claim.turnId));
    const next = await s.accept({ input: { kind: 'message', text: 'x' }, multitask: 'interrupt' });
    expect(next).toMatchObject({ kind: 'accepted' });
    const failing = await s.claimed();
    const failure = { code: 'node_error', message: 'x' } as const;
    await database.storage.claims.settle(failing.claim, { kind: 'failed', failure }, null);
    await s.edit(set('a', 3));
    expect(await s.record()).toMatchObject({ version: 2, status: 'idle' });
    const { messages, fields: shown } =
      (await database.storage.threads.state(s.thread))?.values ?? {};
    expect(shown).toEqual({ a: 3 });
    expect((messages as { role: string }[]).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
    ]);
    expect(await s.say('on')).toBe('{"a":3}');
  });
});

type Op =
  | { readonly kind: 'edit'; readonly edit: FieldEdit; readonly lose: number }
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'forget' };
const edit = fc.oneof(
  fc.nat(9).map((n) => set('a', n)),
  fc.constantFrom('x', ' y ', 'z').map((b) => set('b', b)),
  fc.constantFrom(set('a', 'bad'), set('c', 1), del('c')),
  fc.constantFrom('a', 'b').map(del),
);
const op = fc.oneof<fc.Arbitrary<Op>[]>(
  fc.record({ kind: fc.constant('edit' as const), edit, lose: fc.nat(2) }),
  fc.constantFrom('hello', 'a=11', 'a=12').map((text) => ({ kind: 'say', text })),
  fc.constant({ kind: 'forget' }),
);

describe('fields under any interleaving', () => {
  test('F1 F2 F3 edits, chat turns, lost workers and cold starts keep one order', async () => {
    const database = await openDatabase('memory');
    const property = fc.asyncProperty(fc.array(op, { maxLength: 14 }), async (ops) => {
      const s = await new FieldThread(database.storage).created();
      let [fields, version]: [Fields, number] = [{}, 0];
      for (const [i, one] of ops.entries()) {
        if (one.kind === 'forget') await s.forget();
        else if (one.kind === 'say') {
          expect(JSON.parse(await s.say(`${one.text} ${i}`))).toEqual(fields);
          const a = /a=(\d+)/.exec(one.text)?.[1];
          if (a !== undefined) fields = { ...fields, a: Number(a) };
          version += 1;
        } else {
          const { stop } = await s.edit(one.edit, one.lose);
          const after = model(fields, one.edit);
          expect(stop.kind).toBe(after === undefined ? 'failed' : 'finished');
          version += after === undefined ? 0 : 1;
          fields = after ?? fields;
        }
        const read = await database.storage.threads.channel(s.thread, 'fields');
        expect([read?.value ?? {}, read?.version]).toEqual([fields, version]);
      }
    });
    try {
      await fc.assert(property, { numRuns: 60 });
    } finally {
      await database.close();
    }
  });
});

/** What an edit makes of the fields; undefined when it is refused. */
function model(fields: Fields, edit: FieldEdit): Fields | undefined {
  if (edit.name !== 'a' && edit.name !== 'b') return undefined;
  if (edit.kind === 'delete_field')
    return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== edit.name));
  if (edit.value === 'bad') return undefined;
  return {
    ...fields,
    [edit.name]: typeof edit.value === 'string' ? edit.value.trim() : edit.value,
  };
}
