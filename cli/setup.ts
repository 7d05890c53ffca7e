import ms from 'ms';
import { resolveConfig } from '../config/config.js';
import { readEnvironment } from '../config/env.js';
import * as shape from '../config/shapes.js';
import { temporalFromEnvironment } from '../temporal/environment.js';
import { setUpTemporal } from '../temporal/set-up.js';
import { queueSettings, type QueueFlags } from './queue-settings.js';
import { installRuntime } from '../temporal/runtime.js';

/** Longer, and histories are used as an archive, which they are not: they hold ids only. */
const longestRetentionHours = 365 * 24;

export interface SetupFlags extends QueueFlags {
  readonly retention?: string;
}

/** `everthread setup`: makes what a Temporal cluster lacks and prints what there is now. @returns the exit code */
export async function setup(flags: SetupFlags): Promise<number> {
  const retentionMs = flags.retention === undefined ? undefined : parseRetention(flags.retention);
  const { temporal, taskQueue, graphConfig } = resolveConfig(
    readEnvironment({ withDotenv: false }),
    {
      command: 'operate',
    },
  );
  const queues = await queueSettings(flags, { taskQueue, graphConfig });
  const settings = temporal.kind === 'external' ? temporalFromEnvironment(temporal.env) : undefined;
  if (settings === undefined)
    throw new Error(
      'TEMPORAL_ADDRESS is not set: there is nothing to set up. "everthread dev" sets its own server up.',
    );
  installRuntime(() => undefined);
  let said = false;
  const done = await setUpTemporal(settings, {
    retentionMs,
    queues,
    onWaiting: (reason) => {
      if (!said) process.stderr.write(`waiting: ${reason.message}\n`);
      said = true;
    },
  });
  const { namespace } = settings;
  const kept = ms(done.retentionMs, { long: true });
  process.stdout.write(`namespace ${namespace}: ${done.namespace}, retention ${kept}\n`);
  process.stdout.write(
    done.searchAttributes === 'registered'
      ? 'search attributes: registered\n'
      : 'search attributes: the server does not let us; threads run without them\n',
  );
  for (const { taskQueue: queue, perSecond, weights = {} } of queues) {
    if (perSecond !== undefined)
      process.stdout.write(`task queue ${queue}: ${rateText(perSecond)}\n`);
    for (const [tenant, weight] of Object.entries(weights))
      process.stdout.write(`task queue ${queue}: tenant ${tenant} weighs ${weight ?? 1}\n`);
  }
  return 0;
}

const rateText = (perSecond: number | null): string =>
  perSecond === null ? 'no limit' : `at most ${perSecond} turns a second`;

function parseRetention(text: string): number {
  const { schema, allowed } = shape.duration(longestRetentionHours);
  const parsed = schema.safeParse(text);
  if (!parsed.success) throw new Error(`--retention is "${text}". Allowed: ${allowed}.`);
  return parsed.data;
}
