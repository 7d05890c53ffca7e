#!/usr/bin/env node
// Says what is wrong on a Node that cannot run us, before any module that needs a newer one is loaded.
import { existsSync } from 'node:fs';

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
await import(main.href);
