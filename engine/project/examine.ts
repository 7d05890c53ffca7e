/** What a project is and what of it works here: for `everthread doctor`. Runs the project's code, as serving it would. */
import path from 'node:path';
import { traitsOf, isAtLeast } from '../versions/traits.js';
import { warningOf, type KeyNote } from './config-keys.js';
import { loadProjectHttp } from './http-exports.js';
import { loadProject, otherNode } from './load-project.js';
import { uninstalledPackages } from './packages.js';
import { readProjectConfig, type ProjectConfig } from './project-config.js';
import type { LangGraphModules, LoadedProject } from './types.js';

export interface Finding {
  readonly kind: 'works' | 'note' | 'fails';
  readonly about: string;
  readonly what: string;
}

export interface Examined {
  readonly findings: readonly Finding[];
  readonly versions: LangGraphModules['versions'] | null;
}

export async function examine(file: string, env: NodeJS.ProcessEnv): Promise<Examined> {
  let config: ProjectConfig;
  let project: LoadedProject;
  try {
    config = await readProjectConfig(file);
    project = await loadProject(file, { env });
  } catch (error) {
    const found = fails('langgraph.json', (error as Error).message);
    return { findings: [...packageFindings(file, fails), found], versions: null };
  }
  const { versions } = project.modules;
  const told = [...config.warnings, ...otherNode(config)];
  return {
    versions,
    findings: [
      ...packageFindings(file, project.failures.length > 0 ? fails : note),
      nodeFinding(config),
      versionFinding(project.modules),
      ...lackFindings(project.modules),
      ...[...project.graphs.keys()].map((name) => works(`graph "${name}"`, 'loads')),
      ...project.failures.map(({ name, message }) => fails(`graph "${name}"`, message)),
      ...(await httpFindings(file, env, config)),
      ...config.notes.flatMap(keyFinding),
      ...project.warnings
        .filter((warning) => !told.includes(warning))
        .map((warning) => note('project', warning)),
    ],
  };
}

const works = (about: string, what: string): Finding => ({ kind: 'works', about, what });
const note = (about: string, what: string): Finding => ({ kind: 'note', about, what });
const fails = (about: string, what: string): Finding => ({ kind: 'fails', about, what });

/** How many names say what is missing. */
const mostNames = 5;

function packageFindings(file: string, finding: typeof fails): Finding[] {
  const missing = uninstalledPackages(path.dirname(file));
  if (missing === undefined) return [];
  const { names, remedy } = missing;
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : '';
  const what = `${names.slice(0, mostNames).join(', ')}${more} of package.json not installed: ${remedy}`;
  return [finding('packages', what)];
}

function nodeFinding(config: ProjectConfig): Finding {
  const found = process.versions.node;
  return otherNode(config).length === 0
    ? works('Node.js', found)
    : note('Node.js', `${found}; the project asks for ${config.nodeVersion}`);
}

/** The oldest release that the fixtures of the test suite run. */
function versionFinding({ versions }: LangGraphModules): Finding {
  const { langgraph, core, checkpoint } = versions;
  const what = `${langgraph}, with core ${core} and checkpoint ${checkpoint}`;
  return isAtLeast(langgraph, 0, 2)
    ? works('LangGraph', what)
    : fails('LangGraph', `${what}: older than 0.2.5, the oldest that is supported`);
}

/** What the project's LangGraph cannot do, so we cannot either. */
function lackFindings(modules: LangGraphModules): Finding[] {
  const { langgraph, versions } = modules;
  const lacks = (what: string, name: string): Finding[] =>
    name in langgraph ? [] : [note('LangGraph', `${versions.langgraph} has no ${name}: ${what}`)];
  return [
    ...lacks(
      'a run is not moved to another worker between two steps; it goes on to its end, or is run again from its last step',
      'RunControl',
    ),
    ...lacks('a waiting node is run again by {"resume": null}', 'Command'),
    ...(traitsOf(modules).savesInStep
      ? []
      : [note('LangGraph', 'runtime.context is not known before 0.4; use configurable')]),
  ];
}

/** Loads what the gateway would. */
async function httpFindings(
  file: string,
  env: NodeJS.ProcessEnv,
  { auth, app }: ProjectConfig,
): Promise<Finding[]> {
  const troubles: string[] = [];
  try {
    const loaded = await loadProjectHttp(file, env, (what) => troubles.push(what));
    return [
      ...(auth === undefined ? [] : [works('auth', 'loads')]),
      ...(app === undefined || loaded.app === undefined ? [] : [works('http.app', 'loads')]),
      ...troubles.map((trouble) => fails('http.app', trouble)),
    ];
  } catch (error) {
    return [fails('auth', (error as Error).message)];
  }
}

function keyFinding(found: KeyNote): Finding[] {
  const [text] = warningOf(found);
  if (text === undefined) return [];
  const finding = found.effect.kind === 'unsafe' ? fails : note;
  return [finding('langgraph.json', text.replace('langgraph.json: ', ''))];
}
