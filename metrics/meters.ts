/** Everything that is counted, by name. Labels are few: `graphLabel` bounds the one that users choose. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** From a reply out of memory to a turn at its deadline of ten minutes. */
const turnSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
/** A transaction, or frames on their way. */
const momentSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

export type Meters = ReturnType<typeof createMeters>;

export function createMeters() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `everthread_${name}`, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name: `everthread_${name}`, help, labelNames, registers });
  const timer = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    buckets: number[],
  ) => new Histogram({ name: `everthread_${name}`, help, labelNames, buckets, registers });
  return {
    registry,
    /**
     * What only a scrape asks for, so that only a scrape pays. Done before any of the page is written: a `collect` of
     * prom-client may set no other gauge than its own.
     */
    readings: [] as (() => void | Promise<void>)[],
    graphLabel: boundedLabel(),
    ...gatewayMeters({ counter, gauge, timer }),
    ...workerMeters({ counter, gauge, timer }),
    framesPublished: counter('relay_frames_published_total', 'Frames given to the relay', 'kind'),
    framesHeard: counter('relay_frames_heard_total', 'Frames shown to a viewer here'),
    framesDropped: counter('relay_frames_dropped_total', 'Frames dropped: too many waited'),
    relayLag: timer(
      'relay_lag_seconds',
      'Oldest frame of a statement until sent',
      [],
      momentSeconds,
    ),
  };
}

interface Makers {
  readonly counter: <L extends string>(name: string, help: string, ...labels: L[]) => Counter<L>;
  readonly gauge: <L extends string>(name: string, help: string, ...labels: L[]) => Gauge<L>;
  readonly timer: <L extends string>(
    name: string,
    help: string,
    labels: L[],
    buckets: number[],
  ) => Histogram<L>;
}

const gatewayMeters = ({ counter, gauge, timer }: Makers) => ({
  accepted: counter('turns_accepted_total', 'Turns accepted', 'graph'),
  refused: counter('turns_refused_total', 'Turns refused at accept', 'reason'),
  openTurns: gauge('open_turns', 'Turns of the store that are not settled', 'graph', 'status'),
  oldestOpen: gauge('oldest_open_turn_seconds', 'Age of the oldest of them', 'graph', 'status'),
  queueBacklog: gauge('queue_backlog', 'Tasks that wait on a task queue, about', 'queue'),
  queueWorkers: gauge('queue_workers', 'Workers that ask a task queue for turns', 'queue'),
  requests: counter('http_requests_total', 'Requests answered', 'method', 'route', 'status'),
  requestTime: timer(
    'http_request_seconds',
    'Time to answer, streams aside',
    ['route'],
    turnSeconds,
  ),
  openRequests: gauge('open_requests', 'Requests under way, streams aside'),
  openStreams: gauge('open_streams', 'Streams that readers follow'),
});

const workerMeters = ({ counter, gauge, timer }: Makers) => ({
  settled: counter('turns_settled_total', 'Turns settled by this process', 'graph', 'status'),
  turnTime: timer('turn_seconds', 'From accept to settlement', ['graph', 'status'], turnSeconds),
  waitTime: timer('turn_wait_seconds', 'From accept to the first claim', ['graph'], turnSeconds),
  firstToken: timer(
    'first_token_seconds',
    'From accept to the first token',
    ['graph'],
    turnSeconds,
  ),
  claims: counter('claims_total', 'Looks at a thread, by what they found', 'outcome'),
  triesFailed: counter('tries_failed_total', 'Tries that failed and count', 'graph'),
  yields: counter('yields_total', 'Turns given back for another worker'),
  flushes: counter('flushes_total', 'Supersteps and tasks made durable'),
  commitTime: timer('commit_seconds', 'The settling transaction', [], momentSeconds),
  fenceLost: counter('fence_lost_total', 'Writes refused: another attempt has the turn'),
  liveTurns: gauge('live_turns', 'Turns that run in this process'),
  modelCallTime: timer(
    'model_call_seconds',
    'Calls of models, those of failed attempts too',
    ['graph', 'outcome'],
    turnSeconds,
  ),
  modelMessages: counter('model_messages_total', 'Messages of models in settled turns', 'graph'),
  tokens: counter('model_tokens_total', 'Tokens of settled turns', 'graph', 'direction'),
});

/** A deploy that makes up graph names must not make up series. */
const mostGraphs = 100;

function boundedLabel(): (graph: string) => string {
  const known = new Set<string>();
  return (graph) => {
    if (known.size < mostGraphs) known.add(graph);
    return known.has(graph) ? graph : 'other';
  };
}
