/**
 * The files that take longest run first, so that the end of a run is not one slow file beside idle processors. jest's own
 * order knows that from earlier runs alone, and a fresh clone has none.
 */
import TestSequencer from '@jest/test-sequencer';
import { existsSync } from 'node:fs';
import path from 'node:path';

/** By the seconds that they take, longest first; below half a minute the order makes no difference. */
const slowest = [
  'faults/frozen',
  'chaos/slice',
  'e2e/dialogues',
  'faults/deploys',
  'engine/shapes-composed',
  'faults/disk',
  'e2e/crash-sqlite',
  'e2e/fields',
  'e2e/crash-acts',
  'e2e/crash-postgres',
  'faults/versions',
  'e2e/state-edits',
  'faults/postgres',
  'faults/temporal',
  'chaos/faults',
  'replay/replay',
  'faults/long-life',
  'e2e/memory',
  'e2e/cancel',
  'temporal/dev-server',
  'faults/silence',
  'e2e/crash',
  'isolation/isolated',
  'isolation/shapes',
  'operator/erasure',
  'engine/shapes',
].map((name) => path.resolve(import.meta.dirname, '..', `${name}.test.ts`));

for (const file of slowest)
  if (!existsSync(file)) throw new Error(`${file} is gone: take it out of slowest-first.mjs`);

export default class SlowestFirst extends TestSequencer {
  sort(tests) {
    const rank = ({ path: file }) => (slowest.includes(file) ? slowest.indexOf(file) : Infinity);
    // Sorting is stable: those of no rank keep jest's order.
    return super
      .sort([...tests])
      .sort((one, other) => (rank(one) === rank(other) ? 0 : rank(one) - rank(other)));
  }
}
