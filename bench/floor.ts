/** The floors' process, as the rows use it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FloorOrder, FloorReport } from './floor-process.js';
import type { Load, LoadPlan } from './load.js';
import type { Stage } from './stage.js';

export interface Floor {
  readonly pid: number;
  readonly expressUrl: string;
  load(plan: LoadPlan): Promise<Load>;
  /** Latency of turns on an idle workflow. */
  idle(count: number): Promise<{ readonly p50Ms: number; readonly p99Ms: number }>;
}

/** @param server another Temporal than the run's dev server */
export async function startFloor(
  stage: Stage,
  server?: { readonly address: string; readonly pid: number },
): Promise<Floor> {
  const temporal = server ?? (await stage.temporal());
  const file = fileURLToPath(new URL('./floor-process.ts', import.meta.url));
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', file, temporal.address, String(temporal.pid), stage.folder('floor')],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  const ended = once(child, 'exit');
  stage.parts.add(child, async () => {
    if (child.connected) child.disconnect();
    await ended;
  });
  const next = async (): Promise<FloorReport> => {
    const told = once(child, 'message').then(([message]) => message as FloorReport);
    const died = ended.then(() => ({ kind: 'failed', message: 'its process ended' }) as const);
    const report = await Promise.race([told, died]);
    if (report.kind === 'failed') throw new Error(`The floor failed: ${report.message}`);
    return report;
  };
  const ask = async <K extends FloorReport['kind']>(
    kind: K,
    order?: FloorOrder,
  ): Promise<Extract<FloorReport, { kind: K }>> => {
    if (order !== undefined) child.send(order);
    const report = await next();
    if (report.kind !== kind) throw new Error(`The floor reported ${report.kind}, not ${kind}.`);
    return report as Extract<FloorReport, { kind: K }>;
  };
  const { expressUrl } = await ask('ready');
  return {
    pid: child.pid ?? 0,
    expressUrl,
    load: async (plan) => (await ask('load', { kind: 'load', plan })).load,
    idle: (count) => ask('idle', { kind: 'idle', count }),
  };
}
