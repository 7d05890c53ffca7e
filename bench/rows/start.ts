/** From the command to a gateway that is ready: new data folder, cached Temporal CLI, built checkout. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../temporal/ports.js';
import { until } from '../../test/support/until.js';
import { median } from '../load.js';
import { quietEnv } from '../product.js';
import type { Stage } from '../stage.js';
import { ms } from '../table.js';
import type { Table } from '../table.js';

const commands = [
  ['npm start', 'npm', ['start', '--silent']],
  ['node bin/everthread.js dev', process.execPath, ['bin/everthread.js', 'dev']],
] as const;

export async function startTables(stage: Stage): Promise<readonly Table[]> {
  const rows: string[][] = [];
  for (const [name, command, args] of commands) {
    stage.say(name);
    const times: number[] = [];
    for (let n = 0; n < (stage.quick ? 1 : 5); n += 1)
      times.push(await startTime(stage, command, args));
    rows.push([name, ms(median(times)), ms(Math.max(...times)), '<= 3 s']);
  }
  return [
    {
      title: 'From the command to ready (cached CLI, new data folder)',
      columns: ['', 'median', 'worst', 'budget'],
      rows,
    },
  ];
}

async function startTime(stage: Stage, command: string, args: readonly string[]): Promise<number> {
  const port = await freePort();
  const env = {
    ...process.env,
    ...quietEnv,
    PORT: String(port),
    EVERTHREAD_DATA: stage.folder('start'),
    EVERTHREAD_TEMPORAL_PORT: '0',
    EVERTHREAD_TEMPORAL_UI_PORT: '0',
  };
  const started = performance.now();
  // A group of its own: npm does not hand a signal on to what it runs in every version.
  const child = spawn(command, args, { env, detached: true, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    await exited;
  };
  stage.parts.add(child, end);
  await until(`${command} to be ready`, async () => {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    return answer?.ok === true ? true : undefined;
  });
  const took = performance.now() - started;
  await end();
  return took;
}
