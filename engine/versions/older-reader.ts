/** A thread is opened by the LangGraph that wrote it or by a newer one: an older one may not know the format. */
import { numbersOf } from './traits.js';

/** The thread was written by a newer LangGraph than this worker's project has; another worker may have it. */
export class NewerThread extends Error {
  override readonly name = 'NewerThread';
}

/** @throws NewerThread, which says both versions */
export function refuseNewer(writer: string | null, reader: string): void {
  if (writer === null || !isNewer(writer, reader)) return;
  throw new NewerThread(
    `The thread was written with LangGraph ${writer} and this worker's project has ${reader}: install ${writer} or later.`,
  );
}

function isNewer(writer: string, reader: string): boolean {
  const [major = 0, minor = 0] = numbersOf(writer);
  const [readerMajor = Infinity, readerMinor = Infinity] = numbersOf(reader);
  return major > readerMajor || (major === readerMajor && minor > readerMinor);
}
