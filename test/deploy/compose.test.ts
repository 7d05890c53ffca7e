/** The compose file: valid, pinned, and every word of it known to the commands that it runs. */
import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { readCompose, startOrder } from '../../bench/rehearsal/compose-file.js';
import { resolveConfig } from '../../config/config.js';
import type { Command } from '../../config/config.js';
import { runCli } from '../cli/run-cli.js';

const services = readCompose(readFileSync('docker-compose.yml', 'utf8'));
const ours = services.filter((service) => service.ours);
const named = (name: string) => services.find((service) => service.name === name)!;
const dockerfile = readFileSync('Dockerfile', 'utf8');

const run = promisify(execFile);

/** By dclint, which ships the schema. @returns `valid`, or what is wrong */
const lint = async (file: string): Promise<string> => {
  try {
    await run(process.execPath, ['node_modules/dclint/bin/dclint.cjs', '--quiet', file]);
    return 'valid';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
};

describe('docker-compose.yml', () => {
  test("is valid by the compose specification's schema, which a misspelt key is not", async () => {
    const text = readFileSync('docker-compose.yml', 'utf8');
    expect(await lint('docker-compose.yml')).toBe('valid');
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-compose-'));
    const misspelt = path.join(folder, 'docker-compose.yml');
    writeFileSync(misspelt, text.replace('    healthcheck:', '    healthchek:'));
    expect(await lint(misspelt)).toContain('/services/postgres');
    rmSync(folder, { recursive: true });
  });

  test('pins every image', () => {
    const images = [...services.map(({ image }) => image), ...dockerfile.match(/^FROM \S+/gm)!];
    expect(images.filter((image) => !/:v?\d+\.\d+(\.\d+)?(-[\w.-]+)?$/.test(image))).toEqual([]);
  });

  test('waits only for services that exist and can say that they are ready', () => {
    startOrder(services); // throws for a name that no service has
    const waits = services.flatMap((service) =>
      Object.entries(service.depends_on).map(([name, { condition }]) => ({ name, condition })),
    );
    const needed = waits.filter(({ condition }) => condition === 'service_healthy');
    const silent = needed.filter(({ name }) => named(name).healthcheck?.test === undefined);
    expect(silent).toEqual([]);
    expect(needed.length).toBeGreaterThan(3);
  });

  test('mounts only files that are here', () => {
    const mounts = services.flatMap(({ volumes }) => volumes.map((mount) => mount.split(':')[0]!));
    const missing = mounts.filter((from) => from.startsWith('.') && !existsSync(from));
    expect(missing).toEqual([]);
  });

  test('publishes to this machine alone, and nothing that keeps gateways and workers from being many', () => {
    const published = services.flatMap(({ ports }) => ports);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    for (const name of ['gateway', 'worker']) {
      expect(named(name)).toMatchObject({ ports: [], deploy: { replicas: 2 } });
    }
    expect(services.filter((service) => service.container_name !== undefined)).toEqual([]);
  });

  test('shards and retention are written down, since one is for ever and the other decides what is kept', () => {
    expect(named('temporal').environment.NUM_HISTORY_SHARDS).toBe('512');
    expect(named('setup').command).toEqual(['setup', '--retention', '3d']);
  });

  test.each(ours.map((service) => [service.name, service] as const))(
    '%s: the command is one of ours, with settings that it takes and no other',
    async (_, { command, environment }) => {
      const { code } = await runCli([command[0]!, '--help']);
      expect(code).toBe(0);
      const settings = command[0] === 'setup' ? 'operate' : (command[0] as Command);
      const { unknownVariables, temporal } = resolveConfig(environment, { command: settings });
      expect(unknownVariables).toEqual([]);
      expect(temporal.kind).toBe('external');
      const known =
        /^(HOST|PORT|LOG_LEVEL|(EVERTHREAD|TEMPORAL)_\w+|(OPENAI|ANTHROPIC)_(API_KEY|BASE_URL))$/;
      expect(Object.keys(environment).filter((name) => !known.test(name))).toEqual([]);
    },
  );
});

describe('Dockerfile', () => {
  test('copies only what is here or was built, and runs as nobody in particular', () => {
    const copied = [...dockerfile.matchAll(/^COPY --from=build \/app\/(\S+)/gm)].map((m) => m[1]!);
    expect(copied).toContain('dist');
    expect(copied.filter((file) => !existsSync(file))).toEqual([]);
    expect(dockerfile.split('\nFROM ').at(-1)).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK /m);
  });

  test('builds from what .dockerignore lets in, all that the image is made of, and the command runs', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'everthread-image-'));
    const allowed = readFileSync('.dockerignore', 'utf8').match(/^!.+/gm)!;
    for (const name of allowed.map((line) => line.slice(1)))
      await cp(name, path.join(folder, name), { recursive: true });
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    const copied = [...dockerfile.matchAll(/^COPY (?:--from=build \/app\/)?(.+) \S+$/gm)];
    const sources = copied.flatMap(([, names = '']) => names.split(' '));
    expect(sources).toEqual(expect.arrayContaining(['package-lock.json', 'dist', 'bin']));
    await run(process.execPath, ['scripts/build.mjs', '--quiet'], { cwd: folder });
    expect(sources.filter((name) => !existsSync(path.join(folder, name)))).toEqual([]);
    const code = (place: string) => readFileSync(path.join(place, 'dist/worker/rounds.js'), 'utf8');
    expect(code(folder)).toBe(code('.')); // with the same settings of the compiler
    const { stdout } = await run(process.execPath, ['bin/everthread.js', '--version'], {
      cwd: folder,
    });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+$/m);
    await rm(folder, { recursive: true });
  });
});

