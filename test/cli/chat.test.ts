import { afterEach, describe, expect, test } from '@jest/globals';
import { freePort } from '../../temporal/ports.js';
import { runCli } from './run-cli.js';
import type { RunOptions } from './run-cli.js';
import { sendJson, sendProblem, sse, startTinyGateway } from './tiny-gateway.js';
import type { Answer, TinyGateway } from './tiny-gateway.js';

let gateway: TinyGateway | undefined;
afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function chatWith(
  answers: Record<string, Answer>,
  args: readonly string[],
  options: RunOptions = {},
) {
  gateway = await startTinyGateway(answers);
  const ran = await runCli(['chat', '--url', gateway.url, ...args], options);
  return { ...ran, gateway };
}

const messageOf = (body: unknown): string => (body as { message: string }).message;
/** Says back what was said, in two tokens. */
const echo: Answer = ({ body }, response) => {
  const stream = sse(response);
  stream.token('you said: ', 't-1.1.1');
  stream.token(messageOf(body), 't-1.1.2');
  stream.done(`you said: ${messageOf(body)}`);
};

describe('one message', () => {
  test('the reply is all of standard output, and the thread is told beside it', async () => {
    const ran = await chatWith({ 'POST /turns': echo }, ['hello', 'there']);
    expect(ran).toMatchObject({ code: 0, stdout: 'you said: hello there\n' });
    expect(ran.stderr).toMatch(/thread [0-9a-f-]{36}/);
    expect(ran.gateway.turns).toEqual([{ message: 'hello there' }]);
  });

  test('A10 a project with auth is told who asks, by every request', async () => {
    const env = { EVERTHREAD_AUTHORIZATION: 'Bearer of tests' };
    const { gateway: asked } = await chatWith({ 'POST /turns': echo }, ['hi'], { env });
    const told = asked.asked.map(({ headers }) => headers.authorization);
    expect(new Set(told)).toEqual(new Set([env.EVERTHREAD_AUTHORIZATION]));
    const wrong = { env: { EVERTHREAD_AUTHORIZATION: 'two\nlines' } };
    const refused = await chatWith({ 'POST /turns': echo }, ['hi'], wrong);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('no header') });
  });

  test('--thread and --graph name where it goes', async () => {
    const ran = await chatWith({ 'POST /turns': echo }, ['--thread', 'a:1', '--graph', 'g', 'hi']);
    expect(ran.gateway.asked.at(-1)?.path).toBe('/v1/threads/a%3A1/turns');
    expect(ran.gateway.turns).toEqual([{ message: 'hi', graph: 'g' }]);
  });

  test('without a gateway it says what to do', async () => {
    const port = await freePort();
    const { code, stderr } = await runCli(['chat', 'hi'], { env: { PORT: `${port}` } });
    expect(code).toBe(1);
    expect(stderr).toContain(`http://127.0.0.1:${port}`);
    expect(stderr).toContain('Is `npm start` running?');
  });

  test('a refusal is told with its code', async () => {
    const refuse: Answer = (_, response) =>
      sendProblem(response, 409, 'graph_mismatch', 'The thread is bound to another graph.');
    const { code, stderr, stdout } = await chatWith({ 'POST /turns': refuse }, ['hi']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('The thread is bound to another graph. (graph_mismatch)');
    // No such thread was made.
    expect(stderr).not.toMatch(/thread [0-9a-f-]{36}/);
  });

  test('a turn that fails in the stream is told with its code', async () => {
    const fail: Answer = (_, response) => {
      const stream = sse(response);
      stream.token('half');
      stream.send('error', {
        title: 'failed',
        status: 502,
        code: 'turn_failed',
        detail: 'No key.',
      });
      response.end();
    };
    const { code, stderr, stdout } = await chatWith({ 'POST /turns': fail }, ['hi']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('No key. (turn_failed)');
  });

  test('the committed reply counts, whatever tokens came', async () => {
    const drafty: Answer = (_, response) => {
      const stream = sse(response);
      stream.token('a draft of a lost worker');
      stream.send('reset', {});
      stream.send('snapshot', { text: '' });
      stream.token('the re');
      stream.done('the reply');
    };
    expect(await chatWith({ 'POST /turns': drafty }, ['hi'])).toMatchObject({
      code: 0,
      stdout: 'the reply\n',
    });
  });

  test('control characters of a reply do not reach the terminal', async () => {
    const hostile: Answer = (_, response) => sse(response).done('a\u001b[2Jb\rc');
    const { stdout } = await chatWith({ 'POST /turns': hostile }, ['hi']);
    expect(stdout).toBe('a\ufffd[2Jb\ufffdc\n');
  });

  test('--json prints the events as they are', async () => {
    const { stdout } = await chatWith({ 'POST /turns': echo }, ['--json', 'hi']);
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event: string }).event);
    expect(events).toEqual(['accepted', 'token', 'token', 'done']);
  });
});

