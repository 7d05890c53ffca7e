/** A storage that counts what is asked of it. Outcomes and errors pass through as they are. */
import type {
  Accepted,
  ClaimStore,
  Flushed,
  Settled,
  Settlement,
  Storage,
  TurnStore,
} from '../storage/port.js';
import type { LiveTurns } from './live-turns.js';
import type { Meters } from './meters.js';

export const observedStorage = (storage: Storage, meters: Meters, live: LiveTurns): Storage => ({
  ...storage,
  turns: observedTurns(storage.turns, meters),
  claims: observedClaims(storage.claims, meters, live),
});

const observedTurns = (turns: TurnStore, meters: Meters): TurnStore => ({
  ...turns,
  async accept(input) {
    const accepted = await turns.accept(input);
    countAccept(meters, accepted);
    return accepted;
  },
  async cancel(thread, turnId) {
    const cancelled = await turns.cancel(thread, turnId);
    if (cancelled.kind === 'cancelled') countCancelled(meters, cancelled.turn.graph, 1);
    return cancelled;
  },
});

function countAccept(meters: Meters, accepted: Accepted): void {
  if (accepted.kind === 'attached') return;
  if (accepted.kind !== 'accepted') {
    meters.refused.inc({ reason: accepted.kind });
    return;
  }
  const { graph } = accepted.turn;
  meters.accepted.inc({ graph: meters.graphLabel(graph) });
  if (accepted.cancelled.length > 0) countCancelled(meters, graph, accepted.cancelled.length);
}

const countCancelled = (meters: Meters, graph: string, count: number): void =>
  meters.settled.inc({ graph: meters.graphLabel(graph), status: 'cancelled' }, count);

function observedClaims(claims: ClaimStore, meters: Meters, live: LiveTurns): ClaimStore {
  /** Whoever lost the turn has nothing more to say of it; who settled it has counted it. */
  const countEnd = (outcome: Settled | Flushed, turnId: string): void => {
    if (outcome.kind === 'settled') live.settled({ turnId }, outcome.status);
    else if (outcome.kind !== 'flushed') live.ended(turnId);
    if (outcome.kind === 'fence_lost') meters.fenceLost.inc();
  };
  return {
    ...claims,
    async claim(thread, holder, limits) {
      const claimed = await claims.claim(thread, holder, limits);
      const again = claimed.kind === 'claimed' && claimed.turn.claim.fence > 1;
      meters.claims.inc({ outcome: again ? 'claimed_again' : claimed.kind });
      if (claimed.kind === 'claimed') live.claimed(claimed.turn);
      if (claimed.kind === 'failed') live.settled(claimed.claim, 'failed');
      return claimed;
    },
    async flush(claim, rows) {
      const flushed = await claims.flush(claim, rows);
      if (flushed.kind === 'flushed') meters.flushes.inc();
      countEnd(flushed, claim.turnId);
      return flushed;
    },
    async settle(claim, settlement, rows) {
      const sinceMs = performance.now();
      const graph = live.graphOf(claim.turnId);
      const settled = await claims.settle(claim, settlement, rows);
      meters.commitTime.observe((performance.now() - sinceMs) / 1000);
      countEnd(settled, claim.turnId);
      if (settled.kind === 'settled') countModel(meters, graph, settlement);
      return settled;
    },
    async lookUp(claim) {
      const found = await claims.lookUp(claim);
      if (found.kind !== 'unsettled') countEnd(found, claim.turnId);
      return found;
    },
    async failTry(claim, failure, maxTries) {
      const graph = live.graphOf(claim.turnId);
      const outcome = await claims.failTry(claim, failure, maxTries);
      meters.triesFailed.inc({ graph });
      if (outcome.kind === 'retry') live.ended(claim.turnId);
      else countEnd(outcome, claim.turnId);
      return outcome;
    },
    async yield(claim) {
      const flushed = await claims.yield(claim);
      if (flushed.kind === 'flushed') meters.yields.inc();
      countEnd(flushed, claim.turnId);
      live.ended(claim.turnId);
      return flushed;
    },
  };
}

function countModel(meters: Meters, graph: string, settlement: Settlement): void {
  if (settlement.kind === 'failed') return;
  const { messages, usage } = settlement;
  meters.modelMessages.inc({ graph }, messages.filter(({ role }) => role === 'assistant').length);
  if (usage === undefined) return;
  meters.tokens.inc({ graph, direction: 'input' }, usage.input_tokens);
  meters.tokens.inc({ graph, direction: 'output' }, usage.output_tokens);
}
