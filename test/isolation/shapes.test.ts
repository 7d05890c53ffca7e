import { agentShapes } from '../engine/shapes-agent.js';
import { flowShapes } from '../engine/shapes-flow.js';
import { nestedShapes } from '../engine/shapes-nested.js';
import { waitingShapes } from '../engine/shapes-waiting.js';
import { sameInThreads } from './isolated-shapes.js';

sameInThreads([...flowShapes, ...waitingShapes, ...nestedShapes, ...agentShapes]);