describe('broken connections', () => {
  test('a stream that breaks is taken up where it was, with the id of the last event', async () => {
    const { code, stdout, gateway } = await chatWith(
      {
        'POST /turns': (_, response) => {
          const stream = sse(response, 't-9');
          stream.token('one ', 't-9.1.1');
          stream.cut();
        },
        'GET /turns/t-9/stream': (_, response) => {
          const stream = sse(response, 't-9');
          stream.token('two', 't-9.1.2');
          stream.done('one two');
        },
      },
      ['hi'],
    );
    expect([code, stdout]).toEqual([0, 'one two\n']);
    expect(gateway.turns).toHaveLength(1);
    expect(gateway.asked.at(-1)?.headers['last-event-id']).toBe('t-9.1.1');
  });

  test('a turn whose acceptance got lost is sent again under the same key', async () => {
    let tries = 0;
    const { stdout, gateway } = await chatWith(
      {
        'POST /turns': (asked, response) => {
          if (++tries === 1) response.destroy();
          else echo(asked, response);
        },
      },
      ['hi'],
    );
    expect(stdout).toBe('you said: hi\n');
    const keys = gateway.asked
      .filter((a) => a.method === 'POST')
      .map((a) => a.headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  test('a storage that takes no keys gets the turn without one', async () => {
    const { stdout, gateway } = await chatWith(
      {
        'POST /turns': (asked, response) => {
          if (asked.headers['idempotency-key'] === undefined) echo(asked, response);
          else sendProblem(response, 409, 'idempotency_unsupported', 'No keys in memory.');
        },
      },
      ['hi'],
    );
    expect(stdout).toBe('you said: hi\n');
    expect(gateway.turns).toHaveLength(2);
  });

  test('a turn without a key is not sent again when its acceptance got lost', async () => {
    const { code, stderr, gateway } = await chatWith(
      {
        'POST /turns': (asked, response) => {
          if (asked.headers['idempotency-key'] === undefined) response.destroy();
          else sendProblem(response, 409, 'idempotency_unsupported', 'No keys in memory.');
        },
      },
      ['hi'],
    );
    expect(code).toBe(1);
    expect(stderr).toContain('Look at the thread before you send it again.');
    expect(gateway.turns).toHaveLength(2);
  });

  test('something that is no gateway is told, not tried again', async () => {
    const { code, stderr, gateway } = await chatWith(
      {
        'POST /turns': (_, response) => {
          response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
        },
      },
      ['hi'],
    );
    expect(code).toBe(1);
    expect(stderr).toContain('does not speak as a gateway does');
    expect(gateway.turns).toHaveLength(1);
  });

  test('a turn that is only accepted (202) is followed until it is done', async () => {
    const { stdout } = await chatWith(
      {
        'POST /turns': (_, response) =>
          sendJson(response, 202, { thread_id: 'x', turn_id: 't-5', status: 'pending' }),
        'GET /turns/t-5/stream': (_, response) => sse(response, 't-5').done('at last'),
      },
      ['hi'],
    );
    expect(stdout).toBe('at last\n');
  });
});

describe('lines from a pipe', () => {
  test('each line is a turn of one thread, in order', async () => {
    const { code, stdout, gateway } = await chatWith({ 'POST /turns': echo }, [], {
      input: 'one\n\ntwo\nthree',
    });
    expect([code, stdout]).toEqual([0, 'you said: one\nyou said: two\nyou said: three\n']);
    const posts = gateway.asked.filter((a) => a.method === 'POST');
    expect(new Set(posts.map((a) => a.path)).size).toBe(1);
  });

  test('a failed turn does not keep the next from running, and shows in the exit code', async () => {
    const { code, stdout } = await chatWith(
      {
        'POST /turns': (asked, response) => {
          if (messageOf(asked.body) === 'bad') sendProblem(response, 502, 'turn_failed', 'No.');
          else echo(asked, response);
        },
      },
      [],
      { input: 'bad\ngood\n' },
    );
    expect([code, stdout]).toEqual([1, 'you said: good\n']);
  });

  test('Ctrl-C in a reply leaves the turn running and says how to come back', async () => {
    const { code, stderr, gateway } = await chatWith(
      {
        'POST /turns': (_, response) => {
          sse(response).token('thinking');
        },
      },
      ['--json'],
      {
        input: 'hi\nnever sent\n',
        onStdout: (text, signal) => {
          if (text.includes('thinking')) signal('SIGINT');
        },
      },
    );
    expect(code).toBe(130);
    expect(stderr).toMatch(
      /The turn goes on by itself\. To come back: npx everthread chat --url \S+ --thread/,
    );
    expect(gateway.turns).toHaveLength(1);
    expect(gateway.asked.some((a) => a.path.endsWith('/cancel'))).toBe(false);
  });
});

describe('questions', () => {
  const asking =
    (interrupts: readonly object[]): Answer =>
    ({ body }, response) => {
      const stream = sse(response);
      if ('message' in (body as object)) stream.done('', { status: 'interrupted', interrupts });
      else stream.done(`resumed with ${JSON.stringify((body as { resume: unknown }).resume)}`);
    };
  const ask = (interrupts: readonly object[], input: string) =>
    chatWith({ 'POST /turns': asking(interrupts) }, [], { input });

  test('the next line answers, as JSON when it is JSON', async () => {
    const one = [{ id: 'i1', value: 'Send the mail?' }];
    const { stdout, stderr } = await ask(one, 'write a mail\ntrue\n');
    expect(stderr).toContain('? Send the mail?');
    expect(stdout).toBe('resumed with true\n');
    await gateway?.close();
    expect((await ask(one, 'write a mail\nyes, do\n')).stdout).toBe('resumed with "yes, do"\n');
  });

  test('several questions are asked one after the other and answered by their ids', async () => {
    const { stdout, gateway } = await ask(
      [
        { id: 'i1', value: 'Name?' },
        { id: 'i2', value: { field: 'age' } },
      ],
      'fill in\nAnna\n42\n',
    );
    expect(stdout).toBe('resumed with {"i1":"Anna","i2":42}\n');
    expect(gateway.turns).toHaveLength(2);
  });

  test('a breakpoint goes on at an empty line, with null', async () => {
    const { stdout } = await ask([], 'go\n\n');
    expect(stdout).toBe('resumed with null\n');
  });

  test('a thread that is asking when one comes back gets its answer', async () => {
    const { stdout, stderr, gateway } = await chatWith(
      {
        'GET /messages': (_, response) => sendJson(response, 200, { messages: [] }),
        'GET ': (_, response) =>
          sendJson(response, 200, {
            version: 1,
            status: 'interrupted',
            interrupts: [{ id: 'i1', value: 'Still want it?' }],
          }),
        'POST /turns': asking([]),
      },
      ['--thread', 't'],
      { input: '"ja"\n' },
    );
    expect(stderr).toContain('? Still want it?');
    expect(stdout).toBe('resumed with "ja"\n');
    expect(gateway.turns).toEqual([{ resume: 'ja' }]);
  });
});
