// Serves a project with `everthread dev` in its own folder and plays its turns over HTTP, under kill -9 at each flush.
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const armed = path.join(root, 'test', 'support', 'arm-crash-points.mjs');
const bin = path.join(root, 'bin', 'everthread.js');

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** A running product; `data` outlives it, so that another project can go on with its threads. */
export async function startIn(folder, data) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const crashes = await mkdtemp(path.join(tmpdir(), 'everthread-crashes-'));
  const env = {
    ...process.env,
    ...{ NODE_OPTIONS: '', NO_COLOR: '1', LOG_LEVEL: 'warn', PORT: String(port) },
    ...{ EVERTHREAD_DATA: data, EVERTHREAD_STORAGE: 'sqlite' },
    ...{ EVERTHREAD_TEMPORAL_PORT: '0', EVERTHREAD_TEMPORAL_UI_PORT: '0' },
    ...{ EVERTHREAD_TEST_CRASH_FOLDER: crashes, EVERTHREAD_TEST_BUILD: root },
  };
  let child;
  let text = '';
  const alive = () => child.exitCode === null && child.signalCode === null;
  const start = async () => {
    child = spawn(process.execPath, ['--import', armed, bin, 'dev'], { cwd: folder, env });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (text = (text + chunk).slice(-20_000)));
    for (;;) {
      // A turn that waited may reach an armed point before the gateway is up.
      if (child.signalCode === 'SIGKILL') return false;
      if (!alive()) throw new Error(`everthread dev ended: ${text.slice(-3_000)}`);
      const ready = await fetch(`${url}/readyz`).catch(() => undefined);
      if (ready?.ok) return true;
      await pause(50);
    }
  };
  await start();
  return {
    log: () => text,
    url,
    alive,
    start,
    arm: (point, thread) => writeFile(path.join(crashes, `${point}@${thread}`), 'kill'),
    waits: (point, thread) => existsSync(path.join(crashes, `${point}@${thread}`)),
    disarm: (point, thread) => rm(path.join(crashes, `${point}@${thread}`), { force: true }),
    async stop() {
      while (!alive()) await start();
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
      await rm(crashes, { recursive: true, force: true });
    },
  };
}

/** Sends a turn and waits for its end, through as many deaths as it takes. */
export async function playTurn(product, thread, graph, turn, dies) {
  const base = `${product.url}/v1/threads/${thread}`;
  const body =
    turn.kind === 'message' ? { message: turn.text, graph } : { resume: turn.value, graph };
  const key = randomUUID();
  const points = dies ? ['after-flush', 'after-commit'] : [];
  for (const point of points) await product.arm(point, thread);
  let deaths = 0;
  for (;;) {
    const reply = await fetch(`${base}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    }).catch(() => undefined);
    if (reply !== undefined && reply.status !== 202 && reply.status !== 503) {
      for (const point of points) await product.disarm(point, thread);
      return { deaths, status: reply.status, reply: await reply.json() };
    }
    while (product.alive() && reply === undefined) await pause(20);
    if (product.alive()) continue;
    // Every flush is met once more by a new process; the commit is met once.
    do {
      deaths += 1;
      await product.arm('after-flush', thread);
    } while (!(await product.start()));
  }
}

export async function stateOf(product, thread) {
  const answer = await fetch(`${product.url}/v1/threads/${thread}/state`);
  return await answer.json();
}

/** What stands in the folder, so that it can be told whether serving it has changed anything. */
export async function digestOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const hash = createHash('sha256');
  const files = entries
    .filter((e) => e.isFile() && !e.parentPath.includes('node_modules'))
    .map((e) => path.join(e.parentPath, e.name))
    .sort();
  for (const file of files) hash.update(file).update(await readFile(file));
  return hash.digest('hex');
}
