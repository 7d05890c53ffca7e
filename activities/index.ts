/** The activities of a worker, made from what they need. Workflows import their type only (contracts/protocol.ts). */
import type { ThreadActivities } from '../contracts/protocol.js';
import { createRunTurn } from './run-turn.js';
import type { RunTurnDeps } from './run-turn.js';

export const createActivities = (deps: RunTurnDeps): ThreadActivities => ({
  runTurn: createRunTurn(deps),
});
