import { sameAsPlain } from './same-as-plain.js';
import { flowShapes } from './shapes-flow.js';
import { waitingShapes } from './shapes-waiting.js';

sameAsPlain([...flowShapes, ...waitingShapes]);
