import type { GatewayDeps } from './deps.js';
import type { TurnWatch } from './wait.js';

/** What the routes work with: the deps, and the one watch of this process. */
export interface Gateway extends GatewayDeps {
  readonly watch: TurnWatch;
}
