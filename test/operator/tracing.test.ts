/** A collector gets one trace of each turn, from the HTTP request to the commit, and no word of what was said. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { openTracing } from '../../tracing/tracing.js';
import { above, startOtlpReceiver } from '../support/otlp-receiver.js';
import type { OtlpReceiver, ReceivedSpan } from '../support/otlp-receiver.js';
import { startProduct, type Product } from '../support/product.js';

test('O10 traces that are off give everything back as it is', async () => {
  const { requests, runs, client, worker } = await openTracing(null, { warn: () => undefined });
  const app = (): void => undefined;
  expect(requests(app)).toBe(app);
  expect({ runs, client, worker }).toEqual({ runs: undefined, client: {}, worker: {} });
});

describe('traces of everthread dev', () => {
  let collector: OtlpReceiver;
  let product: Product;
  const canary = 'canary words that nobody else says';

  beforeAll(async () => {
    collector = await startOtlpReceiver();
    product = await startProduct({
      EVERTHREAD_CONFIG: path.resolve('test/fixtures/projects/traced/langgraph.json'),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      EVERTHREAD_ISOLATION_THREADS: '1',
    });
  });
  afterAll(async () => {
    await product.stop();
    await collector.close();
  });

  /** Posts a turn within a trace of the caller's. */
  const post = async (thread: string, message: string, graph = 'inline') => {
    const traceId = randomBytes(16).toString('hex');
    const parentId = randomBytes(8).toString('hex');
    const route = `/v1/threads/${thread}/turns`;
    const headers = { traceparent: `00-${traceId}-${parentId}-01`, baggage: `said=${canary}` };
    const answer = await product.post(route, { message, graph }, headers);
    return { answer, traceId, parentId };
  };
  const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] =>
    spans.filter((span) => span.name === name);
  const one = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
    const found = named(spans, name);
    expect(found.map((span) => span.name)).toEqual([name]);
    return found[0]!;
  };

  const request = 'POST /v1/threads/:thread/turns';
  const signal = 'SignalWithStartWorkflow:thread';
  const activity = 'RunActivity:runTurn';
  const toRequest = [activity, signal, request];

  test.each(['inline', 'apart'])(
    'O10 a turn is one trace from the request to the commit, its nodes, model calls and tools within: %s',
    async (graph) => {
      const thread = `traced-${graph}`;
      const { answer, traceId, parentId } = await post(
        thread,
        `tool=clock:%7B%7D ${canary}`,
        graph,
      );
      expect(answer.status).toBe(200);
      const spans = await collector.trace(traceId, request, activity, 'commit');
      const names = (span: ReceivedSpan) => above(span, spans).map(({ name }) => name);
      expect(one(spans, request).parentSpanId).toBe(parentId);
      expect(names(one(spans, 'accept'))).toEqual([request]);
      for (const name of ['claim', 'commit']) expect(names(one(spans, name))).toEqual(toRequest);
      expect(named(spans, 'flush').length).toBeGreaterThan(0);
      for (const flush of named(spans, 'flush')) expect(names(flush)).toEqual(toRequest);
      const calls = named(spans, 'chat scripted');
      expect(calls.map(names)).toEqual(
        calls.map(() => ['node speak', 'node answer', ...toRequest]),
      );
      expect(calls).toHaveLength(2);
      expect(names(one(spans, 'execute_tool clock'))).toEqual(['node tools', ...toRequest]);
      for (const span of spans) expect(span.endNs).toBeGreaterThanOrEqual(span.startNs);
    },
  );

  test('O10 spans say which turn, which attempt, which model, and how many tokens', async () => {
    const { answer, traceId } = await post('described', canary);
    const spans = await collector.trace(traceId, request, activity, 'commit');
    const turn = {
      'everthread.tenant': 'default',
      'everthread.thread_id': 'described',
      'everthread.turn_id': answer.json.turn_id,
      'everthread.epoch': 1,
      'everthread.seq': 1,
      'everthread.graph': 'inline',
    };
    expect(one(spans, request).attributes).toMatchObject({
      ...turn,
      'http.request.method': 'POST',
      'http.route': '/v1/threads/:thread/turns',
      'http.response.status_code': 200,
    });
    expect(one(spans, activity).attributes).toMatchObject({ ...turn, 'everthread.attempt': 1 });
    expect(one(spans, 'commit').attributes).toMatchObject({
      'everthread.status': 'committed',
      'everthread.version': 1,
    });
    expect(one(spans, 'chat scripted').attributes).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'scripted',
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
    expect(new Set(spans.map(({ service }) => service))).toEqual(new Set(['everthread']));
  });

  test('O10 a later turn of the thread is in its own trace, and so is each of several that wait', async () => {
    const turns = await Promise.all(['a', 'b', 'c'].map((text) => post('busy', text)));
    const traced = [...turns, await post('busy', 'd')];
    for (const { answer, traceId } of traced) {
      const spans = await collector.trace(traceId, request, activity, 'commit');
      expect(one(spans, 'claim').attributes).toMatchObject({
        'everthread.turn_id': answer.json.turn_id,
      });
    }
  });

  test('O10 a turn that fails shows its attempts and what kind of error it was', async () => {
    const { answer, traceId } = await post('fails', `fail=503 times=1 ${canary}`);
    expect(answer.status).toBe(200);
    const spans = await collector.trace(traceId, request, activity, 'commit');
    const attempts = named(spans, activity).sort((a, b) => Number(a.startNs - b.startNs));
    expect(attempts.map((span) => [span.attributes['everthread.attempt'], span.failed])).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(one(spans, 'count a failed try').attributes).toMatchObject({
      'everthread.failure': 'model_unavailable',
    });
    const [failed] = named(spans, 'chat scripted').filter((span) => span.failed);
    expect(failed?.attributes['error.type']).toMatch(/^\w+$/);
  });

  test('O10 A6 no attribute, event or status holds a word of a message, a prompt, a reply or a header', async () => {
    const { traceId } = await post('last', `fail=400 ${canary}`);
    await collector.trace(traceId, request, 'settle failed');
    expect(collector.text()).toContain('everthread.turn_id');
    for (const secret of ['canary', 'nobody', 'seen 1', 'noon', 'fail=400'])
      expect(collector.text()).not.toContain(secret);
  });
});
