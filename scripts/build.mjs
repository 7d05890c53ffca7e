// Transpiles the product to dist/ and bundles the workflow code. Types are checked by `npm run check:types`, not here.
import { transformFile } from '@swc/core';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folders =
  'contracts workflows activities engine agents llm memory storage temporal worker api client cli config metrics tracing'.split(
    ' ',
  );
const quiet = process.argv.includes('--quiet');
const say = (text) => quiet || console.log(text);

const mtime = (file) =>
  stat(file)
    .then((s) => s.mtimeMs)
    .catch(() => 0);

async function filesBelow(folder) {
  const entries = await readdir(path.join(root, folder), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => []);
  return entries
    .filter((e) => e.isFile())
    .map((e) => path.relative(root, path.join(e.parentPath, e.name)));
}

/** Compiles or copies one source file when its output is older. */
async function build(file) {
  const source = path.join(root, file);
  const target = path.join(root, 'dist', file.replace(/\.ts$/, '.js'));
  if ((await mtime(target)) >= (await mtime(source))) return target;
  await mkdir(path.dirname(target), { recursive: true });
  if (!file.endsWith('.ts')) {
    await cp(source, target);
    return target;
  }
  const { code, map } = await transformFile(source, { cwd: root, filename: source });
  await writeFile(`${target}.map`, map ?? '');
  await writeFile(target, `${code}\n//# sourceMappingURL=${path.basename(target)}.map\n`);
  return target;
}

/** A source file that is gone must not live on in dist/. */
async function removeStale(built) {
  const wanted = new Set(built.flatMap((f) => [f, `${f}.map`]));
  for (const file of await filesBelow('dist')) {
    const full = path.join(root, file);
    if (!wanted.has(full) && !file.startsWith(path.join('dist', 'workflow-bundle'))) await rm(full);
  }
}

/** Webpack takes seconds, so the bundle is made again only when what goes into it has changed. */
async function bundleWorkflows() {
  const inputs = [
    ...(await filesBelow('workflows')),
    'contracts/protocol.ts',
    'package-lock.json',
  ].filter((f) => !f.endsWith('.md'));
  const hash = createHash('sha256');
  for (const file of inputs)
    hash.update(file).update(await readFile(path.join(root, file)).catch(() => ''));
  const digest = hash.digest('hex');
  const stamp = path.join(root, 'dist', 'workflow-bundle.sha256');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === digest) return;
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: path.join(root, 'dist', 'workflows', 'index.js'),
    workflowInterceptorModules: [path.join(root, 'dist', 'workflows', 'trace-carrier.js')],
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(path.join(root, 'dist', 'workflow-bundle.js'), code);
  await writeFile(stamp, digest);
  say(`workflow bundle: ${Math.round(code.length / 1024)} kB`);
}

const started = Date.now();
const sources = (await Promise.all(folders.map(filesBelow)))
  .flat()
  .filter((f) => !f.endsWith('.md') || f.startsWith('agents'));
const built = await Promise.all(sources.map(build));
await removeStale(built);
if (sources.includes(path.join('workflows', 'index.ts'))) await bundleWorkflows();
say(`built ${built.length} files in ${Date.now() - started} ms`);
