#!/usr/bin/env node
// Says what is wrong on a Node that cannot run us, before any module that needs a newer one is loaded.
import { existsSync } from 'node:fs';
import module from 'node:module';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `everthread needs Node.js 20.19 or newer; this is ${process.versions.node}. Install a newer one from https://nodejs.org and run the command again.`,
  );
  process.exit(1);
}
const main = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(main)) {
  console.error(
    'everthread is not built yet. Run "npm install" (or "npm run build") in its folder, then try again.',
  );
  process.exit(1);
}
// From Node 22 on, compiled modules are kept in the folder of temporary files: a tenth of the CPU of a start.
module.enableCompileCache?.();
await import(main.href);
