/** What Prometheus reads of the running product, and the dashboard that shows it. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { freePort } from '../../temporal/ports.js';
import { startProduct, type Product } from '../support/product.js';

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

  test('O9 the dashboard shows only metrics that there are', () => {
    const dashboard = readFileSync('docs/grafana-dashboard.json', 'utf8');
    const named = new Set(
      [...dashboard.matchAll(/\b(?:everthread|temporal|process|nodejs)_\w+/g)].map(
        ([name]) => name,
      ),
    );
    const missing = [...named].filter(
      (name) =>
        !page.includes(`# TYPE ${name.replace(/_(bucket|count|sum)$/, '')} `) &&
        !page.includes(`# TYPE ${name} `),
    );
    expect(named.size).toBeGreaterThan(20);
    expect(missing).toEqual([]);
  });
});
