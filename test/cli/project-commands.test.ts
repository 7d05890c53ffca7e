import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { runCli } from './run-cli.js';

const run = promisify(execFile);
const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1' };

let folder: string;
beforeAll(async () => {
  // Below our tree, so that a new project finds LangGraph without an installation.
  await mkdir('.cache', { recursive: true });
  folder = await mkdtemp(path.resolve('.cache/init-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const everthread = (...args: string[]) => runCli(args, { cwd: folder, env: { NO_COLOR: '1' } });

test('init makes a project that passes its own test and its examination, and overwrites nothing', async () => {
  const made = await everthread('init', 'My Agent');
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const project = path.join(folder, 'My Agent');
  const manifest = JSON.parse(await readFile(path.join(project, 'package.json'), 'utf8')) as {
    name: string;
    dependencies: Record<string, string>;
    allowScripts: Record<string, boolean>;
  };
  expect(manifest.name).toBe('my-agent');
  expect(manifest.dependencies.everthread).toBe(`file:${process.cwd()}`);
  expect(manifest.allowScripts).toMatchObject({ [`file:${process.cwd()}`]: false });
  const args = ['--import', 'tsx', '--test', 'test/agent.test.ts'];
  const { stdout } = await run(process.execPath, args, { cwd: project, env });
  expect(stdout).toMatch(/^(#|ℹ) pass 2$/m); // the sign is the reporter's, which Node chooses
  const doctor = await everthread('doctor', project);
  expect(doctor).toMatchObject({ code: 0 });
  expect(doctor.stdout).toMatch(/ok +graph "agent": loads/);
  const refused = async (place: string, why: string): Promise<void> =>
    expect(await everthread('init', place)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining(why) },
    });
  await refused('My Agent', 'is not empty');
  await refused(path.join(project, 'package.json'), 'is a file');
  await refused('/proc/agent', 'ENOENT');
});

test('doctor names what does not work, with the versions, and fails', async () => {
  const { code, stdout } = await everthread('doctor', path.resolve('test/projects/features'));
  expect(code).toBe(1);
  expect(stdout).toMatch(/ok +LangGraph: 1\.7\.3, with core 1\.4\.0 and checkpoint 1\.2\.2/);
  expect(stdout).toMatch(/fails graph "broken": .*src\/broken.ts.*cannot reach the other system/);
  expect(stdout).toMatch(/fails graph "leaves": .*called process.exit\(1\)/);
  expect(stdout).toMatch(/note +langgraph.json: "something_new" is not known/);
  expect(stdout).toMatch(/note +project: Graph "factory": its factory threw without a run/);
  const json = JSON.parse((await everthread('doctor', '--json', 'nowhere')).stdout) as object;
  expect(json).toMatchObject({
    works: false,
    findings: [{ kind: 'fails', what: expect.stringContaining('cannot be read') }],
  });
});

test('init takes everthread from no file that is not there', async () => {
  const target = path.join(tmpdir(), 'everthread-init-none');
  const { code, stderr } = await everthread('init', target, '--from', '/nowhere/everthread.tgz');
  expect(code).not.toBe(0);
  expect(stderr).toContain('There is no /nowhere/everthread.tgz');
  expect(existsSync(target)).toBe(false);
});

test('doctor finds a store that a start refuses', async () => {
  const project = await mkdtemp(path.join(tmpdir(), 'everthread-doctor-'));
  try {
    const store = { ttl: { default_ttl: 'x' } };
    await writeFile(
      path.join(project, 'langgraph.json'),
      JSON.stringify({ graphs: { agent: './agent.mjs:graph' }, store }),
    );
    const { code, stdout } = await everthread('doctor', project);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fails store: .*store\.ttl\.default_ttl: /m);
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});

test('doctor says before all else that packages are not installed, and what to run', async () => {
  const project = await mkdtemp(path.join(tmpdir(), 'everthread-doctor-'));
  try {
    const dependencies = { '@langchain/langgraph': '1', elsewhere: '1' };
    await writeFile(path.join(project, 'package.json'), JSON.stringify({ dependencies }));
    await writeFile(
      path.join(project, 'langgraph.json'),
      '{"graphs":{"agent":"./agent.mjs:graph"}}',
    );
    await writeFile(path.join(project, 'agent.mjs'), "import 'elsewhere';");
    const { code, stdout } = await everthread('doctor', project);
    expect(code).toBe(1);
    expect(stdout.split('\n')[0]).toBe(
      `fails packages: @langchain/langgraph, elsewhere of package.json not installed: run \`npm install\` in ${project}`,
    );
  } finally {
    await rm(project, { recursive: true, force: true });
  }
});
