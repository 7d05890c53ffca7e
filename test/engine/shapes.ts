/** The graph shapes that run under our saver as they do under LangGraph's own. */
import type { Shape } from './shape.js';
import { agentShapes } from './shapes-agent.js';
import { flowShapes } from './shapes-flow.js';
import { nestedShapes } from './shapes-nested.js';
import { waitingShapes } from './shapes-waiting.js';

export const shapes: readonly Shape[] = [
  ...flowShapes,
  ...waitingShapes,
  ...nestedShapes,
  ...agentShapes,
];
