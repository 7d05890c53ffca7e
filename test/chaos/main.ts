/** `npm run chaos`: a nemesis against the real product. Ends by itself; exit code 1 when an invariant is violated. */
import { Command, Option } from 'commander';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shownReport, type Report } from './report.js';
import { chaosRun } from './run.js';

interface Flags {
  readonly minutes: string;
  readonly seed: string;
  readonly storage: 'postgres' | 'sqlite';
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const flags = new Command('chaos')
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
  .parse()
  .opts<Flags>();

/** Fewer turns than this mean that the run has proved nothing. */
const floorPerSecond = 0.5;

// Ending by a signal takes the processes along: they are killed at exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

say(`seed ${flags.seed} on ${flags.storage}`);
const seconds = Number(flags.minutes) * 60;
const report = await chaosRun({ seed: Number(flags.seed), seconds, storage: flags.storage, say });
say(shownReport(report));
if (report.violations.length > 0) {
  say(`history    ${store(report)}`);
  process.exitCode = 1;
}
if (report.committed < seconds * floorPerSecond) {
  say(
    `too little was done to prove anything: at least ${seconds * floorPerSecond} turns are expected`,
  );
  process.exitCode = 1;
}

function store({ history, ...rest }: Report): string {
  const file = path.join(tmpdir(), `everthread-chaos-${rest.storage}-${rest.seed}.json`);
  writeFileSync(file, JSON.stringify({ ...rest, history }));
  return file;
}
