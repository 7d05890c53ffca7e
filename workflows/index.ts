/** The entry of the workflow bundle. */
export { thread } from './thread.js';
