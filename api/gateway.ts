import type { GatewayDeps } from './deps.js';
import type { Places } from './places.js';
import type { TurnWatch } from './wait.js';

/** What the routes work with: the deps, and what this process has one of. */
export interface Gateway extends GatewayDeps {
  /** Pieces of long replies are read by few at once, so that what a burst of readers leaves behind is little. */
  readonly places: Places;
  readonly watch: TurnWatch;
}
