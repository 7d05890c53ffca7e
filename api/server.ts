/** Listening, and ending without cutting anybody off. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerBrokenRequests } from './broken-requests.js';

/** How long a request may take to arrive; its answer may take longer. */
export interface ArrivalLimits {
  /** Slow headers hold a connection at most this long. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How often it is looked. */
  readonly lookEveryMs: number;
}
const usualLimits: ArrivalLimits = { headersMs: 10_000, requestMs: 30_000, lookEveryMs: 5_000 };
/** Longer than the idle time of common balancers (60 s), so that they do not reuse a connection that just ended. */
const keepAliveMs = 65_000;
/** Open requests get this long to finish when the gateway closes; waiting turns go on without them. */
const drainMs = 8_000;

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The controller of `GatewayDeps.closing`. */
  readonly closing: AbortController;
  readonly limits?: ArrivalLimits;
}

export interface Listening {
  /** Where it can be reached, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Answers with another application from now on. */
  answerWith(app: RequestListener): void;
  /** Not ready any more; streams end, waiters are answered 202, requests finish; then everything is closed, at last by force. */
  close(): Promise<void>;
}

/** @throws Error that names the port when it is taken */
export async function listen(
  app: RequestListener,
  { limits = usualLimits, ...options }: ListenOptions,
): Promise<Listening> {
  let answer = app;
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: limits.lookEveryMs,
    requireHostHeader: false, // Node would refuse it without a problem; `limitHeaders` does with one
  });
  server.on('request', (req, res) => answer(req, res));
  // An expectation that nobody knows is no reason for a 417 without a problem.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
  answerBrokenRequests(server);
  const sockets = trackSockets(server);
  options.closing.signal.addEventListener('abort', sockets.endIdle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, options)));
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      const force = setTimeout(() => server.closeAllConnections(), drainMs);
      server.close(() => {
        clearTimeout(force);
        resolve();
      });
      options.closing.abort();
    });
  return {
    ...{ url: `http://${host}:${port}`, port },
    answerWith: (next) => void (answer = next),
    close: () => (closed ??= close()),
  };
}

/**
 * Tells early, before anything is started that takes long, what `listen` would tell at the end.
 * @throws Error that names the port when it is taken
 */
export async function checkPort(options: Pick<ListenOptions, 'host' | 'port'>): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, options)));
    server.listen(options.port, options.host, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}

/**
 * Ends connections without a request under way: those kept alive, and those that a browser opened ahead. Node counts the
 * latter as busy until `headersTimeout`.
 */
function trackSockets(server: Server): { readonly endIdle: () => void } {
  const requests = new Map<Socket, number>();
  let ending = false;
  const endIfIdle = (socket: Socket): void => {
    if (ending && requests.get(socket) === 0) socket.destroySoon();
  };
  server.on('connection', (socket) => {
    requests.set(socket, 0);
    socket.on('close', () => requests.delete(socket));
  });
  server.on('request', ({ socket }, res) => {
    requests.set(socket, (requests.get(socket) ?? 0) + 1);
    res.on('close', () => {
      const open = requests.get(socket);
      if (open !== undefined) requests.set(socket, open - 1);
      endIfIdle(socket);
    });
  });
  return {
    endIdle: () => {
      ending = true;
      for (const socket of requests.keys()) endIfIdle(socket);
    },
  };
}

function explained(
  error: NodeJS.ErrnoException,
  { host, port }: Pick<ListenOptions, 'host' | 'port'>,
): Error {
  const text = new Map([
    [
      'EADDRINUSE',
      `Port ${port} on ${host} is in use. Set PORT to another one, or to 0 for a free one.`,
    ],
    ['EACCES', `Port ${port} may not be opened by this user. Set PORT above 1023.`],
    ['EADDRNOTAVAIL', `${host} is no address of this machine. Check HOST.`],
    ['ENOTFOUND', `${host} is no address of this machine. Check HOST.`],
  ]).get(error.code ?? '');
  return text === undefined ? error : new Error(text, { cause: error });
}
