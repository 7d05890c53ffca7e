/** `--queue-rate` and `--tenant-weight` of `everthread setup`. */
import { mainQueue, taskQueueOf } from '../contracts/task-queues.js';
import { queuePlaces, readProjectConfig } from '../engine/project/project-config.js';
import type { QueueSetting } from '../temporal/queue-config.js';

export interface QueueFlags {
  readonly queueRate?: readonly string[];
  readonly tenantWeight?: readonly string[];
}

/** @throws Error that says what to write instead */
export async function queueSettings(
  { queueRate = [], tenantWeight = [] }: QueueFlags,
  project: { readonly taskQueue: string; readonly graphConfig: string | null },
): Promise<readonly QueueSetting[]> {
  if (queueRate.length === 0 && tenantWeight.length === 0) return [];
  const rates = pairs('--queue-rate', 'gpu=5', queueRate);
  const weights = pairs('--tenant-weight', 'acme=3', tenantWeight);
  const named = await queuesNamed(project.graphConfig);
  for (const name of rates.keys()) {
    if (name === mainQueue)
      throw new Error(
        '--queue-rate: most turns of the main queue are handed to a worker together with the thread that asks for them, ' +
          'and no limit counts those. Give the graph a "task_queue" of its own in langgraph.json, and that queue the rate.',
      );
    if (!named.includes(name))
      throw new Error(
        `--queue-rate names the task queue "${name}", and no graph of ${project.graphConfig ?? 'a langgraph.json (there is none here)'} ` +
          `has it as its "task_queue". Task queues there: ${named.join(', ') || 'none'}.`,
      );
  }
  return [mainQueue, ...named].flatMap((name) => {
    const perSecond = rates.get(name);
    if (perSecond === undefined && weights.size === 0) return [];
    return [
      {
        taskQueue: taskQueueOf(project.taskQueue, name),
        ...(perSecond !== undefined && { perSecond }),
        ...(weights.size > 0 && { weights: Object.fromEntries(weights) }),
      },
    ];
  });
}

const queuesNamed = async (graphConfig: string | null): Promise<readonly string[]> =>
  graphConfig === null
    ? []
    : [...new Set(queuePlaces(await readProjectConfig(graphConfig)).values())];

function pairs(
  option: string,
  example: string,
  given: readonly string[],
): ReadonlyMap<string, number | null> {
  const read = given.map((text) => {
    const [, name, value = ''] = /^([\w-]{1,64})=(none|\d{1,6}(?:\.\d{1,3})?)$/.exec(text) ?? [];
    if (name === undefined || Number(value) === 0)
      throw new Error(
        `${option} is "${text}". Allowed: ${example}, or ${example.replace(/=.*/, '=none')}.`,
      );
    return [name, value === 'none' ? null : Number(value)] as const;
  });
  return new Map(read);
}
