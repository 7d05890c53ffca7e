import type { Relay } from '../../contracts/frames.js';

/** A relay that delivers nothing: the polls alone must do. */
export const silentRelay = (): Relay => ({
  publish: () => undefined,
  subscribe: () => () => undefined,
  onWake: () => () => undefined,
  hearable: () => Promise.resolve(),
  shown: () => undefined,
  close: () => Promise.resolve(),
});
