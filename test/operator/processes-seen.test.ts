/** What an operator sees of a gateway and a worker that are processes of their own: traces, metrics, task queues. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { freePort } from '../../temporal/ports.js';
import { runCli } from '../cli/run-cli.js';
import { emptyTarget } from '../support/database.js';
import { above, startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.js';
import { startCluster, type Cluster, type Proc } from '../support/processes.js';
import { request } from '../support/product.js';
import { startScriptedModel } from '../support/scripted-model.js';
import { startTestTemporal } from '../support/temporal-server.js';
import { until } from '../support/until.js';

const project = path.resolve('test/fixtures/projects/placed/langgraph.json');
const canary = 'canary words that nobody else says';
const undo: (() => Promise<unknown>)[] = [];
const taskQueue = `seen-${randomUUID()}`;
let collector: OtlpReceiver;
let cluster: Cluster;
let temporalAddress: string;

beforeAll(async () => {
  const [temporal, database, model] = await Promise.all([
    startTestTemporal(),
    emptyTarget('postgres'),
    startScriptedModel(),
  ]);
  collector = await startOtlpReceiver();
  undo.push(
    () => temporal.stop(),
    () => database.remove(),
    () => model.close(),
    () => collector.close(),
  );
  if (database.target.kind !== 'postgres') throw new Error('not PostgreSQL');
  temporalAddress = temporal.address;
  cluster = await startCluster({
    ...{ port: await freePort(), workers: 1, postgresUrl: database.target.url },
    temporalAddress,
    env: {
      EVERTHREAD_CONFIG: project,
      EVERTHREAD_TASK_QUEUE: taskQueue,
      EVERTHREAD_METRICS_PORT: '0',
      OPENAI_API_KEY: 'test',
      OPENAI_BASE_URL: model.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
  });
  undo.push(() => cluster.stop());
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

const post = (thread: string, body: object, headers: Record<string, string> = {}) =>
  request(`${cluster.url}/v1/threads/${thread}/turns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const pageOf = async (proc: Proc | undefined): Promise<string> => {
  const url = await until(
    'the address of the metrics',
    () => /metrics are at (http:[^"\s]+)/.exec(proc?.log() ?? '')?.[1],
  );
  return await (await fetch(url)).text();
};

describe('a gateway and a worker of their own', () => {
  test('O10 one trace reaches from the request at the gateway to the commit at the worker, in protobuf', async () => {
    const traceId = randomBytes(16).toString('hex');
    const parentId = randomBytes(8).toString('hex');
    const answer = await post(
      'traced',
      { message: `tool=clock:%7B%7D ${canary}`, graph: 'near' },
      { traceparent: `00-${traceId}-${parentId}-01` },
    );
    expect(answer.status).toBe(200);
    const asked = 'POST /v1/threads/:thread/turns';
    const signal = 'SignalWithStartWorkflow:thread';
    const activity = 'RunActivity:runTurn';
    const spans = await collector.trace(traceId, asked, activity, 'commit', 'accept', 'flush');
    const lineOf = (name: string): readonly string[] => {
      const span = spans.find((one) => one.name === name);
      if (span === undefined) throw new Error(`no span ${name}`);
      return [span, ...above(span, spans)].map((one) => `${one.service} ${one.name}`);
    };
    const gateway = (name: string) => `everthread-gateway ${name}`;
    const worker = (name: string) => `everthread-worker ${name}`;
    const toRequest = [worker(activity), gateway(signal), gateway(asked)];
    expect(lineOf('accept')).toEqual([gateway('accept'), gateway(asked)]);
    for (const name of ['claim', 'flush', 'commit'])
      expect(lineOf(name)).toEqual([worker(name), ...toRequest]);
    expect(lineOf('chat scripted')).toEqual([
      ...['chat scripted', 'node speak', 'node answer'].map(worker),
      ...toRequest,
    ]);
    expect(lineOf('execute_tool clock')).toEqual([
      ...['execute_tool clock', 'node tools'].map(worker),
      ...toRequest,
    ]);
    expect(spans.find(({ name }) => name === asked)?.parentSpanId).toBe(parentId);
    expect(spans.find(({ name }) => name === activity)?.attributes).toMatchObject({
      'everthread.turn_id': answer.json.turn_id,
      'everthread.seq': 1,
    });
    for (const secret of ['canary', 'nobody', 'noon'])
      expect(collector.text()).not.toContain(secret);
  });

  test('Q6 a task queue that no worker serves is named by doctor, threads show and the metrics', async () => {
    const { json } = await post(
      'waits',
      { message: 'hello', graph: 'far' },
      { prefer: 'respond-async' },
    );
    expect(json.status).toBe('pending');
    const page = await pageOf(cluster.gateway);
    expect(page).toMatch(/^everthread_queue_workers\{queue="main"\} 1$/m);
    expect(page).toMatch(/^everthread_queue_workers\{queue="gpu"\} 0$/m);
    expect(page).toMatch(/^everthread_queue_backlog\{queue="gpu"\} \d+$/m);
    const shown = await runCli(['threads', 'show', 'waits', '--url', cluster.url]);
    expect(shown.stdout).toContain(`waits    for a worker on queue ${taskQueue}.gpu; none polls\n`);
    const env = { TEMPORAL_ADDRESS: temporalAddress, EVERTHREAD_TASK_QUEUE: taskQueue };
    const doctor = await runCli(['doctor', project], { env });
    expect(doctor.code).toBe(0);
    expect(doctor.stdout).toContain(`ok    task queue ${taskQueue}: 1 worker, graph "near"\n`);
    expect(doctor.stdout.match(/task queue/g)).toHaveLength(2); // each once
    expect(doctor.stdout).toContain(
      `note  task queue ${taskQueue}.gpu: no worker, so turns of graph "far" wait`,
    );
    expect(doctor.stdout).toContain('"everthread worker --task-queue gpu"\n');
  });

  test('O9 every query of the dashboard and of the alerts names metrics and labels that these processes have', async () => {
    // Each counter with labels has a series once it has counted.
    await post('tried', { message: 'fail=503 times=1', graph: 'near' });
    await post('tried', { message: 'hello', graph: 'far' });
    const stream = { accept: 'text/event-stream' };
    expect(await post('streams', { message: 'hello', graph: 'near' }, stream)).toMatchObject({
      status: 200,
    });
    await post('open', { message: 'hello', graph: 'far' }, { prefer: 'respond-async' });
    const pages = await Promise.all([pageOf(cluster.gateway), pageOf(cluster.workers[0])]);
    const lines = pages.join('\n').split('\n');
    const queries = [...dashboardQueries(), ...alertQueries()];
    expect(queries.length).toBeGreaterThan(40);
    const missing = queries.flatMap((query) =>
      selectorsOf(query).filter(({ metric, labels }) => {
        const series = lines.filter((line) => /^\w+/.exec(line)?.[0] === metric);
        return (
          series.length === 0 ||
          labels.some((label) => series.every((line) => !line.includes(`${label}="`)))
        );
      }),
    );
    expect(missing).toEqual([]);
  });
});

/** Those of its panels, and of the list of graphs. */
function dashboardQueries(): readonly string[] {
  const text = readFileSync('docs/grafana-dashboard.json', 'utf8');
  const found: string[] = [];
  JSON.parse(text, (key, value: unknown) => {
    if (key === 'expr' || key === 'query') found.push(String(value));
    return value;
  });
  return found.filter((query) => query.includes('_'));
}

/** Of the table "Worth an alert". */
const alertQueries = (): readonly string[] =>
  [...readFileSync('docs/OPERATIONS.md', 'utf8').matchAll(/^\| [^|]*?`([^`]+)`[^|]*\|/gm)]
    .map(([, query = '']) => query)
    .filter((query) => metricName.test(query));

const metricName = /\b(?:everthread|temporal|process|nodejs)_\w+/;
/** Of Prometheus, which adds it to each series of a process. */
const ofTheScrape = new Set(['instance', 'job']);

/** Each metric of a query, with the labels that it is picked or grouped by. */
function selectorsOf(query: string): readonly { metric: string; labels: readonly string[] }[] {
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim()),
  );
  return [...query.matchAll(new RegExp(`(${metricName.source})(?:\\{([^}]*)\\})?`, 'g'))].map(
    ([, metric = '', picked = '']) => ({
      metric,
      labels: [
        ...grouped,
        ...[...picked.matchAll(/(\w+)\s*=/g)].map(([, name = '']) => name),
      ].filter((label) => !ofTheScrape.has(label)),
    }),
  );
}
