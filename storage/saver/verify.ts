/** Verify mode: what is stored by reference must serialise as it did when it was stored. It costs O(history) per put. */
import { packElement, type Serde } from './pack.js';

export interface Verified {
  readonly bytes: readonly Promise<Uint8Array>[];
  /** Rejects when an element of the shared prefix has changed and its fingerprint has not. */
  readonly checked: Promise<void>;
}

export function verifiedList(
  serde: Serde,
  elements: readonly unknown[],
  shared: number,
  before: Verified | undefined,
): Verified {
  const bytes = elements.map((element) => packElement(serde, element));
  return { bytes, checked: check(bytes, shared, before?.bytes ?? []) };
}

async function check(
  now: readonly Promise<Uint8Array>[],
  shared: number,
  before: readonly Promise<Uint8Array>[],
): Promise<void> {
  const [all, old] = await Promise.all([Promise.all(now), Promise.all(before.slice(0, shared))]);
  for (const [i, b] of old.entries()) {
    const a = all[i];
    if (a === undefined || Buffer.compare(a, b) !== 0) {
      throw new Error(`element ${i} was edited in place and its fingerprint has not noticed`);
    }
  }
}
