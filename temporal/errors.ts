import { isGrpcServiceError } from '@temporalio/client';

/** A Temporal server that is not there, or that refuses us; the message names its address and what to check. */
export class TemporalConnectionError extends Error {
  override readonly name = 'TemporalConnectionError';
  /** True: not there, trying again may help. False: there and refusing, a person must act. */
  readonly unavailable: boolean;

  constructor(message: string, options: { cause: unknown; unavailable: boolean }) {
    super(message, { cause: options.cause });
    this.unavailable = options.unavailable;
  }
}

/** The codes of gRPC that we tell apart. */
export const grpcCode = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/**
 * Whether the call failed because of the server's or the network's state, so that the same call may work later.
 * A connection that breaks within a call comes as `unknown`, `internal` or `cancelled`.
 */
export function isTemporalUnavailable(error: unknown): boolean {
  return causes(error).some(
    (cause) =>
      (cause instanceof TemporalConnectionError && cause.unavailable) ||
      cause.name === transportError ||
      (isGrpcServiceError(cause) && passing.has(cause.code)) ||
      networkCodes.has(String((cause as { code?: unknown }).code)),
  );
}

/** Whether a start was refused because the namespace does not know (yet) one of its search attributes. */
export const isSearchAttributeUnknown = (error: unknown): boolean =>
  causes(error).some(
    (cause) =>
      grpcCodeOf(cause) === grpcCode.invalidArgument && /search attribute/i.test(cause.message),
  );

/** The gRPC status of an error of the SDK, which wraps the original one. */
export function grpcCodeOf(error: unknown): number | undefined {
  return causes(error).find(isGrpcServiceError)?.code;
}

/** The native connection's failed handshake; its class is not meant to be imported. */
const transportError = 'TransportError';

const passing: ReadonlySet<number> = new Set([
  grpcCode.cancelled,
  grpcCode.unknown,
  grpcCode.deadlineExceeded,
  grpcCode.resourceExhausted,
  grpcCode.aborted,
  grpcCode.internal,
  grpcCode.unavailable,
]);

const networkCodes = new Set(
  'ECONNREFUSED ECONNRESET ENOTFOUND EAI_AGAIN ETIMEDOUT EPIPE EHOSTUNREACH ENETUNREACH'.split(' '),
);

/** An error and the errors that caused it, outermost first. */
function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}
