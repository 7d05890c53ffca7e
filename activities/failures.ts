/** What a node or model threw → what becomes of the turn. Only codes cross Temporal: a provider's words may quote a prompt. */
import { ApplicationFailure } from '@temporalio/common';
import type { Failure } from '../contracts/failure.js';
import { classifyProviderError } from '../llm/provider-errors.js';
import type { RetryableCode } from '../llm/provider-errors.js';
import { CommitUnknown, StorageUnavailable, Unstorable } from '../storage/port.js';

/** The database is away, or did not say whether it committed: no fault of a graph, and no try of its turn. */
export const isStorageAway = (error: unknown): error is StorageUnavailable | CommitUnknown =>
  error instanceof StorageUnavailable || error instanceof CommitUnknown;

/** What to do about a thrown error: settle at once, or count a try. */
export type Verdict =
  | { readonly kind: 'final'; readonly failure: Failure }
  | {
      readonly kind: 'again';
      readonly failure: Failure;
      readonly maxTries: number;
      readonly retryAfterMs?: number;
    };

/** A provider that is down for longer than five tries with growing pauses (about 30 s) is better reported than waited for. */
const maxModelTries = 6;
/** An error of the graph's own code is usually a bug; three tries cover what was bad luck. */
const maxUnknownTries = 3;

export function judge(error: unknown): Verdict {
  if (error instanceof Unstorable) return { kind: 'final', failure: unstorable };
  if (error instanceof Error && error.name === 'InvalidUpdateError')
    return { kind: 'final', failure: invalidUpdate };
  const stopped = agentStop(error);
  if (stopped !== undefined) return { kind: 'final', failure: stopped };
  if (error instanceof Error && error.name === 'NewerThread')
    return {
      kind: 'again',
      failure: { code: 'graph_changed', message: error.message },
      maxTries: maxUnknownTries,
    };
  const found = classifyProviderError(error, Date.now());
  switch (found.kind) {
    case 'final':
      return { kind: 'final', failure: { code: found.code, message: found.message } };
    case 'retryable':
      return {
        kind: 'again',
        failure: { code: found.code, message: gaveUp[found.code] },
        maxTries: maxModelTries,
        ...(found.retryAfterMs === undefined ? {} : { retryAfterMs: found.retryAfterMs }),
      };
    case 'unknown':
      return {
        kind: 'again',
        failure: { code: 'node_error', message: 'A node of the graph threw an error.' },
        maxTries: maxUnknownTries,
      };
  }
}

/** Longer than any sentence of the guards; a graph may throw errors of their form with words of its own. */
const stopChars = 300;

/** How the memory library stops an agent (M8, M14), told by shape: a graph brings its own copy, or ran in another thread. */
function agentStop(error: unknown): Failure | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const { name, code, message } = error;
  switch (name) {
    case 'GuardError':
      return isGuardCode(code) ? { code, message: message.slice(0, stopChars) } : undefined;
    case 'ContextTooSmallError':
      return { code: 'context_too_small', message: message.slice(0, stopChars) };
    case 'StateShapeError':
      return stateShape; // its words may quote the value
  }
  return undefined;
}

const guardCodes = ['loop_detected', 'max_steps', 'token_limit', 'cost_limit'] as const;
const isGuardCode = (code: unknown): code is (typeof guardCodes)[number] =>
  (guardCodes as readonly unknown[]).includes(code);

const stateShape: Failure = {
  code: 'state_shape',
  message:
    "A node returned, or the input held, a value that a channel of the graph's state refuses.",
};

/** No retry helps: the values themselves cannot be stored. */
export const unstorable: Failure = {
  code: 'unstorable',
  message: 'The database cannot store what the graph left.',
};

/** The same node would return the same again. */
const invalidUpdate: Failure = {
  code: 'node_error',
  message: "A node returned, or the input held, an update that the graph's state does not take.",
};

/** What a person reads when the tries are used up. */
const gaveUp: Record<RetryableCode, string> = {
  model_rate_limited: 'The model provider kept limiting the rate. Send the message again later.',
  model_unavailable: 'The model provider did not answer. Send the message again later.',
  model_garbage: 'The model provider kept answering what no client can read.',
};

/** Waiting between tries is Temporal's (DESIGN 15.4): half a second, doubling, at most half a minute. */
export const pauseMs = (tries: number): number => Math.min(500 * 2 ** (tries - 1), 30_000);

/** A try that failed: Temporal starts the next attempt after `delayMs`, here or on another worker. */
export const tryAgain = (code: string, delayMs?: number): ApplicationFailure =>
  ApplicationFailure.create({
    type: code,
    message: code,
    ...(delayMs === undefined ? {} : { nextRetryDelay: delayMs }),
  });

/** A higher fence exists: this attempt writes nothing more; Temporal decides whether another one is due (P4). */
export const staleFence = (): ApplicationFailure => tryAgain('StaleFence');

/** The workflow belongs to another database (P1): its run ends. */
export const foreignStore = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('This thread belongs to another database.', 'ForeignStore');
