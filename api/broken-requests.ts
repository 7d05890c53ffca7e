/**
 * What the HTTP parser refuses never becomes a request of express: garbled, too large, or not there in time. It is answered
 * here, by a problem as everything else is (A7), and nothing of it was done.
 */
import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { problemStatus, type ProblemCode } from '../contracts/failure.js';
import { Problem, problemBody } from './problem.js';

interface Asked {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

export function answerBrokenRequests(server: Server): void {
  const newest = new WeakMap<Duplex, Asked>();
  const refuse = (socket: Duplex, code: string | undefined): void => {
    const asked = newest.get(socket);
    if (!socket.writable || !mayAnswer(asked)) {
      socket.destroy();
      return;
    }
    // Whoever still sends is not waited for.
    socket.end(answerOf(problemOf(code)), () => socket.destroy());
  };
  server.on('request', (req, res) => newest.set(req.socket, { req, res }));
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if (code !== timedOut) {
      refuse(socket, code);
      return;
    }
    // A process that stood still looks at the clock before it reads what has long arrived: it is given time to read.
    const before = newest.get(socket);
    const waitsForBody = before?.req.complete === false;
    setImmediate(() => {
      const arrived = newest.get(socket) !== before || (waitsForBody && before.req.complete);
      if (!arrived) refuse(socket, code);
    });
  });
}

const timedOut = 'ERR_HTTP_REQUEST_TIMEOUT';

/**
 * Nothing is under way on the connection but what is broken: the request before it has been answered, or it is the broken
 * one, whose body no route has seen whole. To answer one that is under way would tell a lie about it.
 */
function mayAnswer(asked: Asked | undefined): boolean {
  if (asked === undefined) return true;
  const { req, res } = asked;
  return req.complete ? res.writableFinished : !res.headersSent && runsWithItsBody(req);
}

/** Other routes do not wait for a body. */
const runsWithItsBody = ({ method = '' }: IncomingMessage): boolean =>
  ['POST', 'PUT', 'PATCH'].includes(method);

const codes: Readonly<Record<string, readonly [ProblemCode, string]>> = {
  [timedOut]: [
    'request_timeout',
    'The request did not arrive in time, and nothing of it was done. Send it again.',
  ],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers are larger than this gateway takes.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too_large', 'The body is larger than this gateway takes.'],
};

function problemOf(code = ''): Problem {
  const [known, detail] = codes[code] ?? ['invalid_request', 'The request cannot be read.'];
  return new Problem(known, detail);
}

function answerOf(problem: Problem): string {
  const status = problemStatus[problem.code];
  const body = JSON.stringify(problemBody(problem));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
