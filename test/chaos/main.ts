/** `npm run chaos`: a nemesis against the real product. Ends by itself; exit code 1 when an invariant is violated. */
import { Command, Option } from 'commander';
import { mutants, type Mutant } from './mutants.js';
import { shownReport, storeHistory, type Report } from './report.js';
import { chaosRun } from './run.js';
import { runMutant } from './run-mutant.js';

interface Flags {
  readonly minutes: string;
  readonly seed: string;
  readonly storage: 'postgres' | 'sqlite';
  readonly mutant?: string;
  readonly mutants?: boolean;
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const command = new Command('npm run chaos --')
  .description(
    'Kills, freezes and cuts a real Everthread while clients talk to it, then checks the invariants of DESIGN 6.',
  )
  .option('--minutes <number>', 'how long faults go on', '1')
  .option('--seed <number>', 'decides the plan of faults and every choice of the clients', '1')
  .addOption(
    new Option('--storage <kind>', 'postgres: 2 gateways, 3 workers; sqlite: everthread dev')
      .choices(['postgres', 'sqlite'])
      .default('postgres'),
  )
  .addOption(
    new Option('--mutant <name>', 'run against a build with one defence cut out').choices(
      mutants.map(({ name }) => name),
    ),
  )
  .option('--mutants', 'run against each of these builds: every one must be caught');

// Ending by a signal takes the processes along: they are killed at exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/** Fewer turns than this mean that the run has proved nothing. */
const floorPerSecond = 0.5;

async function nemesis({ minutes, seed, storage }: Flags): Promise<boolean> {
  const seconds = Number(minutes) * 60;
  say(`seed ${seed} on ${storage}`);
  const report = await chaosRun({ seed: Number(seed), seconds, storage, say });
  say(shownReport(report));
  if (report.violations.length > 0) say(`history    ${storeHistory(report)}`);
  const floor = seconds * floorPerSecond;
  if (report.committed < floor)
    say(`too little was done to prove anything: ${floor} turns are expected`);
  return report.violations.length === 0 && report.committed >= floor;
}

/** The harness is right when it complains. */
async function controls(chosen: readonly Mutant[], seed: string): Promise<boolean> {
  const missed: string[] = [];
  for (const mutant of chosen) {
    say(`mutant ${mutant.name}: without ${mutant.cuts}`);
    const report = await runMutant(mutant, Number(seed), say);
    const after = report.detectedAfterSeconds;
    if (after === undefined) missed.push(mutant.name);
    else say(`caught after ${after.toFixed(0)} s by ${caughtBy(mutant, report)}`);
    say(shownReport(report));
  }
  if (missed.length > 0) say(`NOT caught: ${missed.join(', ')}`);
  return missed.length === 0;
}

const caughtBy = ({ breaks }: Mutant, { violations }: Report): string =>
  breaks.filter((kind) => violations.some((found) => found.kind === kind)).join(', ');

const flags = command.parse().opts<Flags>();
const chosen = mutants.filter(({ name }) => flags.mutants === true || name === flags.mutant);
const right = chosen.length > 0 ? await controls(chosen, flags.seed) : await nemesis(flags);
process.exitCode = right ? 0 : 1;
