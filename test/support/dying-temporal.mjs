#!/usr/bin/env node
/**
 * A Temporal CLI whose first server dies as soon as it has answered one client and that client has gone. Afterwards, and for all
 * else, it is the CLI that `REAL_CLI` names; the file that `DIED_FILE` names says that it has died.
 */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const { REAL_CLI: cli = '', DIED_FILE: died = '' } = process.env;
const args = process.argv.slice(2);
const run = (given) => {
  const child = spawn(cli, given, { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
  return child;
};

if (args[0] !== 'server' || existsSync(died)) {
  run(args).once('exit', (code) => process.exit(code ?? 1));
} else {
  const probe = createServer().listen(0, '127.0.0.1', () => {
    const behind = probe.address().port;
    probe.close(() => serve(behind));
  });
}

function serve(behind) {
  const at = args.indexOf('--port') + 1;
  const server = run(args.with(at, String(behind)));
  createServer((client) => {
    const link = connect(behind, '127.0.0.1');
    let asked = false;
    client.once('data', () => (asked = true));
    client.pipe(link).pipe(client);
    for (const socket of [client, link]) socket.on('error', () => socket.destroy());
    client.once('close', () => {
      link.destroy();
      if (!asked || link.bytesRead === 0) return; // it only looked whether the port is open
      writeFileSync(died, '');
      server.kill('SIGKILL');
      process.exit(2);
    });
  }).listen(Number(args[at]), '127.0.0.1');
}
