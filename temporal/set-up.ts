/** Makes in a Temporal cluster what Everthread needs there; safe to run again, and from several places at once. */
import { msToTs } from '@temporalio/common/lib/time.js';
import type { NativeConnection } from '@temporalio/worker';
import { setTimeout as pause } from 'node:timers/promises';
import { connectNative } from './connection.js';
import { grpcCode, grpcCodeOf, isTemporalUnavailable, TemporalConnectionError } from './errors.js';
import { setQueue, type QueueSetting } from './queue-config.js';
import { ensureSearchAttributes } from './search-attributes.js';
import type { TemporalSettings } from './settings.js';

export interface SetUpOptions {
  /** How long the cluster keeps histories of closed runs. Undefined: a new namespace gets the default, an old one keeps its own. */
  readonly retentionMs: number | undefined;
  readonly queues?: readonly QueueSetting[];
  /** Told the reason of each failed try to reach the server. */
  readonly onWaiting?: (reason: Error) => void;
  /** How long to wait for a server that is not there. */
  readonly patienceMs?: number;
}

export interface SetUp {
  readonly namespace: 'made' | 'there already' | 'retention changed';
  readonly retentionMs: number;
  /** `refused`: the server does not let us; threads then run without them. */
  readonly searchAttributes: 'registered' | 'refused';
}

const dayMs = 86_400_000;
/** The database is the truth; three days of histories are for whoever looks into what happened over a weekend. */
export const defaultRetentionMs = 3 * dayMs;
/** A server that begins from an empty database takes some 10 s; longer, and a person should look. */
const usualPatienceMs = 120_000;
const againAfterMs = 500;

/** @throws {TemporalConnectionError} saying what to check */
export async function setUpTemporal(
  settings: TemporalSettings,
  options: SetUpOptions,
): Promise<SetUp> {
  const { address, namespace } = settings;
  const endMs = performance.now() + (options.patienceMs ?? usualPatienceMs);
  const patiently = <T>(attempt: () => Promise<T>): Promise<T> =>
    retried(attempt, { endMs, address, options });
  const connection = await patiently(() => connectNative(settings));
  try {
    const made = await patiently(() => ensureNamespace(connection, namespace, options.retentionMs));
    const indexed = await patiently(() => ensureSearchAttributes(connection, namespace));
    for (const queue of options.queues ?? [])
      await patiently(() => setQueue(connection, namespace, queue));
    return { ...made, searchAttributes: indexed ? 'registered' : 'refused' };
  } finally {
    await connection.close();
  }
}

async function ensureNamespace(
  { workflowService }: Pick<NativeConnection, 'workflowService'>,
  namespace: string,
  wantedMs: number | undefined,
): Promise<Pick<SetUp, 'namespace' | 'retentionMs'>> {
  const presentMs = await retentionOf(workflowService, namespace);
  if (presentMs === undefined) {
    const retentionMs = wantedMs ?? defaultRetentionMs;
    try {
      await workflowService.registerNamespace({
        namespace,
        description: 'Everthread',
        workflowExecutionRetentionPeriod: msToTs(retentionMs),
      });
      return { namespace: 'made', retentionMs };
    } catch (error) {
      if (grpcCodeOf(error) !== grpcCode.alreadyExists) throw error;
      return await ensureNamespace({ workflowService }, namespace, wantedMs);
    }
  }
  if (wantedMs === undefined || wantedMs === presentMs)
    return { namespace: 'there already', retentionMs: presentMs };
  const config = { workflowExecutionRetentionTtl: msToTs(wantedMs) };
  await workflowService.updateNamespace({ namespace, config });
  return { namespace: 'retention changed', retentionMs: wantedMs };
}

/** Undefined: there is no such namespace. */
async function retentionOf(
  workflowService: NativeConnection['workflowService'],
  namespace: string,
): Promise<number | undefined> {
  try {
    const { config } = await workflowService.describeNamespace({ namespace });
    return Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
  } catch (error) {
    if (grpcCodeOf(error) === grpcCode.notFound) return undefined;
    throw error;
  }
}

interface Retrying {
  readonly endMs: number;
  readonly address: string;
  readonly options: SetUpOptions;
}

/** A namespace that was just made is not known to every part of the cluster for some seconds: `notFound` is no verdict here. */
async function retried<T>(
  attempt: () => Promise<T>,
  { endMs, address, options: { onWaiting } }: Retrying,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const passing = isTemporalUnavailable(error) || grpcCodeOf(error) === grpcCode.notFound;
      const reason = error instanceof Error ? error.message : String(error);
      const failure = new TemporalConnectionError(
        `The Temporal server at ${address} could not be set up: ${reason}`,
        { cause: error, unavailable: passing },
      );
      if (!passing || performance.now() > endMs) throw failure;
      if (isTemporalUnavailable(error)) onWaiting?.(failure);
    }
    await pause(againAfterMs);
  }
}
