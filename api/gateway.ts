import type { GatewayDeps } from './deps.js';
import type { Places } from './places.js';
import type { TurnWatch } from './wait.js';

/** What the routes work with: the deps, and what this process has one of. */
export interface Gateway extends GatewayDeps {
  /** Long replies are sent to few readers at once, so that readers who take nothing hold little in all. */
  readonly longReplies: Places;
  readonly watch: TurnWatch;
}
