import { setTimeout as pause } from 'node:timers/promises';
import { startDevServer } from './dev-server.js';
import type { DevServer } from './dev-server.js';
import type { DevServerSettings } from './settings.js';

/** What a kept server tells: why it ended, and when it answers again or could not be started. */
export interface KeeperEvents {
  readonly onEnd?: (reason: string) => void;
  readonly onRestart?: (pid: number) => void;
  readonly onFailure?: (error: unknown) => void;
}

/** A server that dies at once every time must not keep a machine busy. */
const restartAfterMs = 1_000;

/**
 * A dev server that is started again on the same ports when it dies, so that connections to it heal by themselves.
 * Its threads survive in the database file; without one, turns are signalled again by the sweeper.
 */
export async function keepDevServer(
  settings: Omit<DevServerSettings, 'onExit'>,
  events: KeeperEvents = {},
): Promise<DevServer> {
  const stopping = new AbortController();
  let restarting: Promise<void> | undefined;
  let current = await startDevServer({ ...settings, onExit: ended });
  const first = current;
  const samePorts = {
    port: portOf(first.address),
    uiPort: first.uiUrl === undefined ? 0 : portOf(new URL(first.uiUrl).host),
  };

  function ended(reason: string): void {
    events.onEnd?.(reason);
    restarting = restart();
  }

  async function restart(): Promise<void> {
    while (await waited(stopping.signal)) {
      try {
        current = await startDevServer({ ...settings, ...samePorts, onExit: ended });
        events.onRestart?.(current.pid);
        return;
      } catch (error) {
        events.onFailure?.(error);
      }
    }
  }

  return {
    ...first,
    get pid() {
      return current.pid;
    },
    stop: async () => {
      stopping.abort();
      await restarting;
      await current.stop();
    },
  };
}

/** @returns false if we are stopping */
const waited = (signal: AbortSignal): Promise<boolean> =>
  pause(restartAfterMs, true, { signal }).catch(() => false);

const portOf = (hostAndPort: string): number => Number(hostAndPort.split(':').at(-1));
