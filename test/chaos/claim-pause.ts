/** Stops a worker in the moment that makes a zombie (P3): its attempt runs, and it has not claimed its turn yet. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { crashPreload } from '../support/crash-preload.js';
import type { Kept } from './world.js';

export interface ClaimPauses {
  /** Settings of a worker that can be stopped so. */
  readonly env: Readonly<Record<string, string>>;
  /** Stops the worker that claims next. Nothing happens when nobody claims for a while. */
  apply(workers: readonly Kept[], lengthMs: number): Promise<void>;
}

/** A thread with work claims several times a second. */
const nobodyClaimsMs = 3_000;

/** @param bin of another build; its own crash points are armed */
export async function claimPauses(folder: string, bin: string | undefined): Promise<ClaimPauses> {
  const points = path.join(folder, 'points');
  await mkdir(points);
  const armed = path.join(points, 'before-claim@');
  const root = path.resolve(bin === undefined ? '.' : path.join(path.dirname(bin), '..'));
  return {
    env: {
      ...crashPreload,
      EVERTHREAD_TEST_CRASH_FOLDER: points,
      EVERTHREAD_TEST_BUILD: root,
    },
    async apply(workers, lengthMs) {
      await writeFile(armed, 'pause');
      const stopped = await firstStopped(workers);
      await rm(armed, { force: true });
      if (stopped === undefined) return;
      stopped.pause();
      await pause(lengthMs);
      if (stopped.paused) stopped.resume();
    },
  };
}

async function firstStopped(workers: readonly Kept[]): Promise<Kept | undefined> {
  const untilMs = performance.now() + nobodyClaimsMs;
  while (performance.now() < untilMs) {
    for (const kept of workers) if (!kept.paused && (await isStopped(kept))) return kept;
    await pause(20);
  }
  return undefined;
}

async function isStopped({ proc }: Kept): Promise<boolean> {
  const stat = await readFile(`/proc/${proc.child.pid}/stat`, 'utf8').catch(() => '');
  return stat.includes(') T ');
}
