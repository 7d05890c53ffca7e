/** The shapes of the engine's suite as a project that threads can load: plain JavaScript, since compiling it in each thread takes seconds. */
import { transformFile } from '@swc/core';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Shape } from '../engine/shape.js';

const sources = ['shape', 'shapes-agent', 'shapes-flow', 'shapes-nested', 'shapes-waiting'];

/** What the project's file is; its default export names all graphs. */
const graphsFile = `
import { Log } from './shape.js';
import { agentShapes } from './shapes-agent.js';
import { flowShapes } from './shapes-flow.js';
import { nestedShapes } from './shapes-nested.js';
import { waitingShapes } from './shapes-waiting.js';
const shapes = [...agentShapes, ...flowShapes, ...nestedShapes, ...waitingShapes];
const named = (name) => name.replaceAll(':', '');
export default Object.fromEntries(shapes.map((s) => [named(s.name), s.build(new Log(), {})]));
`;

export interface ShapesProject {
  readonly graphConfig: string;
  remove(): Promise<void>;
}

/** Inside the checkout, where the packages are found. */
export async function shapesProject(shapes: readonly Shape[]): Promise<ShapesProject> {
  await mkdir('.cache', { recursive: true });
  const folder = await mkdtemp(path.resolve('.cache/shapes-'));
  for (const name of sources) {
    const { code } = await transformFile(path.resolve('test/engine', `${name}.ts`));
    await writeFile(path.join(folder, `${name}.js`), code);
  }
  await writeFile(path.join(folder, 'graphs.js'), graphsFile);
  const graphs = shapes.map(({ name }): [string, object] => [
    name,
    // A path ends at its last colon.
    { path: `./graphs.js:${name.replaceAll(':', '')}`, isolation: 'thread' },
  ]);
  const graphConfig = path.join(folder, 'langgraph.json');
  await writeFile(graphConfig, JSON.stringify({ graphs: Object.fromEntries(graphs) }));
  return { graphConfig, remove: () => rm(folder, { recursive: true, force: true }) };
}
