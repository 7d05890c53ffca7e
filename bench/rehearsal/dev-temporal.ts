/** The Temporal CLI's dev server on a host of its own, where the tests' one only listens on the loopback interface. */
import { setTimeout as pause } from 'node:timers/promises';
import { connectTemporal } from '../../temporal/connection.js';
import { startProc } from '../../test/support/processes.js';
import { testCli } from '../../test/support/temporal-server.js';
import type { Host } from './hosts.js';

const port = 7233;
const lookEveryMs = 100;

export async function startDevServerOn({
  inside,
  address,
}: Host): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const command = [await testCli(), 'server', 'start-dev', '--headless', '--log-level', 'error'];
  // Its parts look for each other on the loopback interface, whatever it is told to listen on.
  const listening = ['--ip', '0.0.0.0', '--port', String(port)];
  const proc = startProc([...inside, ...command, ...listening], {});
  const at = `${address}:${port}`;
  for (;;) {
    if (!proc.alive()) throw new Error(`the Temporal dev server ended: ${proc.log()}`);
    try {
      const settings = { address: at, namespace: 'default', security: {} };
      const connection = await connectTemporal(settings);
      await connection.close();
      return { address: at, stop: () => proc.end('SIGKILL') };
    } catch {
      await pause(lookEveryMs);
    }
  }
}
