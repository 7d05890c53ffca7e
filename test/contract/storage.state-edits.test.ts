/** Updates and resets of a thread's state on every backend, as the activity makes them: claim, LangGraph's own edit, commit. */
import { describe, expect, test } from '@jest/globals';
import type { RunInput } from '../../contracts/turn-input.js';
import type { PregelGraph } from '../../engine/project/types.js';
import { checkState } from '../../storage/fsck/check-state.js';
import { checkFacts } from '../../storage/fsck/check-thread.js';
import { readFacts } from '../../storage/fsck/facts.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { careful, EditThread, rebuilt, reset, update, without } from '../support/edit-thread.js';

describe.each(backends)('edits of the state on %s', (kind) => {
  const database = databaseInTests(kind);
  /** What `everthread fsck` finds. */
  const findings = ({ thread }: EditThread) =>
    database.driver.read(function* () {
      const facts = yield* readFacts(thread, 'read');
      if (facts === undefined) throw new Error('no thread');
      return [...checkFacts(facts), ...(yield* checkState(thread, facts.row))];
    });
  const begun = (graph?: PregelGraph): Promise<EditThread> =>
    new EditThread(database.storage).created(graph);

  test('F5 an update goes through the reducers, is a version of its own, once, whoever is lost; later turns see it', async () => {
    const s = await begun();
    expect(await s.say('one')).toBe('plan one,no question');
    const { stop, settled } = await s.do(update({ log: ['mine'], even: 4 }), 2);
    expect(settled).toMatchObject({ status: 'committed', version: 2 });
    expect(stop).toMatchObject({ kind: 'finished', output: { messages: [] } });
    expect(await s.state()).toMatchObject({ even: 4, log: ['plan one', 'no question', 'mine'] });
    await s.coldValues();
    expect(await s.say('two')).toBe('plan one,no question,mine,plan two,no question');
    const message = { role: 'user', content: 'three' };
    const added = await s.do(update({ messages: [message] }));
    expect(added.stop).toMatchObject({
      output: { messages: [{ role: 'user', content: 'three' }] },
    });
    expect(await s.record()).toMatchObject({ version: 4, status: 'idle' });
  });

  test('F5 as_node says what runs next: it waits, and null runs it; __end__ with null lets nothing wait', async () => {
    const s = await begun();
    await s.say('one');
    const { stop } = await s.do(update({ log: ['planned'] }, 'plan'));
    expect(stop).toMatchObject({ kind: 'interrupted', next: ['ask'], interrupts: [] });
    expect(await s.state()).toMatchObject({ next: ['ask'], version: 2 });
    expect(await s.answer(null)).toBe('plan one,no question,planned,no question');
    await s.do(update({ log: ['again'] }, 'ask'));
    expect((await s.do(update(null, '__end__'))).stop.kind).toBe('finished');
    expect(await s.state()).toMatchObject({ next: [], version: 5 });
    expect(await s.record()).toMatchObject({ status: 'idle' });
  });

  test('F5 a question stays open over an update, and is answered on what it left', async () => {
    const s = await begun();
    expect(await s.say('ask one')).toBe('interrupted');
    const { stop } = await s.do(update({ log: ['mine'] }), 1);
    expect(stop).toMatchObject({ kind: 'interrupted', next: ['ask'] });
    expect(await s.record()).toMatchObject({ version: 2, status: 'interrupted' });
    expect(await s.answer('yes')).toBe('plan ask one,mine,answer yes');
    await s.say('ask two');
    await s.do(update({ log: ['for it'] }, 'ask'));
    expect(await s.answer(null)).toMatch(/plan ask two,for it$/);
  });

  test('F5 a static breakpoint still waits after an update, once', async () => {
    const s = await begun(careful);
    expect(await s.say('one')).toBe('interrupted');
    await s.do(update({ log: ['mine'] }));
    expect(await s.state()).toMatchObject({ next: ['act'], version: 2 });
    expect(await s.answer(null)).toBe('plan one,no question,mine');
  });

  test('F5 an unknown node and values that the graph refuses change nothing', async () => {
    const s = await begun();
    await s.say('one');
    const before = await s.state();
    for (const [edit, code] of [
      [update({ log: ['x'] }, 'nobody'), 'unknown_node'],
      [update({ log: ['x'] }, '__copy__'), 'unknown_node'],
      [update({ log: ['x'] }, 'constructor'), 'unknown_node'],
      [update(5), 'invalid_update'],
    ] as const) {
      const { stop, settled } = await s.do(edit);
      expect(stop).toMatchObject({ kind: 'failed', failure: { code } });
      expect(settled).toMatchObject({ status: 'failed', version: 1 });
    }
    await s.turn({ input: update({ even: 3 }) });
    await expect(s.apply(await s.open())).rejects.toThrow('odd');
    expect(await s.state()).toEqual(before);
  });

  test('F5 F6 P4 a stale fence writes nothing; a thread that is not there gets none', async () => {
    const s = await begun();
    await s.say('one');
    await s.say('two');
    for (const edit of [update({ log: ['mine'] }), reset(1)]) {
      const { version } = await s.state();
      await s.turn({ input: edit });
      const zombie = await s.open();
      const heir = await s.open();
      const [late, own] = [await s.apply(zombie), await s.apply(heir)];
      expect(await s.settleStop(zombie, late)).toEqual({ kind: 'fence_lost' });
      expect(await s.settleStop(heir, own)).toMatchObject({ version: version + 1 });
    }
    await database.storage.threads.delete(s.thread);
    expect(await s.accept({ input: reset(1) })).toEqual({ kind: 'not_found' });
  });

  test('F6 a reset is the old state as a new version; what was left behind never comes back, warm or cold', async () => {
    const s = await begun();
    for (const text of ['one', 'two', 'three']) await s.say(text);
    expect((await s.do(reset(1), 1)).settled).toMatchObject({ status: 'committed', version: 4 });
    expect((await s.state()).log).toEqual(['plan one', 'no question']);
    expect(await s.say('four')).toBe('plan one,no question,plan four,no question');
    await s.coldValues();
    expect(await s.say('five')).toMatch(/^plan one,no question,plan four,.*plan five,no question$/);
    await s.do(reset(3));
    await s.coldValues();
    expect(await s.say('six')).toMatch(/plan two,.*plan three,no question,plan six,no question$/);
    await s.do(reset(5));
    await s.do(update({ log: ['mine'] }));
    expect((await s.state()).log).toEqual([
      ...['plan one', 'no question', 'plan four', 'no question', 'mine'],
    ]);
    const history = await database.storage.threads.history(s.thread, null, 20);
    expect(history?.map(({ version }) => version)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(await findings(s)).toEqual([]);
  });

  test('F6 a channel that LangGraph rebuilds from writes forgets those of the turns left behind', async () => {
    const s = await begun(rebuilt);
    expect(await s.say('one')).toBe('one');
    await s.do(update({ messages: [{ role: 'user', content: 'mine' }] }));
    const { stop } = await s.do(reset(1));
    expect(stop).toMatchObject({ kind: 'finished', output: { messages: [] } });
    expect(await s.say('two')).toBe('one|one|two');
    expect(await s.say('three')).toBe('one|one|two|one|one|two|three');
    expect(await findings(s)).toEqual([]);
  });

  test('P5 a fork forgets, too, what an update has written behind its version, whoever is lost', async () => {
    const s = await begun(rebuilt);
    await s.say('one');
    await s.do(update({ messages: [{ role: 'user', content: 'mine' }] }));
    const { stop } = await s.do({ kind: 'message', text: 'two', fromVersion: 1 }, 1);
    expect(stop).toMatchObject({ output: { response: 'one|one|two' } });
    await s.coldValues();
    expect(await s.say('three')).toBe('one|one|two|one|one|two|three');
    // Back to the branch that was left, whose writes stand behind the same checkpoint as those of the first fork.
    await s.do({ kind: 'message', text: 'four', fromVersion: 2 });
    expect(await s.say('five')).toBe('one|one|mine|four|one|one|mine|four|five');
    expect(await findings(s)).toEqual([]);
  });

  test('F7 messages are those of the turns that the newest state stands on; the history has all and says which', async () => {
    const s = await begun();
    for (const text of ['one', 'two', 'three']) await s.say(text);
    await s.do({ kind: 'message', text: 'other', fromVersion: 1 });
    expect(await s.asked()).toEqual(['one', 'other']);
    expect(await s.leftBehind()).toEqual([3, 2]);
    await s.do(reset(3));
    await s.say('four');
    expect(await s.asked()).toEqual(['one', 'two', 'three', 'four']);
    expect(await s.leftBehind()).toEqual([4]);
    const lost = await s.turn({ input: { kind: 'message', text: 'lost', fromVersion: 1 } });
    await database.storage.turns.cancel(s.thread, lost.turnId);
    await s.do({ kind: 'message', text: 'last', fromVersion: 4 });
    expect(await s.asked()).toEqual(['one', 'other', 'last']);
    const history = await database.storage.threads.history(s.thread, null, 3);
    expect(history).toMatchObject([
      { version: 7, fromVersion: 4, leftBehind: false },
      { version: 6, fromVersion: null, leftBehind: true },
      { version: 5, fromVersion: 3, leftBehind: true },
    ]);
  });

  test('P7 a fork may answer what an earlier version asked, also when it was answered otherwise, whoever is lost', async () => {
    const s = await begun();
    await s.say('ask one');
    expect(await s.answer('no')).toBe('plan ask one,answer no');
    await s.say('two');
    expect(await s.answer('yes', { fromVersion: 1 })).toBe('plan ask one,answer yes');
    await s.coldValues();
    const { stop } = await s.do({ kind: 'resume', value: 'maybe', fromVersion: 1 }, 2);
    expect(stop).toMatchObject({ output: { response: 'plan ask one,answer maybe' } });
    expect(await s.say('three')).toBe('plan ask one,answer maybe,plan three,no question');
    for (const fromVersion of [2, 99]) {
      const input: RunInput = { kind: 'resume', value: 'x', fromVersion };
      expect(await s.accept({ input })).toEqual({ kind: 'resume_stale' });
    }
    expect(await findings(s)).toEqual([]);
    const waiting = await begun(careful);
    await waiting.say('one');
    await waiting.say('two');
    expect(await waiting.answer(null, { fromVersion: 1 })).toBe('plan one,no question');
  });

  test('F6 a version that waited waits again, and takes its answer', async () => {
    const s = await begun();
    await s.say('ask one');
    await s.answer('no');
    expect((await s.do(reset(1))).stop).toMatchObject({ kind: 'interrupted', next: ['ask'] });
    expect((await s.state()).interrupts).toEqual([{ value: 'really, 1?' }]);
    expect(await s.answer('yes')).toBe('plan ask one,answer yes');
    expect(await findings(s)).toEqual([]);
    const waiting = await begun(careful);
    await waiting.say('one');
    await waiting.say('two');
    await waiting.do(reset(1));
    expect(await waiting.answer(null)).toBe('plan one,no question');
  });

  test('F6 a graph that lost a node goes back to where it can run; no such version is refused in its place', async () => {
    const s = await begun();
    await s.say('one');
    await s.say('ask two');
    s.graph = without;
    expect((await s.do(reset(1))).settled).toMatchObject({ status: 'committed', version: 3 });
    expect(await s.say('on')).toBe('now plan one,no question');
    expect(await s.accept({ input: reset(99) })).toEqual({ kind: 'base_changed', version: 4 });
    // While another turn waits, the version may still come.
    await s.turn();
    await s.turn({ input: reset(99) });
    const waited = await s.open();
    await s.settleStop(waited, await s.apply(waited));
    const refused = await s.claim();
    expect(refused).toMatchObject({ kind: 'failed', code: 'base_changed' });
    expect((await s.state()).version).toBe(5);
  });
});
