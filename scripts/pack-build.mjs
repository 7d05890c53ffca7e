// Packs the build in dist/ as a fixture, so that tests can run an old build beside the new one (test/faults/deploys.test.ts).
// The next one: check out the commit, `npm install`, then `node scripts/pack-build.mjs v2`; add its name to the test's list.
import { Buffer } from 'node:buffer';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { create } from 'tar';

const root = fileURLToPath(new URL('..', import.meta.url));
const label = process.argv[2];
if (label === undefined || !/^[\w.-]+$/.test(label)) {
  console.error('usage: node scripts/pack-build.mjs <label>');
  process.exit(2);
}
const folder = await mkdtemp(path.join(tmpdir(), 'everthread-pack-'));
const packed = ['package.json', 'bin', 'dist', path.join('agents', 'docs')];
for (const part of packed)
  await cp(path.join(root, part), path.join(folder, part), {
    recursive: true,
    filter: (file) => !file.endsWith('.map') && !file.endsWith('.sha256'),
  });

// Two thirds of the bundle are its source map, which nobody reads; the SDK only wants that there is one.
const bundle = path.join(folder, 'dist', 'workflow-bundle.js');
const [code] = (await readFile(bundle, 'utf8')).split('//# sourceMappingURL=');
const noMap = JSON.stringify({ version: 3, sources: [], names: [], mappings: '' });
const encoded = Buffer.from(noMap).toString('base64');
await writeFile(
  bundle,
  // Where the packages were installed is nobody's business and no part of the code.
  `${code.replaceAll(/(?:\.\.\/)+[\w./-]*?(?=node_modules\/)/g, './')}//# sourceMappingURL=data:application/json;base64,${encoded}`,
);
const file = path.join(root, 'test', 'fixtures', 'builds', `${label}.tar.gz`);
await create({ cwd: folder, file, gzip: { level: 9 }, portable: true, noMtime: true }, packed);
await rm(folder, { recursive: true });
console.log(`packed ${path.relative(root, file)}`);
