/** A long turn is read in pieces: the same bytes as the row read whole, on every backend (S4, P9). */
import { describe, expect, test } from '@jest/globals';
import { longBytes, longEnd } from '../../api/long-reply.js';
import { places } from '../../api/places.js';
import { noText, traced } from '../../contracts/text-trace.js';
import { replyJson } from '../../api/turn-reply.js';
import { backends } from '../support/database.js';
import { databaseInTests } from '../support/database-in-tests.js';
import { Scenario } from '../support/storage-scenario.js';

/** No piece of it looks like another, and characters of one to four bytes fall on every border. */
const words = Array.from({ length: 10_000 }, (_, i) => `${i} "é\n漢👩‍👩‍👧 `);
const said = [words.slice(0, 8_000).join(''), words.slice(8_000).join('')] as const;

describe.each(backends)('long turns on %s', (kind) => {
  const database = databaseInTests(kind);

  const longTurn = async (s: Scenario) => {
    const { turnId } = await s.committed(
      {},
      {
        response: said[1],
        messages: [
          { id: 'm1', role: 'user', content: 'tell me' },
          { id: 'm2', role: 'assistant', content: said[0] },
          { id: 'm3', role: 'tool', content: 'not spoken' },
          { id: 'm4', role: 'assistant', content: said[1] },
        ],
        valuesJson: '{"10":1,"2":"two","messages":"no transcript"}',
        usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      },
    );
    return turnId;
  };
  const endOf = async (s: Scenario, turnId: string, shows: string, more = {}): Promise<string> => {
    const { turns } = database.storage;
    const glance = await turns.glance(s.thread, turnId, longBytes);
    if (glance?.kind !== 'long') throw new Error('it is not long');
    expect(glance.turn.response.length).toBe(0);
    expect(glance.spoken).toMatchObject(traced(noText, said.join('')));
    let end = '';
    const known = traced(noText, shows);
    for await (const piece of longEnd({ turns, places: places(1) }, { ...glance, ...more }, known))
      end += piece;
    return end;
  };

  test('S4 P9 the pieces are the bytes of the JSON answer', async () => {
    const s = new Scenario(database.storage);
    const turnId = await longTurn(s);
    const whole = await database.storage.turns.get(s.thread, turnId);
    const done = `event: done\ndata: ${replyJson(whole!)}\n\n`;
    expect((await endOf(s, turnId, said.join(''))) === done).toBe(true);
    expect((await endOf(s, turnId, said.join(''), { spoken: null })) === done).toBe(true);
    const snapshot = `event: snapshot\ndata: ${JSON.stringify({ text: said.join('') })}\n\n`;
    expect((await endOf(s, turnId, said[0])) === snapshot + done).toBe(true);
    expect(JSON.parse(replyJson(whole!))).toMatchObject({
      response: said[1],
      output: { 10: 1, 2: 'two', messages: [{ id: 'm1' }, {}, {}, {}] },
      usage: { total_tokens: 3 },
    });
  });

  test('S4 a short turn is seen whole, and one of a deleted thread not at all', async () => {
    const s = new Scenario(database.storage);
    const short = await s.committed();
    const { turns, threads } = database.storage;
    expect(await turns.glance(s.thread, short.turnId, longBytes)).toEqual({
      kind: 'whole',
      turn: await turns.get(s.thread, short.turnId),
    });
    const turnId = await longTurn(s);
    await threads.delete(s.thread);
    expect(await turns.glance(s.thread, turnId, longBytes)).toMatchObject({
      kind: 'whole',
      turn: { status: 'aborted', response: '' },
    });
    const at = { from: 0, length: 10 };
    expect(await turns.piece(s.thread, turnId, 'response', at)).toBeUndefined();
    const stranger = { ...s.thread, tenant: 'other' };
    expect(await turns.glance(stranger, turnId, longBytes)).toBeUndefined();
  });
});
