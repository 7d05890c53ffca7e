import { beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

interface Report {
  readonly graphs: Record<string, { text: string; description?: string; factory: boolean }>;
  readonly warnings: readonly string[];
  readonly failures: readonly string[];
  readonly workingDirectory: string;
  readonly defaultGraph?: string;
}

const folderOf = (project: string): string => path.resolve('test/fixtures/projects', project);

/** In a process of its own: loading changes the working directory, the variables and the module loader. */
async function load(folder: string): Promise<Report> {
  const file = path.join(folder, 'langgraph.json');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['test/support/load-in-child.mjs', path.resolve('dist'), file],
    { env: { ...process.env, FROM_PROCESS: 'process', NODE_OPTIONS: '' } },
  );
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;
}

const textsOf = (report: Report) =>
  Object.fromEntries(Object.entries(report.graphs).map(([name, { text }]) => [name, text]));

describe('a JavaScript project', () => {
  let report: Report;
  beforeAll(async () => {
    report = await load(folderOf('exports'));
  });

  test('every form of export runs, in its folder, with its variables under those of the process', () => {
    expect(textsOf(report)).toEqual({
      compiled: 'compiled file process',
      builder: 'builder',
      promise: 'promise',
      sync: 'sync object',
      async: 'async',
      agent: 'agent',
      entrypoint: 'entrypoint',
      default: 'default exports',
      stateful: 'inner',
      cjs: 'cjs',
    });
    expect(report.workingDirectory).toBe(folderOf('exports'));
    expect(report.defaultGraph).toBe('compiled');
    expect(report.graphs.compiled?.description).toBe('A compiled graph');
  });

  test('factories are kept, graphs have none', () => {
    const made = Object.entries(report.graphs).filter(([, graph]) => graph.factory);
    expect(made.map(([name]) => name)).toEqual(['sync', 'async']);
  });

  test("messages and savers are of the build that the graph's file gets, ESM or CommonJS", () => {
    for (const graph of Object.values(report.graphs))
      expect(graph).toMatchObject({ ownMessage: true, ownSaver: true, ownBuilder: true });
  });

  test('a graph that fails names file, export and cause, and the others serve', () => {
    const causes = [
      /"missing-file" \(.\/nowhere.mjs, export "graph"\).*no such file/,
      /"missing-export" .*no such export; it has agent, builder/,
      /"not-a-graph" .*of type number, not a LangGraph graph/,
      /"throws" .*no database here/,
      /"python" .*Python graph/,
      /"no-channel" .*declares fields, and its state has no channel "fields"/,
      /"no-shape" .*its fields \("number" of .\/graphs.mjs\) are no zod object/,
    ];
    expect(report.failures).toHaveLength(causes.length);
    for (const [i, cause] of causes.entries()) expect(report.failures[i]).toMatch(cause);
  });

  test('P11 a subgraph with checkpointer: true is told about, as is a key without effect', () => {
    // The project asks for Node 20, which the suite runs on among others.
    const told = report.warnings.filter((warning) => !warning.includes('asks for Node'));
    expect(told).toEqual([
      expect.stringMatching(/"ui" has no effect here/),
      expect.stringMatching(/"stateful": the subgraph "inner" .*checkpointer: true/),
    ]);
  });
});

test('a TypeScript project runs with its tsconfig, enums and late imports, on plain Node', async () => {
  const report = await load(folderOf('typescript'));
  expect(report.failures).toEqual([]);
  expect(textsOf(report)).toEqual({ made: 'hello from-map later', module: 'module' });
  expect(report.defaultGraph).toBe('made');
});

test('a project with its own LangGraph runs on that copy', async () => {
  // Below our tree, so that what is not copied is found as before.
  await mkdir('.cache', { recursive: true });
  const folder = await mkdtemp(path.resolve('.cache/own-copy-'));
  try {
    await cp(folderOf('typescript'), folder, { recursive: true });
    for (const name of ['@langchain/langgraph', '@langchain/langgraph-checkpoint'])
      await cp(`node_modules/${name}`, `${folder}/node_modules/${name}`, { recursive: true });
    const { graphs, failures } = await load(folder);
    expect(failures).toEqual([]);
    for (const name of ['made', 'module'])
      expect(graphs[name]).toMatchObject({ ourCopy: false, ownBuilder: true, ownSaver: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('F2 a later loading has the fields that are declared now', async () => {
  await mkdir('.cache', { recursive: true });
  const folder = await mkdtemp(path.resolve('.cache/fields-'));
  const graph = { path: './graph.mjs', fields: './fields.mjs:fields' };
  const declare = (name: string): string =>
    `import { z } from 'zod';\nexport const fields = z.object({ ${name}: z.string() });\n`;
  const files = {
    'langgraph.json': JSON.stringify({ graphs: { form: graph } }),
    'fields.mjs': declare('first'),
    'graph.mjs': `import { Annotation, StateGraph } from '@langchain/langgraph';
      export default new StateGraph(Annotation.Root({ fields: Annotation }))
        .addNode('one', () => ({})).addEdge('__start__', 'one').compile();`,
  };
  const script = `import { writeFileSync } from 'node:fs';
    const { loadProject } = await import(${JSON.stringify(pathToFileURL('dist/engine/project/load-project.js').href)});
    const names = async (loading) => {
      const { defaultGraph } = await loadProject('langgraph.json', { env: {}, loading });
      return Object.keys(defaultGraph.fields.shape);
    };
    const before = await names(0);
    writeFileSync('fields.mjs', ${JSON.stringify(declare('second'))});
    console.log(JSON.stringify([before, await names(1)]));`;
  try {
    for (const [name, text] of Object.entries(files))
      await writeFile(path.join(folder, name), text);
    const args = ['--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(JSON.parse(stdout)).toEqual([['first'], ['second']]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