describe("deploy/temporal/schema.sh, with a tool that only says what Temporal's would", () => {
  const setUpWith = async (update: string): Promise<{ calls: string[]; failed: boolean }> => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everthread-schema-'));
    const journal = path.join(folder, 'journal');
    const tool = `#!/bin/sh
for word in "$@"; do case $word in *-schema | create-database) command=$word ;; esac; done
echo "$command" >>"${journal}"
[ "$command" = update-schema ] || exit 0
${update}
`;
    writeFileSync(path.join(folder, 'temporal-sql-tool'), tool, { mode: 0o755 });
    const env = { DB: 'postgres12_pgx', POSTGRES_SEEDS: 'db', DB_PORT: '5432', POSTGRES_USER: 'u' };
    const failed = await run('sh', ['deploy/temporal/schema.sh'], {
      env: { ...env, PATH: `${folder}:${process.env.PATH ?? ''}`, JOURNAL: journal },
    }).then(
      () => false,
      () => true,
    );
    const calls = readFileSync(journal, 'utf8').trim().split('\n');
    rmSync(folder, { recursive: true });
    return { calls, failed };
  };

  test('an empty database is set up first', async () => {
    const first = `grep -q setup-schema "$JOURNAL" || { echo 'ERROR: relation "schema_version" does not exist' >&2; exit 1; }`;
    const { calls, failed } = await setUpWith(first);
    expect(failed).toBe(false);
    expect(calls.slice(0, 4)).toEqual([
      'create-database',
      'update-schema',
      'setup-schema',
      'update-schema',
    ]);
  });

  test('one that has a schema is only brought up to date', async () => {
    const { calls, failed } = await setUpWith('exit 0');
    expect(failed).toBe(false);
    expect(calls).not.toContain('setup-schema');
    expect(calls).toHaveLength(4);
  });

  test('an update that fails for another reason never sets the version back', async () => {
    const { calls, failed } = await setUpWith(
      'echo "relation \\"executions\\" does not exist"; exit 1',
    );
    expect(failed).toBe(true);
    expect(calls).toEqual(['create-database', 'update-schema']);
  });
});
