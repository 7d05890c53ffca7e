/** A storage whose transactions of a turn are spans; what they find out about the turn is told to the span around them, too. */
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Span, Tracer } from '@opentelemetry/api';
import type { Claim, ClaimedTurn, ClaimStore, Storage, TurnStore } from '../storage/port.js';

export function tracedStorage(storage: Storage, tracer: Tracer): Storage {
  const spanned = spannedBy(tracer);
  return {
    ...storage,
    turns: tracedTurns(storage.turns, spanned),
    claims: tracedClaims(storage.claims, spanned),
  };
}

type Spanned = ReturnType<typeof spannedBy>;

/** @param told adds to the span what the outcome says */
const spannedBy =
  (tracer: Tracer) =>
  <T extends { readonly kind: string }>(
    name: string,
    work: () => Promise<T>,
    told: (outcome: T, span: Span) => void = () => undefined,
  ): Promise<T> =>
    tracer.startActiveSpan(name, { kind: SpanKind.CLIENT }, async (span) => {
      try {
        const outcome = await work();
        span.setAttribute('everthread.outcome', outcome.kind);
        told(outcome, span);
        return outcome;
      } catch (error) {
        // Its words may quote values.
        if (error instanceof Error) span.setAttribute('error.type', error.name);
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    });

const tracedTurns = (turns: TurnStore, spanned: Spanned): TurnStore => ({
  ...turns,
  accept: (input) => {
    const request = trace.getActiveSpan();
    return spanned(
      'accept',
      () => turns.accept(input),
      (accepted, span) => {
        if (accepted.kind !== 'accepted' && accepted.kind !== 'attached') return;
        const { thread, turnId, epoch, seq, graph } = accepted.turn;
        const attributes = turnAttributes({ thread, turnId, epoch, seq, graph });
        span.setAttributes(attributes);
        request?.setAttributes(attributes);
      },
    );
  },
});

const tracedClaims = (claims: ClaimStore, spanned: Spanned): ClaimStore => ({
  ...claims,
  claim: (thread, holder, limits) => {
    const activity = trace.getActiveSpan();
    activity?.setAttribute('everthread.attempt', holder.attempt);
    return spanned(
      'claim',
      () => claims.claim(thread, holder, limits),
      (claimed, span) => {
        if (claimed.kind !== 'claimed') return;
        const attributes = claimAttributes(claimed.turn);
        span.setAttributes(attributes);
        activity?.setAttributes(attributes);
      },
    );
  },
  flush: (claim, rows) => spanned('flush', () => claims.flush(claim, rows)),
  settle: (claim, settlement, rows) =>
    spanned(
      settlement.kind === 'failed' ? 'settle failed' : 'commit',
      () => claims.settle(claim, settlement, rows),
      (settled, span) => {
        if (settled.kind === 'settled') span.setAttributes(settledAttributes(settled, claim));
      },
    ),
  failTry: (claim, failure, maxTries) =>
    spanned(
      'count a failed try',
      () => claims.failTry(claim, failure, maxTries),
      (_, span) => span.setAttribute('everthread.failure', failure.code),
    ),
  yield: (claim) => spanned('yield', () => claims.yield(claim)),
});

const turnAttributes = ({
  thread,
  turnId,
  epoch,
  seq,
  graph,
}: Omit<Claim, 'fence'> & { readonly graph: string }): Attributes => ({
  'everthread.tenant': thread.tenant,
  'everthread.thread_id': thread.threadId,
  'everthread.turn_id': turnId,
  'everthread.epoch': epoch,
  'everthread.seq': seq,
  'everthread.graph': graph,
});

const claimAttributes = ({ claim, graph, step }: ClaimedTurn): Attributes => ({
  ...turnAttributes({ ...claim, graph }),
  'everthread.fence': claim.fence,
  'everthread.finished_steps': step,
});

const settledAttributes = (
  { status, version }: { readonly status: string; readonly version: number },
  { turnId }: Claim,
): Attributes => ({
  'everthread.turn_id': turnId,
  'everthread.status': status,
  'everthread.version': version,
});
