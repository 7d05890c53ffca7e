/** Counts the model calls of runs as they end: those of attempts that fail, too. */
import type { ListenToRuns } from '../contracts/run-event.js';
import type { Meters } from './meters.js';

export const observedRuns =
  (meters: Meters): ListenToRuns =>
  ({ graph: name }) => {
    const graph = meters.graphLabel(name);
    /** When each call that is open began. */
    const open = new Map<string, number>();
    return (event) => {
      switch (event.kind) {
        case 'began':
          if (event.part.what === 'model') open.set(event.id, event.atMs);
          return;
        case 'ended': {
          const sinceMs = open.get(event.id);
          if (sinceMs === undefined) return;
          open.delete(event.id);
          const outcome = event.error === undefined ? 'answered' : 'failed';
          meters.modelCallTime.observe({ graph, outcome }, (event.atMs - sinceMs) / 1000);
        }
      }
    };
  };
