/** Temporal's own count of what threads cost: events in all runs of their workflows. */
import { connectTemporal } from '../temporal/connection.js';
import { installRuntime } from '../temporal/runtime.js';
import type { HttpClient } from './http-turns.js';

/** Events per committed turn over these threads. */
export async function eventsPerTurn(
  address: string,
  client: HttpClient,
  threads: readonly string[],
): Promise<number> {
  installRuntime(() => undefined);
  const connection = await connectTemporal({ address, namespace: 'default', security: {} });
  const { workflow } = connection.client;
  let events = 0;
  let turns = 0;
  try {
    for (const thread of threads) {
      const { body } = await client.get(`/v1/threads/${thread}`);
      turns += (JSON.parse(body) as { version: number }).version;
      const query = `WorkflowId STARTS_WITH 'thread:default:${thread}@'`;
      for await (const { workflowId, runId } of workflow.list({ query }))
        events += (await workflow.getHandle(workflowId, runId).describe()).historyLength;
    }
  } finally {
    await connection.close();
  }
  return events / turns;
}
