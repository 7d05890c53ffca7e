/** What went wrong, as `application/problem+json` (RFC 9457). Codes and ids only: never a stack, never what the client sent. */
import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { problemStatus, type ProblemCode } from '../contracts/failure.js';
import type { Problem as ProblemBody } from '../contracts/http.schema.js';
import { CommitUnknown, StorageFull, StorageUnavailable } from '../storage/port.js';

export type ProblemExtra = Pick<
  ProblemBody,
  'thread_id' | 'turn_id' | 'failure' | 'version' | 'not_ready' | 'errors'
>;

/** A refusal on its way to the client. Has no `status` of its own: middleware overwrites that field of errors. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly extra: ProblemExtra;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    extra: ProblemExtra = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.code = code;
    this.extra = extra;
    this.headers = headers;
  }
}

/** The body of a problem, the same in a response and in an SSE `error` event. */
export const problemBody = ({ code, message, extra }: Problem): ProblemBody => ({
  type: `urn:everthread:problem:${code}`,
  title: titles[code] ?? STATUS_CODES[problemStatus[code]] ?? code,
  status: problemStatus[code],
  code,
  detail: message,
  ...extra,
});

const titles: Partial<Record<ProblemCode, string>> = {
  invalid_request: 'The request is not valid',
  thread_id_mismatch: 'Thread ids differ',
  unauthorized: 'Who asks is not known',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  idempotency_key_reused: 'The key belongs to another request',
  idempotency_unsupported: 'Idempotency keys need a database',
  turn_in_progress: 'A turn is in progress',
  graph_mismatch: 'The thread has another graph',
  user_mismatch: 'The thread is another user’s',
  resume_stale: 'Nothing to resume',
  base_changed: 'The thread has moved on',
  invalid_field: 'The value does not fit its field',
  unknown_field: 'No such field',
  invalid_input: 'The graph does not take this input',
  unknown_node: 'No such node',
  invalid_update: 'The graph does not take these values',
  thread_interrupted: 'The thread waits for an answer',
  turn_cancelled: 'The turn was cancelled',
  turn_settled: 'The turn is over',
  thread_exists: 'The thread exists',
  thread_deleted: 'The thread was deleted',
  turn_failed: 'The turn failed',
};

export function sendProblem(res: Response, problem: Problem): void {
  res
    .status(problemStatus[problem.code])
    .set(problem.headers)
    .type('application/problem+json')
    .send(JSON.stringify(problemBody(problem)));
}

/** Makes a problem of anything thrown. What nobody expected is logged by name and says nothing to the client. */
export function toProblem(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StorageFull) {
    log.error(error.message);
    return unavailable(error.message);
  }
  // An unknown COMMIT that its caller cannot look up is asked for again: cancel, delete and create may be repeated.
  if (error instanceof StorageUnavailable || error instanceof CommitUnknown)
    return unavailable('The database does not answer.');
  const known = ofMiddleware(error);
  if (known !== undefined) return known;
  log.error({ err: error }, 'unexpected error');
  return new Problem('internal', 'Something went wrong here. The log has the details.');
}

/** Retry-After: outages that a retry heals are over in about a second. */
export const unavailable = (detail: string, extra: ProblemExtra = {}): Problem =>
  new Problem('unavailable', detail, extra, { 'Retry-After': '1' });

/** Errors of express and its body parser carry a status; their texts quote the input and are not passed on. */
function ofMiddleware(error: unknown): Problem | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  const { status } = error;
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  if (status === 413) {
    const most = 'limit' in error ? `the ${String(error.limit)} bytes that` : 'what';
    return new Problem('too_large', `The body is larger than ${most} this gateway takes.`);
  }
  if (status === 415) {
    return new Problem('unsupported_media_type', 'Send UTF-8 JSON, plain or gzip, deflate or br.');
  }
  return new Problem('invalid_request', 'The request cannot be read.');
}

/** The one place where errors become answers. */
export const problemHandler =
  (log: Logger): ErrorRequestHandler =>
  (error: unknown, _req, res, _next) => {
    const problem = toProblem(error, log);
    // A stream says its errors itself; here only the connection is left to end.
    if (res.headersSent) res.destroy();
    else sendProblem(res, problem);
  };
