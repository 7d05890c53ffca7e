// Runs the projects of test/projects as their own folders say: installed from their own lockfiles, nothing added or changed.
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { turnsOf } from '../test/support/project-turns.mjs';
import { digestOf, playTurn, startIn, stateOf } from './project-product.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const projects = path.join(root, 'test', 'projects');
const cache = path.join(root, '.cache', 'projects');
const run = promisify(execFile);

/** A copy of the project with what its lockfile names; installed again only when that has changed. */
async function installed(name) {
  const folder = path.join(cache, name);
  const lock = await readFile(path.join(projects, name, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex');
  const stamp = path.join(cache, `${name}.sha256`);
  const fresh = (await readFile(stamp, 'utf8').catch(() => '')) === digest;
  if (!fresh) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const entry of await readdir(folder))
    if (entry !== 'node_modules') await rm(path.join(folder, entry), { recursive: true });
  await cp(path.join(projects, name), folder, { recursive: true });
  if (!fresh) {
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
    await writeFile(stamp, digest);
  }
  return folder;
}

/** The engine against plain LangGraph, without a crash and with one at each flush. */
async function engineOf(folder) {
  const child = path.join(root, 'test', 'support', 'project-engine.mjs');
  const args = [child, path.join(root, 'dist'), folder];
  const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 });
  const { graphs, failures, versions } = JSON.parse(stdout.trim().split('\n').at(-1));
  const problems = [...failures];
  let crashes = 0;
  for (const [graph, { plain, runs }] of Object.entries(graphs)) {
    for (const [crashAt, driven] of runs.entries()) {
      crashes += driven.crashes;
      if (isSame(driven.ends, plain)) continue;
      problems.push(`${graph}, death at flush ${crashAt}: ${differences(plain, driven.ends)}`);
    }
  }
  const plain = Object.fromEntries(Object.entries(graphs).map(([name, g]) => [name, g.plain]));
  return { versions, crashes, plain, problems };
}

/** Canonical: plain LangGraph's values are sorted by key, and an HTTP reply is too. */
const isSame = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  );
};

function differences(plain, ends) {
  const turn = plain.findIndex((end, i) => JSON.stringify(end) !== JSON.stringify(ends[i]));
  return `turn ${turn}\n    plain      ${JSON.stringify(plain[turn])}\n    everthread ${JSON.stringify(ends[turn])}`;
}

/** Every death costs a start, so of the shapes that are alike one is enough; --all takes them all. */
const killed = new Set(['fan', 'nest', 'ask', 'approve']);

/** The product against plain LangGraph, each graph on two threads: undisturbed, and under a kill -9 at each flush. */
async function productOf(folder, plainByGraph) {
  const before = await digestOf(folder);
  const problems = [];
  let deaths = 0;
  await served(folder, async (product) => {
    for (const [graph, plain] of Object.entries(plainByGraph)) {
      for (const dies of killed.has(graph) || all ? [false, true] : [false]) {
        const thread = `${graph}-${dies ? 'killed' : 'calm'}`;
        for (const [i, turn] of turnsOf(graph).entries()) {
          const played = await playTurn(product, thread, graph, turn, dies);
          deaths += played.deaths;
          const seen = shownState(await stateOf(product, thread), plain[i]);
          const wanted = { ...plain[i], values: JSON.parse(plain[i].values) };
          if (played.status === 200 && isSame(seen, wanted)) continue;
          problems.push(
            `${thread}, turn ${i}: ${played.status}\n    plain      ${JSON.stringify(wanted)}\n    everthread ${JSON.stringify(played.status === 200 ? seen : played.reply)}`,
          );
        }
      }
    }
  });
  if ((await digestOf(folder)) !== before) problems.push('the folder was changed');
  return { deaths, problems };
}

async function served(folder, use, data) {
  const own = data ?? (await mkdtemp(path.join(tmpdir(), 'everthread-project-')));
  const product = await startIn(folder, own);
  try {
    return await use(product);
  } finally {
    await product.stop();
    if (data === undefined) await rm(own, { recursive: true, force: true });
  }
}

/** Channels that the graph gives out, messages without their ids: what plain LangGraph was asked for too. */
function shownState({ values, next, interrupts }, plain) {
  const wanted = Object.keys(JSON.parse(plain.values));
  const bare = Object.fromEntries(wanted.map((name) => [name, withoutIds(values[name])]));
  return { values: bare, next, interrupts: interrupts.map(({ value }) => JSON.stringify(value)) };
}

const withoutIds = (value) =>
  Array.isArray(value) && value.every((one) => one?.role !== undefined)
    ? value.map((one) => ({ ...one, id: undefined }))
    : value;

/** A thread goes on under a newer LangGraph, and not back under an older one. */
async function upgradeOf(older, newer) {
  const data = await mkdtemp(path.join(tmpdir(), 'everthread-upgrade-'));
  const say = (product, text) =>
    playTurn(product, 'upgraded', 'chat', { kind: 'message', text }, false);
  try {
    const first = await served(older, (product) => say(product, 'one'), data);
    const second = await served(newer, (product) => say(product, 'two'), data);
    const third = await served(older, (product) => say(product, 'three'), data);
    const problems = [];
    if (first.status !== 200) problems.push(`written: ${JSON.stringify(first.reply)}`);
    if (second.reply.response !== 'echo: two')
      problems.push(`by a newer one: ${JSON.stringify(second.reply)}`);
    if (third.reply.failure !== 'graph_changed')
      problems.push(`back by an older one: ${JSON.stringify(third.reply)}`);
    console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} upgrade: ${third.reply.detail}`);
    return problems;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

const usage = `npm run projects [-- options name...]: the projects langgraph-* of test/projects, or those that are named
  --engine   the engine alone, without the product
  --all      kills the product under each graph, not only under ${[...killed].join(', ')}
  --upgrade  only takes a thread from one version to the next`;
if (process.argv.includes('--help')) {
  console.log(usage);
  process.exit(0);
}
const asked = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const all = process.argv.includes('--all');
const upgradeOnly = process.argv.includes('--upgrade');
const engineOnly = process.argv.includes('--engine');
const names = (await readdir(projects, { withFileTypes: true }))
  .filter(
    (entry) =>
      entry.isDirectory() &&
      /^langgraph-/.test(entry.name) &&
      (asked.length === 0 || asked.includes(entry.name)),
  )
  .map(({ name }) => name);
execFileSync(process.execPath, [path.join(root, 'scripts', 'build.mjs'), '--quiet'], {
  stdio: 'inherit',
});
let failed = 0;
for (const name of upgradeOnly ? [] : names) {
  try {
    const folder = await installed(name);
    const engine = await engineOf(folder);
    const product = engineOnly
      ? { deaths: 0, problems: [] }
      : await productOf(folder, engine.plain);
    const problems = [...engine.problems, ...product.problems];
    console.log(
      `${problems.length === 0 ? 'ok  ' : 'FAIL'} ${name}: LangGraph ${engine.versions.langgraph}, ${Object.keys(engine.plain).length} graphs, ${engine.crashes} deaths in the engine, ${product.deaths} by kill -9`,
    );
    for (const problem of problems) console.log(`  ${problem}`);
    failed += problems.length;
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error.stderr ?? error.stack}`);
  }
}
const pair = ['langgraph-0.2.74', 'langgraph-newest'];
if (!engineOnly && pair.every((name) => names.includes(name))) {
  const problems = await upgradeOf(await installed(pair[0]), await installed(pair[1]));
  for (const problem of problems) console.log(`  ${problem}`);
  failed += problems.length;
}
process.exit(failed === 0 ? 0 : 1);
