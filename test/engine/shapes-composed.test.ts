import { agentShapes } from './shapes-agent.js';
import { nestedShapes } from './shapes-nested.js';
import { sameAsPlain } from './same-as-plain.js';

sameAsPlain([...nestedShapes, ...agentShapes]);
