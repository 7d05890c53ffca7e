/** The turns that run in this process, from claim to end, for the times that begin at their accept. */
import type { Claim, ClaimedTurn } from '../storage/port.js';
import type { Meters } from './meters.js';

interface Live {
  readonly graph: string;
  /** `performance.now()` of the accept, as the database's clock and ours together tell it. */
  readonly acceptedAtMs: number;
  spoke: boolean;
}

/** Far above what a worker runs at once: a run that ends without a word to storage is forgotten at last. */
const mostLive = 2_000;

export interface LiveTurns {
  claimed(turn: Pick<ClaimedTurn, 'claim' | 'graph' | 'waitedMs'>): void;
  /** The first token that is published is the one that counts. */
  spoke(turnId: string): void;
  graphOf(turnId: string): string;
  settled(claim: Pick<Claim, 'turnId'>, status: string): void;
  ended(turnId: string): void;
}

export function liveTurns(meters: Meters): LiveTurns {
  const live = new Map<string, Live>();
  const sinceAccept = ({ acceptedAtMs }: Live): number => (performance.now() - acceptedAtMs) / 1000;
  meters.liveTurns.set(0);
  const ended = (turnId: string): void => {
    live.delete(turnId);
    meters.liveTurns.set(live.size);
  };
  return {
    ended,
    claimed({ claim, graph: name, waitedMs }) {
      const graph = meters.graphLabel(name);
      if (live.size >= mostLive) live.delete([...live.keys()][0] ?? '');
      const acceptedAtMs = performance.now() - waitedMs;
      live.set(claim.turnId, { graph, acceptedAtMs, spoke: claim.fence > 1 });
      if (claim.fence === 1) meters.waitTime.observe({ graph }, waitedMs / 1000);
      meters.liveTurns.set(live.size);
    },
    spoke(turnId) {
      const turn = live.get(turnId);
      if (turn === undefined || turn.spoke) return;
      turn.spoke = true;
      meters.firstToken.observe({ graph: turn.graph }, sinceAccept(turn));
    },
    graphOf: (turnId) => live.get(turnId)?.graph ?? 'unknown',
    settled({ turnId }, status) {
      const turn = live.get(turnId);
      const graph = turn?.graph ?? 'unknown';
      meters.settled.inc({ graph, status });
      if (turn !== undefined) meters.turnTime.observe({ graph, status }, sinceAccept(turn));
      ended(turnId);
    },
  };
}
