/** What Prometheus reads of the running product. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openMetrics } from '../../metrics/metrics.js';
import { localRelay } from '../../storage/relay-local.js';
import { freePort } from '../../temporal/ports.js';
import { runCli } from '../cli/run-cli.js';
import { emptyTarget } from '../support/database.js';
import { startCluster, type Cluster, type Proc } from '../support/processes.js';
import { request, startProduct, type Product } from '../support/product.js';
import { startScriptedModel } from '../support/scripted-model.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

test('O9 metrics that are off give every port back as it is', async () => {
  const relay = localRelay();
  const { url, relay: same } = await openMetrics(null, { info: () => undefined });
  expect(url).toBeUndefined();
  expect(same(relay)).toBe(relay);
});

describe('metrics of everthread dev', () => {
  let product: Product;
  let page = '';
  const thread = 'canary-thread';
  const words = 'canary words that nobody else says';

  beforeAll(async () => {
    const port = await freePort();
    product = await startProduct({ EVERTHREAD_METRICS_PORT: String(port) });
    await product.chat(thread, words);
    const stream = await fetch(`${product.url}/v1/threads/${thread}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ message: words }),
    });
    expect(await stream.text()).toContain('event: done');
    await product.post(`/v1/threads/${thread}/turns`, { message: words, graph: 'other' });
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    page = await answer.text();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  });
  afterAll(() => product.stop());

  const valueOf = (series: RegExp): number =>
    Number(new RegExp(`^${series.source} (\\S+)$`, 'm').exec(page)?.[1] ?? NaN);

  test('O9 turns, their times, tokens, frames and requests are counted', () => {
    expect(valueOf(/everthread_turns_accepted_total\{graph="\w+"\}/)).toBe(2);
    expect(valueOf(/everthread_turns_settled_total\{graph="\w+",status="committed"\}/)).toBe(2);
    expect(valueOf(/everthread_turn_seconds_count\{graph="\w+",status="committed"\}/)).toBe(2);
    expect(valueOf(/everthread_first_token_seconds_count\{graph="\w+"\}/)).toBe(1);
    expect(valueOf(/everthread_claims_total\{outcome="claimed"\}/)).toBe(2);
    expect(valueOf(/everthread_commit_seconds_count/)).toBe(2);
    expect(
      valueOf(/everthread_model_call_seconds_count\{graph="\w+",outcome="answered"\}/),
    ).toBeGreaterThanOrEqual(2);
    expect(valueOf(/everthread_model_messages_total\{graph="\w+"\}/)).toBeGreaterThanOrEqual(2);
    expect(valueOf(/everthread_relay_frames_published_total\{kind="wake"\}/)).toBe(2);
    expect(valueOf(/everthread_live_turns/)).toBe(0);
    expect(valueOf(/everthread_open_streams/)).toBe(0);
    expect(
      valueOf(/everthread_http_requests_total\{method="POST",route="\/v1\/chat",status="200"\}/),
    ).toBe(1);
    expect(page).toMatch(/^process_resident_memory_bytes \d/m);
  });

  test("O9 the Temporal SDK's own numbers stand on the same page", () => {
    expect(page).toMatch(/^temporal_\w+_total\{/m);
    expect(page).toMatch(/^temporal_activity_schedule_to_start_latency_seconds_bucket\{/m);
  });

  test('O9 labels hold no ids and no text', () => {
    for (const secret of [thread, 'canary', 'nobody']) expect(page).not.toContain(secret);
    const labels = [...page.matchAll(/[{,](\w+)="/g)].map(([, name]) => name);
    expect(
      [...new Set(labels)].filter((name) => /thread|turn|tenant|user/.test(name ?? '')),
    ).toEqual([]);
  });
});

describe('metrics of a gateway and a worker on PostgreSQL', () => {
  const undo: (() => Promise<unknown>)[] = [];
  let cluster: Cluster;
  beforeAll(async () => {
    const [temporal, database, model] = await Promise.all([
      startTestTemporal(),
      emptyTarget('postgres'),
      startScriptedModel(),
    ]);
    undo.push(
      () => temporal.stop(),
      () => database.remove(),
      () => model.close(),
    );
    if (database.target.kind !== 'postgres') throw new Error('not PostgreSQL');
    cluster = await startCluster({
      ...{ port: await freePort(), workers: 1, postgresUrl: database.target.url },
      temporalAddress: temporal.address,
      env: {
        EVERTHREAD_METRICS_PORT: '0',
        EVERTHREAD_MODEL: 'openai:scripted',
        OPENAI_API_KEY: 'test',
        OPENAI_BASE_URL: model.url,
        LOG_LEVEL: 'debug',
      },
    });
    undo.push(() => cluster.stop());
  });
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  });

  const linesOf = (proc: Proc | undefined): Record<string, unknown>[] =>
    (proc?.log() ?? '')
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const pageOf = async (proc: Proc | undefined): Promise<string> => {
    const url = /metrics are at (http:[^"\s]+)/.exec(proc?.log() ?? '')?.[1];
    return await (await fetch(url ?? 'http://nowhere.invalid')).text();
  };
  const post = (thread: string, headers: Record<string, string>, message = 'hello') =>
    request(`${cluster.url}/v1/threads/${thread}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ message }),
    });

  test('O9 each process counts its own half, and the relay its lag', async () => {
    expect(await post('streams', { accept: 'text/event-stream' })).toMatchObject({ status: 200 });
    const [gateway, worker] = [await pageOf(cluster.gateway), await pageOf(cluster.workers[0])];
    expect(gateway).toMatch(/^everthread_turns_accepted_total\{graph="\w+"\} 1$/m);
    expect(gateway).toMatch(/^everthread_relay_frames_heard_total [1-9]/m);
    expect(worker).toMatch(/^everthread_turns_settled_total\{graph="\w+",status="committed"\} 1$/m);
    expect(worker).toMatch(/^everthread_relay_lag_seconds_count [1-9]/m);
    expect(worker).toMatch(/^temporal_\w+_total\{/m);
  });

  test('A6 lines about a turn name it and its thread, and none holds a word of it, at debug and when it fails', async () => {
    const canary = 'canary words that nobody else says';
    const asked = [
      { thread: 'told', message: canary, status: 200, ran: ['committed'] },
      {
        thread: 'told-late',
        message: `fail=503 times=1 ${canary}`,
        status: 200,
        ran: ['committed'],
      },
      { thread: 'refused', message: `fail=400 ${canary}`, status: 502, ran: ['failed'] },
    ];
    for (const { thread, message, status, ran } of asked) {
      const answer = await post(thread, {}, message);
      expect(answer.status).toBe(status);
      const turn = String(answer.json.turn_id);
      const about = await until('the lines about the turn', () => {
        const lines = [cluster.gateway, cluster.workers[0]].flatMap((proc) => linesOf(proc));
        const found = lines.filter((line) => line.thread === thread && line.turn === turn);
        return found.some(({ msg }) => msg === 'request') ? found : undefined;
      });
      expect(about.filter(({ msg }) => msg === 'a turn ran').map((line) => line.status)).toEqual(
        ran,
      );
      const failed = about.filter(({ msg }) => String(msg).startsWith('a try failed'));
      expect(failed).toHaveLength(message === canary ? 0 : 1);
    }
    for (const proc of [cluster.gateway, cluster.workers[0]]) {
      expect(proc?.log()).not.toContain('canary');
      expect(proc?.log()).not.toContain('nobody else');
    }
  });

  test('A9 O9 a turn that no worker takes is seen, and goes on when a worker is there', async () => {
    await cluster.workers[0]?.end();
    const { json } = await post('stuck', { prefer: 'respond-async' });
    const turn = String(json.turn_id);
    expect(await pageOf(cluster.gateway)).toMatch(
      /^everthread_open_turns\{graph="\w+",status="pending"\} 1$/m,
    );
    const threads = async (...args: string[]) =>
      (await runCli(['threads', ...args, '--url', cluster.url])).stdout;
    expect(await threads('ls', '--status', 'busy')).toMatch(/^stuck .*pending \d+s$/m);
    expect(await threads('show', 'stuck')).toContain('no worker has taken it yet');
    expect(await threads('retry', 'stuck')).toContain(`is woken for turn ${turn}`);
    cluster.addWorker();
    await until('the turn to commit', async () => {
      const { json: now } = await request(`${cluster.url}/v1/threads/stuck/turns/${turn}`, {});
      return now.status === 'committed' ? true : undefined;
    });
    expect(await pageOf(cluster.gateway)).not.toMatch(/^everthread_open_turns\{/m);
  });
});
