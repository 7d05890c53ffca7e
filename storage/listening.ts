/** The column `stream`: bit 0 says that somebody listens, the others are the stream modes that are asked for. */
import { type ModeSet, noModes } from '../contracts/stream-modes.js';

export const listening = (stream: boolean, modes: ModeSet = noModes): number =>
  modes | (stream || modes !== noModes ? 1 : 0);

export const listenedTo = (
  column: number,
): { readonly stream: boolean; readonly modes: ModeSet } => ({
  stream: (column & 1) === 1,
  modes: column & ~1,
});
