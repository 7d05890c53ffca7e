/** Idempotency keys and what they stand for (P9). */
import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { keySchema } from '../contracts/http.schema.js';
import type { StorageKind, TurnInput } from '../storage/port.js';
import { canonicalJson } from '../storage/stored-json.js';
import { Problem } from './problem.js';
import { singleHeader } from './thread-id.js';

/** The request's key; the bare and the quoted form (a structured-field string) are the same key. */
export function idempotencyKey(req: Request, storage: StorageKind): string | undefined {
  const header = singleHeader(req, 'idempotency-key');
  if (header === undefined) return undefined;
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (!keySchema.safeParse(key).success) {
    throw new Problem('invalid_request', 'An Idempotency-Key is 1-128 visible ASCII characters.');
  }
  if (storage === 'memory') {
    throw new Problem(
      'idempotency_unsupported',
      'Memory storage forgets keys when the process ends, so it takes none.',
    );
  }
  return key;
}

/** What of a turn request counts as "the same request"; route, Accept and Prefer do not. */
export interface DigestedRequest {
  readonly input: TurnInput;
  readonly graph: string | undefined;
  readonly multitask: string;
  readonly ifVersion: number | undefined;
}

/** Over canonical JSON: order of keys and white space do not count. The prefix tells later forms of the digest apart. */
export const requestDigest = (request: DigestedRequest): string =>
  `1:${createHash('sha256').update(canonicalJson(request)).digest('hex')}`;
