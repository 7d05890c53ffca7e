import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { setTimeout as pause } from 'node:timers/promises';
import { grpcCode, grpcCodeOf, isTemporalUnavailable, TemporalConnectionError } from './errors.js';
import type { TemporalSettings } from './settings.js';

/**
 * One connection to Temporal for a process: a worker runs on it, and the client rides on it too (10 % less CPU per
 * turn than a second one of grpc-js). It heals by itself when the server comes back.
 */
export interface TemporalConnection {
  readonly client: Client;
  readonly native: NativeConnection;
  readonly namespace: string;
  /** Closes the connection. Workers on it must have ended. */
  close(): Promise<void>;
}

/** A TCP, TLS and gRPC handshake takes well under a second; an address that swallows packets never answers. */
const connectLimitMs = 10_000;

/**
 * Connects once and asks for the namespace.
 * @throws {TemporalConnectionError} saying what to check
 */
export async function connectTemporal(settings: TemporalSettings): Promise<TemporalConnection> {
  const { namespace, interceptors = {} } = settings;
  const connecting = connectNative(settings);
  try {
    const native = await connecting;
    await within(connectLimitMs, native.workflowService.describeNamespace({ namespace }));
    const client = new Client({ connection: native, namespace, interceptors });
    return { client, native, namespace, close: () => native.close() };
  } catch (error) {
    // A server that refuses us must not leave a connection behind.
    void connecting.then((refused) => refused.close()).catch(() => undefined);
    throw connectionError(settings, error);
  }
}

/** Connects once and asks for nothing: the namespace need not be there. Rejects with the SDK's error, or after the limit. */
export async function connectNative({
  address,
  security,
}: Pick<TemporalSettings, 'address' | 'security'>): Promise<NativeConnection> {
  const connecting = NativeConnection.connect({ address, ...security });
  try {
    return await within(connectLimitMs, connecting);
  } catch (error) {
    // Nor must a handshake that is late.
    void connecting.then((late) => late.close()).catch(() => undefined);
    throw error;
  }
}

/** Between two tries to reach a server that is down: soon enough for a person who starts it by hand. */
const retryMs = 1_000;

/**
 * Connects, for as long as the server is merely not there; a server that refuses us is an error at once.
 * @param onWaiting told the reason of each failed try
 * @param limitMs after it the last reason is thrown; no limit unless given
 */
export async function connectTemporalPatiently(
  settings: TemporalSettings,
  {
    signal,
    onWaiting,
    limitMs = Infinity,
  }: { signal?: AbortSignal; onWaiting?: (reason: Error) => void; limitMs?: number },
): Promise<TemporalConnection> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    try {
      return await connectTemporal(settings);
    } catch (error) {
      if (!(error instanceof TemporalConnectionError) || !error.unavailable) throw error;
      if (Date.now() >= deadline) throw error;
      onWaiting?.(error);
    }
    await pause(retryMs, undefined, { ...(signal === undefined ? {} : { signal }) });
  }
}

/**
 * Temporal for a process that starts and answers whether or not the server is there (the gateway). Connects at
 * the first call that can.
 */
export interface TemporalLink {
  readonly namespace: string;
  /**
   * Runs calls of the client. Rejects after the limit with an error for which `isTemporalUnavailable` holds; the
   * call may then still reach the server, so it must be harmless to repeat (a wake is).
   */
  call<T>(run: (client: Client) => Promise<T>, limitMs?: number): Promise<T>;
  /** Ends the link; later calls fail. */
  close(): Promise<void>;
}

/** A caller waits for its answer meanwhile; the sweeper sends a lost wake again. */
const callLimitMs = 3_000;

/** @param connected a connection that is there already; it stays the caller's to close */
export function openTemporal(
  settings: TemporalSettings,
  connected?: TemporalConnection,
): TemporalLink {
  let connecting: Promise<TemporalConnection> | undefined;
  let closed = false;
  const connect = (): Promise<TemporalConnection> => {
    if (connected !== undefined) return Promise.resolve(connected);
    if (closed) return Promise.reject(new Error('The Temporal link is closed.'));
    connecting ??= connectTemporal(settings).catch((error: unknown) => {
      connecting = undefined; // the next call tries again
      throw error;
    });
    return connecting;
  };
  return {
    namespace: settings.namespace,
    call: (run, limitMs = callLimitMs) =>
      within(
        limitMs,
        connect().then(({ client }) => run(client)),
      ),
    close: async () => {
      closed = true;
      const last = await connecting?.catch(() => undefined);
      await last?.close();
    },
  };
}

/**
 * Ends the wait, not the call. The SDK's own deadline counts anew for each of its retries on this connection: a call
 * with one second took six.
 */
async function within<T>(limitMs: number, call: Promise<T>): Promise<T> {
  call.catch(() => undefined); // it may fail after we have gone
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new TemporalConnectionError(`Temporal did not answer within ${limitMs / 1000} s.`, {
            cause: undefined,
            unavailable: true,
          }),
        ),
      limitMs,
    );
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

function connectionError({ address, namespace }: TemporalSettings, error: unknown): Error {
  const fail = (message: string, unavailable: boolean): TemporalConnectionError =>
    new TemporalConnectionError(message, { cause: error, unavailable });
  const code = grpcCodeOf(error);
  if (code === grpcCode.notFound)
    return fail(
      `The Temporal server at ${address} has no namespace "${namespace}". Create it, or set TEMPORAL_NAMESPACE.`,
      false,
    );
  if (code === grpcCode.unauthenticated || code === grpcCode.permissionDenied)
    return fail(
      `The Temporal server at ${address} refuses us for namespace "${namespace}". ` +
        'Check TEMPORAL_API_KEY, TEMPORAL_TLS_* and TEMPORAL_NAMESPACE.',
      false,
    );
  const reason = error instanceof Error ? error.message : String(error);
  return fail(
    `No Temporal server answers at ${address}: ${reason} ` +
      'Check that it runs, TEMPORAL_ADDRESS (host:port), and TEMPORAL_TLS if the server expects TLS.',
    // A server that begins listens before it has all its services, and says of them that they are unknown.
    isTemporalUnavailable(error) || code === grpcCode.unimplemented,
  );
}
