/** Says that somebody has settled turns that others run or wait for. */
import type { MovedTurn } from '../storage/port.js';
import type { Gateway } from './gateway.js';

/** Here and at the worker: look at the row now, not at the next poll (P6). */
export function tellMoved({ relay }: Gateway, turns: readonly MovedTurn[]): void {
  relay.publish(
    turns.map(({ turnId, fence, step }) => ({
      ...{ turn: turnId, fence, step, seq: 0 },
      ...{ kind: 'wake', data: null },
    })),
  );
}
