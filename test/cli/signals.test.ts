import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** A process that listens for a stop and never ends by itself; prints `late` when a signal counts as a second wish. */
const script = `
  import { listenForStop } from ${JSON.stringify(path.resolve('dist/cli/signals.js'))};
  const asked = listenForStop((text) => console.log(text));
  asked.addEventListener('abort', () => setTimeout(() => console.log('late'), 1100));
  setInterval(() => undefined, 1000);
  console.log('ready');
`;

function start() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  let text = '';
  let check = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    check();
  });
  return {
    child,
    shown: (word: string) =>
      new Promise<string>((resolve) => {
        check = () => {
          if (text.includes(word)) resolve(text);
        };
        check();
      }),
  };
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s asks once for a stop; a later one ends at once with %i', async (signal, code) => {
  const { child, shown } = start();
  await shown('ready');
  child.kill(signal);
  await shown('Stopping');
  child.kill(signal); // npm passes on what the terminal sent to the whole group already
  expect(await shown('late')).not.toContain('at once; what');
  child.kill(signal);
  expect(await once(child, 'close')).toEqual([code, null]);
});
