import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** Serves something trivial in a process of its own; `start` and `onReady` are the code of those functions. */
async function served(start: string, onReady: string, env: Record<string, string> = {}) {
  const script = `
    import { serve } from ${JSON.stringify(path.resolve('dist/cli/serve.js'))};
    const code = await serve({
      command: 'dev',
      start: async (context) => { ${start} },
      onReady: () => { console.log('ready'); ${onReady} },
    });
    process.exit(code);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

const interrupt = "process.kill(process.pid, 'SIGINT');";
/** Something that keeps the process up until it is stopped. */
const running =
  "const timer = setInterval(() => undefined, 1000); return { stop: async () => { clearInterval(timer); console.log('stopped'); } };";

test('a signal stops what was started, and the process ends with 0', async () => {
  const { code, text } = await served(running, interrupt);
  expect(code).toBe(0);
  expect(text).toMatch(/ready[^]*Stopping[^]*stopped/);
});

/** A start during which the signal comes. */
const interrupted = `const alive = setInterval(() => undefined, 1000);
  ${interrupt}
  await new Promise((resolve) => context.stopAsked.addEventListener('abort', resolve));
  clearInterval(alive);`;

test('a signal during the start lets it come to its end, then stops it, without a word of being ready', async () => {
  const { code, text } = await served(`${interrupted} ${running}`, '');
  expect(code).toBe(0);
  expect(text).toContain('stopped');
  expect(text).not.toContain('ready');
});

test('a start that ends because a stop was asked for is no failure', async () => {
  const { code, text } = await served(`${interrupted} throw new Error('given up');`, '');
  expect(code).toBe(0);
  expect(text).not.toContain('given up');
});

test('a part that breaks stops the rest and fails the process', async () => {
  const broken = "broken: Promise.reject(new Error('Temporal ended.')),";
  const start = running.replace('return {', `return { ${broken}`);
  const { code, text } = await served(start, '');
  expect(code).not.toBe(0);
  expect(text).toMatch(/a part of the process broke[^]*stopped[^]*Temporal ended\./);
});

test('a promise that nobody awaited is logged without its words and ends nothing', async () => {
  const { code, text } = await served(
    running,
    `void Promise.reject(new Error('my illness')); setTimeout(() => { ${interrupt} }, 50);`,
  );
  expect(code).toBe(0);
  expect(text).toContain('nobody awaited this');
  expect(text).not.toContain('my illness');
});

test('a variable that is nearly one of ours is warned of', async () => {
  const { text } = await served(running, interrupt, { EVERTHREAD_STORGE: 'postgres' });
  expect(text).toMatch(/EVERTHREAD_STORGE/);
});
