/** Negative controls: the product with one defence cut out. A harness that stays silent about one of them is worth nothing. */
import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Pace } from './clients.js';
import type { Mix } from './plan.js';

export interface Edit {
  readonly file: string;
  /** Occurs exactly once: a mutant that no longer fits its source is an error, not a pass. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  /** What is cut, and which other defence had to go with it because it covers the hole. */
  readonly cuts: string;
  readonly edits: readonly Edit[];
  /** Kinds of violations that say so. Others may come first: an error that covers the hole, or what follows from it. */
  readonly breaks: readonly string[];
  /** The faults and the pace that meet the hole soon. */
  readonly mix: Mix;
  readonly gapMs: readonly [number, number];
  readonly pace: Pace;
}

const quick: Pace = { thinkMs: [0, 60], modelMs: [0, 120] };

export const mutants: readonly Mutant[] = [
  {
    name: 'fence',
    cuts: 'the check of fence and status (the status alone still keeps a second commit out)',
    edits: [
      {
        file: 'storage/settle-turn.ts',
        find: "fence = $5 AND status = 'running'`;",
        replace: '$5 >= 0`;',
      },
    ],
    breaks: ['settled-again', 'fence-fell'],
    mix: { 'worker-pause': 1 },
    gapMs: [200, 600],
    pace: { thinkMs: [0, 100], modelMs: [100, 900] },
  },
  {
    name: 'lock',
    cuts: 'the lock of the thread row',
    edits: [
      {
        file: 'storage/thread-row.ts',
        find: "threadRow(thread, ' {for update}');",
        replace: "threadRow(thread, '');",
      },
    ],
    breaks: ['settled-seq', 'settled-again', 'version-density'],
    mix: {},
    gapMs: [200, 600],
    pace: quick,
  },
  {
    name: 'holder',
    cuts: 'the refusal of a claim by an attempt that a later one has followed',
    edits: [
      {
        file: 'storage/claim.ts',
        find: "if (heldByLater(turn, holder)) return { kind: 'refused' };",
        replace: '',
      },
    ],
    breaks: ['zombie-claim'],
    mix: { 'claim-pause': 1 },
    gapMs: [100, 300],
    pace: { thinkMs: [0, 100], modelMs: [3_000, 6_000] },
  },
  {
    name: 'key',
    cuts: 'the look-up of the idempotency key',
    edits: [
      {
        file: 'storage/accept.ts',
        find: 'const known = yield* findKey(input, input.key, base.epoch);',
        replace: 'const known: Accepted | undefined = undefined;',
      },
    ],
    breaks: ['turn-twice'],
    mix: {},
    gapMs: [200, 600],
    pace: quick,
  },
  {
    name: 'split',
    cuts: 'the one transaction of commit and checkpoint',
    edits: [
      {
        file: 'storage/storage-on.ts',
        find: 'return driver.write(() => settleTurn(claim, text, rows));',
        replace: `return driver.write(() => settleTurn(claim, text, null)).then(async (settled) => {
      if (rows !== null && settled.kind === 'settled') await driver.write(() => writeRows(claim, rows));
      return settled;
    });`,
      },
      {
        file: 'storage/storage-on.ts',
        find: "import { takeQuiet } from './sweep.js';",
        replace:
          "import { takeQuiet } from './sweep.js';\nimport { writeRows } from './saver-rows.js';",
      },
    ],
    breaks: ['stale-base', 'turn-order'],
    mix: { 'cut-before-commit': 2, 'cut-all': 1, 'worker-kill': 1 },
    gapMs: [100, 400],
    pace: quick,
  },
];

/** @throws Error when the text does not stand there exactly once */
export function applyEdit(source: string, { file, find, replace }: Edit): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(
      `"${find}" stands ${parts.length - 1} times in ${file}: the mutant must follow`,
    );
  }
  return parts.join(replace);
}

export interface MutantBuild {
  /** Its `bin/everthread.js`. */
  readonly bin: string;
  remove(): Promise<void>;
}

/** What a build needs beside the source folders; everything else at the top of the repo stays out. */
const files = ['package.json', 'package-lock.json', '.swcrc'];
const leftOut = new Set(['node_modules', 'test', 'bench', 'docs', 'coverage', 'web', 'ui']);

/** Copies the sources, cuts, and builds as the product is built. What is not cut is taken from dist/ as it is. */
export async function buildMutant({ edits }: Mutant): Promise<MutantBuild> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-mutant-'));
  for (const entry of await readdir('.', { withFileTypes: true })) {
    const source = entry.isDirectory() && !entry.name.startsWith('.') && !leftOut.has(entry.name);
    if (!source && !files.includes(entry.name)) continue;
    const target = path.join(folder, entry.name);
    await cp(entry.name, target, { recursive: true, preserveTimestamps: true });
  }
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  for (const edit of edits) {
    const file = path.join(folder, edit.file);
    await writeFile(file, applyEdit(await readFile(file, 'utf8'), edit));
  }
  execFileSync(process.execPath, [path.join(folder, 'scripts', 'build.mjs'), '--quiet'], {
    cwd: folder,
    stdio: 'inherit',
  });
  return {
    bin: path.join(folder, 'bin', 'everthread.js'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
