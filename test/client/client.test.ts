/** The client against a gateway that is a script: what it does when connections and gateways fail. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { createClient, GatewayProblem, textAfter, type SeenEvent } from '../../client/client.js';
import {
  sendJson,
  sendProblem,
  sse,
  startTinyGateway,
  type Answer,
  type TinyGateway,
} from '../cli/tiny-gateway.js';

let gateway: TinyGateway;
const begin = async (answers: Record<string, Answer>) => {
  gateway = await startTinyGateway(answers);
  return createClient(gateway.url);
};
afterEach(() => gateway.close());

async function all(events: AsyncGenerator<SeenEvent>): Promise<{ text: string; names: string[] }> {
  let text = '';
  const names: string[] = [];
  for await (const event of events) {
    text = textAfter(text, event);
    names.push(event.event);
  }
  return { text, names };
}

/** One answer after the other; the last one for ever. */
const inTurn = (...answers: Answer[]): Answer => {
  let next = 0;
  return (asked, response) => answers[Math.min(next++, answers.length - 1)]?.(asked, response);
};

describe('a client that streams a turn', () => {
  test('S2 a cut stream goes on by turn and event id, and asks for the same modes', async () => {
    const client = await begin({
      'POST /turns': (_, response) => {
        const stream = sse(response);
        stream.token('one ', 't-1.1.1');
        stream.cut();
      },
      'GET /turns/t-1/stream': (_, response) => {
        const stream = sse(response);
        stream.send('updates|child:1', { a: 1 });
        stream.send('snapshot', { text: 'one two ' });
        stream.token('three', 't-1.1.3');
        stream.done('one two three');
      },
    });
    const turn = { message: 'hi', stream_mode: ['updates' as const], stream_subgraphs: true };
    const { text, names } = await all(client.stream('x', turn));
    expect(text).toBe('one two three');
    expect(names).toContain('updates|child:1');
    const join = gateway.asked.at(-1);
    expect(join?.headers['last-event-id']).toBe('t-1.1.1');
    expect(join?.path).toContain('?stream_mode=updates&stream_subgraphs=true');
  });

  test('A2 what says nothing of the turn is tried again under the same key: a proxy, an overloaded gateway', async () => {
    const client = await begin({
      'POST /turns': inTurn(
        (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
        (_, response) => response.writeHead(408).end(),
        (_, response) => sendProblem(response, 503, 'unavailable', 'Not now.'),
        (_, response) => sse(response).done('at last'),
      ),
    });
    expect((await client.post('x', { message: 'hi' })).response).toBe('at last');
    const keys = gateway.asked.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  });

  test('a refusal and a failed turn are problems with their code', async () => {
    const failed = { type: 'about:blank', title: 'x', status: 502, code: 'turn_failed' };
    const client = await begin({
      'POST /turns': inTurn(
        (_, response) => sendProblem(response, 409, 'resume_stale', 'Too late.'),
        (_, response) => {
          sse(response).send('error', failed);
          response.end();
        },
      ),
    });
    const codeOf = async (): Promise<unknown> =>
      client
        .resume('x', 'yes')
        .catch((e: unknown) => e instanceof GatewayProblem && e.problem.code);
    expect(await codeOf()).toBe('resume_stale');
    expect(await codeOf()).toBe('turn_failed');
  });

  test('a turn that is answered 202 is joined', async () => {
    const client = await begin({
      'POST /turns': (_, response) =>
        sendJson(response, 202, {
          thread_id: 'x',
          turn_id: 't-1',
          seq: 1,
          epoch: 1,
          status: 'pending',
        }),
      'GET /turns/t-1/stream': (_, response) => sse(response).done('later'),
    });
    expect((await client.post('x', { message: 'hi' })).response).toBe('later');
  });

  test('S4 aborting stops following, and asks for nothing more', async () => {
    const client = await begin({ 'POST /turns': (_, response) => sse(response).token('one ') });
    const leave = new AbortController();
    for await (const event of client.stream('x', { message: 'hi' }, { signal: leave.signal }))
      if (event.event === 'token') leave.abort();
    expect(gateway.asked).toHaveLength(1);
  });
});
