/** Which thread a request is about: header, body and path agree, or one is made. */
import { randomUUID } from 'node:crypto';
import type { Request } from 'express';
import { v5 as uuidV5 } from 'uuid';
import { threadIdSchema } from '../contracts/http.schema.js';
import type { Caller } from './deps.js';
import { Problem } from './problem.js';

/** Namespace of thread ids that follow from an idempotency key (P9). Fixed for ever: a retry finds its thread by it. */
const keyNamespace = '6f6b2f6a-52f0-4c43-9f5c-1d0a7f6f0c39';

export interface ThreadIdSources {
  readonly path?: string | undefined;
  readonly body?: string | undefined;
}

/** The thread id that the request names, if any. @throws Problem when one is malformed or two differ */
export function namedThreadId(req: Request, sources: ThreadIdSources): string | undefined {
  const header = singleHeader(req, 'x-thread-id');
  const named = [sources.path, header, sources.body].filter((id) => id !== undefined);
  for (const id of named) checkThreadId(id);
  if (named.some((id) => id !== named[0])) {
    throw new Problem(
      'thread_id_mismatch',
      'The thread ids in path, X-Thread-ID and body are not the same.',
    );
  }
  return named[0];
}

/** A new thread's id; with a key it follows from it, so that a retry finds its thread (P9). */
export function newThreadId({ tenant, auth }: Caller, key: string | undefined): string {
  if (key === undefined) return randomUUID();
  // Two callers of one key mean two threads.
  const owner = auth === undefined ? tenant : `${tenant}\n${auth.identity}`;
  return uuidV5(`${owner}\n${key}`, keyNamespace);
}

/** A header that may stand once. Node joins doubled ones with a comma, which would name yet another thread. */
export function singleHeader(req: Request, name: string): string | undefined {
  const values = req.headersDistinct[name];
  if (values !== undefined && values.length > 1) {
    throw new Problem('invalid_request', `${name} stands more than once.`);
  }
  return values?.[0];
}

function checkThreadId(id: string): void {
  if (!threadIdSchema.safeParse(id).success) {
    throw new Problem(
      'invalid_request',
      'A thread id is 1-128 characters of A-Z a-z 0-9 . _ : and -, but neither . nor .. alone.',
    );
  }
}
