import { setTimeout as pause } from 'node:timers/promises';
import { accepts } from './ports.js';

/** A server of ours on the loopback interface. */
export interface LocalServer {
  readonly port: number;
  readonly namespace: string;
}

/** Between two looks at a starting server: it takes 0.4 s to start. */
const pollMs = 25;

/** One question to a healthy local server takes milliseconds, on a machine that is overrun seconds. */
const questionLimitMs = 5_000;

/**
 * Resolves when the server answers for its namespace.
 * @param failure tells why waiting is pointless, or `undefined` to go on
 */
export async function untilAnswering(
  server: LocalServer,
  limitMs: number,
  failure: () => string | undefined,
): Promise<{ kind: 'answering' } | { kind: 'failed'; reason: string }> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const reason = failure();
    if (reason !== undefined) return { kind: 'failed', reason };
    if (await isAnswering(server)) return { kind: 'answering' };
    if (Date.now() > deadline)
      return { kind: 'failed', reason: `not ready within ${limitMs / 1000} s` };
    await pause(pollMs);
  }
}

/** The port is asked first: a gRPC channel that is refused once waits a second before it tries again. */
export async function isAnswering({ port, namespace }: LocalServer): Promise<boolean> {
  if (!(await accepts(port))) return false;
  // Loaded here: the SDK takes most of a second of CPU, which a starting server need not wait for.
  const { Connection } = await import('@temporalio/client');
  const connection = Connection.lazy({ address: `127.0.0.1:${port}`, channelArgs: noProxy });
  try {
    await connection.withDeadline(Date.now() + questionLimitMs, async () => {
      await connection.workflowService.describeNamespace({ namespace });
    });
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

/** grpc-js sends even loopback calls through `http_proxy`. */
const noProxy = { 'grpc.enable_http_proxy': 0 };
