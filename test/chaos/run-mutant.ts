/** Runs the nemesis against a mutant until it finds a violation of the invariants that the mutant breaks, at most a minute. */
import { buildMutant, type Mutant } from './mutants.js';
import type { Report } from './report.js';
import { chaosRun, type ChaosOptions } from './run.js';

const mostSeconds = 60;
/** A mutant may leave turns that nobody will ever settle: they are a finding, and not worth a long wait. */
const healLimitMs = 15_000;

export async function runMutant(
  mutant: Mutant,
  seed: number,
  say: (line: string) => void,
  storage: ChaosOptions['storage'] = 'postgres',
): Promise<Report> {
  const build = await buildMutant(mutant);
  try {
    return await chaosRun({
      ...{ seed, seconds: mostSeconds, storage, say },
      ...{ mix: mutant.mix, gapMs: mutant.gapMs, pace: mutant.pace },
      ...{ bin: build.bin, healLimitMs, untilOneOf: mutant.breaks },
    });
  } finally {
    await build.remove();
  }
}
