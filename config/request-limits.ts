/** How much a gateway takes of one request, and of one thread. */
import type { SettingReader } from './problems.js';
import * as shape from './shapes.js';

export interface RequestLimits {
  /** Longest body, unpacked. */
  readonly bodyBytes: number;
  /** Longest message, in UTF-16 units. */
  readonly messageChars: number;
  /** Most unsettled turns of one thread. */
  readonly maxPending: number;
}

export const usualRequestLimits: RequestLimits = {
  bodyBytes: 1 << 20,
  messageChars: 100_000, // about a 60-page text
  maxPending: 100,
};
/** A body is in memory several times at once (bytes, text, values, canonical JSON), and anybody may send one. */
const mostBodyBytes = 16 << 20;
/** Below it not even a short message with its fields fits. */
const leastBodyBytes = 1 << 10;
/** A cancel of all that waits writes to each of them in one transaction. */
const mostPendingTurns = 10_000;

export function resolveRequestLimits(reader: SettingReader): RequestLimits {
  const bodyBytes = reader.read(
    'EVERTHREAD_MAX_BODY_BYTES',
    shape.count(leastBodyBytes, mostBodyBytes),
    usualRequestLimits.bodyBytes,
  );
  const messageChars = reader.read(
    'EVERTHREAD_MAX_MESSAGE_CHARS',
    shape.count(1, mostBodyBytes),
    Math.min(usualRequestLimits.messageChars, bodyBytes),
  );
  if (messageChars > bodyBytes) {
    reader.refuse({
      variable: 'EVERTHREAD_MAX_MESSAGE_CHARS',
      wrong: `is ${messageChars}, and no body of EVERTHREAD_MAX_BODY_BYTES (${bodyBytes}) holds such a message`,
      allowed: 'at most EVERTHREAD_MAX_BODY_BYTES',
    });
  }
  const maxPending = reader.read(
    'EVERTHREAD_MAX_PENDING_TURNS',
    shape.count(1, mostPendingTurns),
    usualRequestLimits.maxPending,
  );
  return { bodyBytes, messageChars, maxPending };
}
