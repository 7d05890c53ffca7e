import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { applyEdit, mutants } from './mutants.js';
import { runMutant } from './run-mutant.js';
import { shownReport, storeHistory } from './report.js';
import { chaosRun, type ChaosOptions } from './run.js';

/** Starting five processes, and healing, take what they take on a slow machine; this only ends a run that hangs. */
const limitMs = 600_000;
/** Fewer turns prove nothing. A slow machine spends most of a slice on starting processes again. */
const floor = 8;

async function clean(options: Pick<ChaosOptions, 'seed' | 'seconds' | 'storage'>): Promise<void> {
  const said: string[] = [];
  const report = await chaosRun({ ...options, say: (line) => said.push(line) });
  if (report.violations.length > 0) {
    const file = storeHistory(report);
    throw new Error([...said, shownReport(report), `history: ${file}`].join('\n'));
  }
  expect(report.committed).toBeGreaterThanOrEqual(floor);
}

describe('a slice of the nemesis (npm run chaos)', () => {
  test(
    '40 s of faults on 2 gateways and 3 workers with PostgreSQL, seed 7: no invariant of DESIGN 6 is violated',
    () => clean({ seed: 7, seconds: 40, storage: 'postgres' }),
    limitMs,
  );

  test(
    '20 s of faults on everthread dev with SQLite, seed 7: no invariant of DESIGN 6 is violated',
    () => clean({ seed: 7, seconds: 20, storage: 'sqlite' }),
    limitMs,
  );
});

describe('negative controls', () => {
  test.each(mutants)('the mutant $name still fits its source', ({ edits }) => {
    for (const edit of edits) applyEdit(readFileSync(edit.file, 'utf8'), edit);
  });

  test(
    'P9 a build that does not look keys up is caught',
    async () => {
      const key = mutants.find(({ name }) => name === 'key');
      // No fault is needed for it, and so one process is enough.
      const report = await runMutant(key!, 7, () => undefined, 'sqlite');
      expect(report.violations.map(({ kind }) => kind)).toContain('turn-twice');
    },
    limitMs,
  );
});
