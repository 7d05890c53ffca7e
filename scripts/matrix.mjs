// npm run matrix [-- --node 22 --node 24] [-- <what jest takes>]: the suite on each Node that is supported.
// Each version has a copy of the tree with a `node_modules` of its own, since native modules are built for one version.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const supported = ['20', '22', '24'];
const root = fileURLToPath(new URL('..', import.meta.url));
// Outside the checkout: jest and the linters would take the copies for parts of it.
const cacheHome = process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache');
const cache = path.join(cacheHome, 'everthread', 'matrix');

const usage = `npm run matrix -- [--node <major>] [test files and options for jest]: the suite on Node ${supported.join(', ')}

  --node     one of them (may be given again)

  npm run matrix -- --node 22 test/contract test/engine

Nodes come from the npm package "node". Copies, modules and logs stand in ${cache}.`;

/** Runs a command and keeps what it says in the log. @returns its exit code */
function run(command, args, { cwd, bin, log, headers }) {
  const PATH = `${bin}${path.delimiter}${process.env.PATH}`;
  const nodedir = headers && { npm_config_nodedir: headers };
  return new Promise((resolve, reject) => {
    const out = createWriteStream(log, { flags: 'a' });
    const child = spawn(command, args, { cwd, env: { ...process.env, PATH, ...nodedir } });
    child.stdout.pipe(out, { end: false });
    child.stderr.pipe(out, { end: false });
    child.once('error', reject);
    child.once('close', (code) => out.end(() => resolve(code ?? 1)));
  });
}

async function surely(command, args, options) {
  const code = await run(command, args, options);
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}; see ${options.log}`);
}

/** The newest Node of a major version, fetched once. @returns the folder of its binary */
async function nodeOf(major, log) {
  const folder = path.join(cache, `node-${major}`, 'node');
  const bin = path.join(folder, 'node_modules', 'node', 'bin');
  if (await exists(path.join(bin, 'node'))) return bin;
  await mkdir(folder, { recursive: true });
  // Its install script links the binary of this platform.
  const manifest = { private: true, allowScripts: { node: true } };
  await writeFile(path.join(folder, 'package.json'), JSON.stringify(manifest));
  const own = path.dirname(process.execPath);
  const args = ['install', '--no-audit', '--no-fund', `node@${major}`];
  await surely('npm', args, { cwd: folder, bin: own, log });
  return bin;
}

/** Native modules are built with the headers that come with this Node, not with those that npm's settings may name. */
async function headersOf(bin) {
  const own = path.dirname(bin);
  for (const folder of [path.join(own, 'node_modules'), path.dirname(own)])
    for (const name of await readdir(folder).catch(() => []))
      if (await exists(path.join(folder, name, 'include', 'node', 'node.h')))
        return path.join(folder, name);
  throw new Error(`The package "node" in ${own} has brought no headers.`);
}

const exists = (file) => stat(file).then(Boolean, () => false);

/** What git knows and what it would: the tree as it stands, without what is built or installed. */
async function filesOfTree() {
  const child = spawn('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root });
  let text = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) text += chunk;
  return text.split('\0').filter(Boolean);
}

const digestOf = async (file) =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

/** A copy of the tree, with modules installed by this Node when the lockfile or the Node has changed. */
async function treeFor(major, { bin, log }) {
  const folder = path.join(cache, `node-${major}`, 'tree');
  await mkdir(folder, { recursive: true });
  const kept = new Set(['node_modules', '.cache']);
  for (const entry of await readdir(folder))
    if (!kept.has(entry)) await rm(path.join(folder, entry), { recursive: true });
  for (const file of await filesOfTree()) {
    const source = path.join(root, file);
    // One that is deleted and not yet committed is still listed.
    if (!(await exists(source))) continue;
    await cp(source, path.join(folder, file), { recursive: true });
  }
  const stamp = path.join(cache, `node-${major}`, 'installed.json');
  const before = JSON.parse(await readFile(stamp, 'utf8').catch(() => '{}'));
  const now = {
    node: await digestOf(path.join(bin, 'node')),
    lock: await digestOf(path.join(root, 'package-lock.json')),
  };
  if (before.node !== now.node || before.lock !== now.lock) {
    // Under the same Node only what the lockfile has changed: a native module takes minutes to build.
    const command = before.node === now.node ? 'install' : 'ci';
    await rm(stamp, { force: true });
    const headers = await headersOf(bin);
    await surely('npm', [command, '--no-audit', '--no-fund'], { cwd: folder, bin, log, headers });
    await surely('node', ['-e', loadsNative], { cwd: folder, bin, log });
    await writeFile(stamp, JSON.stringify(now));
  }
  return folder;
}

/** A module built for another Node fails here, and not in a thousand tests. */
const loadsNative =
  "import('./dist/storage/sqlite-library.js').then((m) => m.openSqlite(':memory:').close())";

/** @returns a row of the table */
async function suiteOn(major, jestArgs) {
  const home = path.join(cache, `node-${major}`);
  await mkdir(home, { recursive: true });
  const log = path.join(home, 'log.txt');
  await rm(log, { force: true });
  const began = performance.now();
  try {
    const bin = await nodeOf(major, log);
    console.error(`Node ${major}: preparing (${log})`);
    const cwd = await treeFor(major, { bin, log });
    console.error(`Node ${major}: testing`);
    const results = path.join(home, 'results.json');
    await rm(results, { force: true });
    const args = ['test', '--', '--json', `--outputFile=${results}`, ...jestArgs];
    await run('npm', args, { cwd, bin, log });
    return {
      ...rowOf(JSON.parse(await readFile(results, 'utf8'))),
      major,
      log,
      minutes: minutesSince(began),
    };
  } catch (error) {
    return { major, log, trouble: error.message };
  }
}

const minutesSince = (began) => ((performance.now() - began) / 60_000).toFixed(1);

const rowOf = (results) => ({
  passed: results.numPassedTests,
  // A file that could not run, and a test that was skipped, are no success.
  failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
  skipped: results.numPendingTests + results.numTodoTests,
  files: results.numTotalTestSuites,
  names: results.testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name.split('/tree/')[1] ?? name),
});

const isGood = ({ trouble, failed, skipped, passed }) =>
  trouble === undefined && failed === 0 && skipped === 0 && passed > 0;

const { values, positionals, tokens } = parseArgs({
  options: { help: { type: 'boolean' }, node: { type: 'string', multiple: true } },
  allowPositionals: true,
  strict: false,
  tokens: true,
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const majors = values.node ?? supported;
for (const major of majors)
  if (!supported.includes(major)) throw new Error(`Node ${major} is none of ${supported}.`);
const options = tokens
  .filter((token) => token.kind === 'option' && token.name !== 'node')
  .map(({ rawName, value }) => (value === undefined ? rawName : `${rawName}=${value}`));
const rows = [];
for (const major of majors) rows.push(await suiteOn(major, [...options, ...positionals]));
console.log('Node  files  passed  failed  skipped  minutes');
for (const row of rows) {
  const { trouble, files, passed, failed, skipped, minutes } = row;
  console.log(
    trouble === undefined
      ? `${row.major}    ${String(files).padStart(5)}  ${String(passed).padStart(6)}  ${String(failed).padStart(6)}  ${String(skipped).padStart(7)}  ${minutes.padStart(7)}`
      : `${row.major}    ${trouble}`,
  );
  for (const name of row.names ?? []) console.log(`      ${name} (${row.log})`);
}
process.exit(rows.every(isGood) ? 0 : 1);
