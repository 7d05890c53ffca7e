/** `everthread doctor`: reads a project and says what will work here and what will not, with the versions found. */
import path from 'node:path';
import { useColors } from '../config/colors.js';
import { liveEnvironment, readEnvironment, valueOf } from '../config/env.js';
import { examine } from '../engine/project/examine.js';
import { loadProjectStore } from '../worker/project-store.js';
import type { Finding } from '../engine/project/examine.js';
import pc from 'picocolors';
import { queueFindings } from './doctor-queues.js';

/** @returns 1 when something will not work */
export async function doctor(folder: string | undefined, flags: { json?: true }): Promise<number> {
  const env = readEnvironment({ withDotenv: false });
  const place = folder ?? valueOf(env, 'EVERTHREAD_CONFIG') ?? '.';
  const named = place.endsWith('.json') ? place : path.join(place, 'langgraph.json');
  // Before the project is loaded, which moves the process into its folder.
  const file = path.resolve(named);
  const examined = await examine(file, liveEnvironment());
  const store = examined.versions === null ? [] : await storeFindings(file);
  const beside = [...store, ...(await queueFindings(file, env))];
  const report = { ...examined, findings: [...examined.findings, ...beside] };
  const failed = report.findings.some(({ kind }) => kind === 'fails');
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ works: !failed, ...report }, null, 2)}\n`);
  } else {
    const colors = pc.createColors(useColors(env, process.stdout));
    for (const finding of report.findings) process.stdout.write(lineOf(finding, colors));
    process.stdout.write(
      failed ? '\nNot everything will work.\n' : '\nThis project can be served.\n',
    );
  }
  return failed ? 1 : 0;
}

/** As a start reads it, which ends when the store cannot be used. */
async function storeFindings(file: string): Promise<readonly Finding[]> {
  try {
    await loadProjectStore(file);
    return [];
  } catch (error) {
    return [{ kind: 'fails', about: 'store', what: (error as Error).message }];
  }
}

function lineOf(
  { kind, about, what }: Finding,
  colors: ReturnType<typeof pc.createColors>,
): string {
  return `${markOf(kind, colors)} ${about}: ${what}\n`;
}

function markOf(kind: Finding['kind'], { green, yellow, red }: ReturnType<typeof pc.createColors>) {
  switch (kind) {
    case 'works':
      return green('ok   ');
    case 'note':
      return yellow('note ');
    case 'fails':
      return red('fails');
  }
}
