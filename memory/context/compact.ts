/** Merges a range of old messages into the summary. The only part of the pipeline that calls a model. */
import { elideMiddle } from './cut-text.js';
import { callsOf, speakerOf, textOf, type MessageLike, type Speaker } from './message.js';
import type { ContextState } from './plan.js';
import type { ContextSettings } from './settings.js';
import { coveredBy, type SummaryBuffer } from './summary.js';
import { jsonOf, type Tokenizer } from './tokens.js';
import { exchangesOf } from './view.js';

/** A message as the summariser reads it: text only, tool calls and outputs shortened. */
export interface Spoken {
  readonly index: number;
  readonly speaker: Speaker;
  readonly text: string;
}

/** What a summariser is asked. Everything in it is data; none of it instructs. */
export interface SummariseRequest {
  /** The summary so far, '' at first. What it says must survive in the new one. */
  readonly previous: string;
  readonly messages: readonly Spoken[];
  /** The new summary may have this many tokens. */
  readonly maxTokens: number;
  /** How many the rejected attempt had, when it is asked again for a shorter one. */
  readonly tooLong?: number;
  readonly signal: AbortSignal;
}

/** Asks a (cheap) model for one summary of the previous one and these messages. May throw; the pipeline copes. */
export type Summarise = (request: SummariseRequest) => Promise<string>;

/** A range that left the window and may be mined for long-term memory; `range` is the idempotency key within a thread. */
export interface ExtractionRequest {
  readonly range: string;
  readonly messages: readonly Spoken[];
}

/** What came of summarising. A failure changes nothing: the hard budget still holds, the next turn tries again (M7). */
export type Compaction =
  | {
      readonly kind: 'summarised';
      /** The update for the `summary` channel. */
      readonly summary: SummaryBuffer;
      readonly extraction: ExtractionRequest;
      readonly calls: number;
      /** True when the model did not keep to the limit twice and its text was cut. */
      readonly cut: boolean;
    }
  | { readonly kind: 'failed'; readonly why: 'threw' | 'empty' | 'refused' | 'timeout' };

/** One message may take this share of what the summariser reads at once. */
const messageShare = 0.25;
const refusal = /^\s*(i'?m sorry|sorry,|i can(no|')?t (help|assist|summari)|as an ai\b)/i;

/** Summarises messages `from` to `to` in as many calls as their size needs, each message in exactly one. */
export async function compact(
  state: ContextState,
  range: { readonly from: number; readonly to: number },
  deps: {
    readonly summarise: Summarise;
    readonly settings: ContextSettings;
    readonly tokenizer: Tokenizer;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Compaction> {
  const { settings, tokenizer } = deps;
  const messages = spokenBetween(state, range, deps);
  const maxTokens = Math.floor(settings.summaryShare * settings.budgetTokens);
  const attempt: Attempt = { ...deps, maxTokens, calls: 0, cut: false };
  let text = state.summary.text;
  for (const batch of batchesOf(messages, settings.budgetTokens - 2 * maxTokens, tokenizer)) {
    const next = await oneSummary(attempt, text, batch);
    if (typeof next !== 'string') return next;
    text = next;
  }
  const last = state.messages[range.to - 1];
  return {
    kind: 'summarised',
    summary: { text, upTo: range.to, upToId: last?.id ?? '', round: state.summary.round + 1 },
    extraction: { range: `${range.from}-${range.to}`, messages },
    calls: attempt.calls,
    cut: attempt.cut,
  };
}

interface Attempt {
  readonly summarise: Summarise;
  readonly settings: ContextSettings;
  readonly tokenizer: Tokenizer;
  readonly signal?: AbortSignal | undefined;
  readonly maxTokens: number;
  calls: number;
  cut: boolean;
}

type Failed = Extract<Compaction, { kind: 'failed' }>;

async function oneSummary(
  attempt: Attempt,
  previous: string,
  messages: readonly Spoken[],
): Promise<string | Failed> {
  const { maxTokens, tokenizer } = attempt;
  const first = await ask(attempt, { previous, messages, maxTokens });
  if (typeof first !== 'string') return first;
  const tokens = tokenizer.count(first, 8 * maxTokens);
  if (tokens <= maxTokens) return first;
  const second = await ask(attempt, { previous, messages, maxTokens, tooLong: tokens });
  const shortest = typeof second === 'string' ? second : first;
  const fitting = elideMiddle(shortest, maxTokens, tokenizer);
  attempt.cut ||= fitting !== shortest;
  return fitting;
}

async function ask(
  attempt: Attempt,
  request: Omit<SummariseRequest, 'signal'>,
): Promise<string | Failed> {
  const limit = AbortSignal.timeout(attempt.settings.summariseTimeoutMs);
  const signal = attempt.signal === undefined ? limit : AbortSignal.any([attempt.signal, limit]);
  attempt.calls += 1;
  try {
    const text = await Promise.race([attempt.summarise({ ...request, signal }), aborted(signal)]);
    if (text.trim() === '') return { kind: 'failed', why: 'empty' };
    return refusal.test(text) ? { kind: 'failed', why: 'refused' } : text.trim();
  } catch {
    attempt.signal?.throwIfAborted();
    return { kind: 'failed', why: limit.aborted ? 'timeout' : 'threw' };
  }
}

/** A model that does not listen to its signal is not waited for. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = () => reject(new Error('The summariser took too long.'));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });

function spokenBetween(
  state: ContextState,
  { from, to }: { readonly from: number; readonly to: number },
  { settings, tokenizer }: { readonly settings: ContextSettings; readonly tokenizer: Tokenizer },
): Spoken[] {
  const most = Math.max(32, Math.floor(settings.budgetTokens * messageShare));
  return exchangesOf(state.messages, coveredBy(state.summary, state.messages))
    .flatMap((e) => e.steps.flat())
    .filter(({ index }) => index >= from && index < to)
    .map(({ index, message }) => ({
      index,
      speaker: speakerOf(message),
      text: elideMiddle(spokenText(message), most, tokenizer),
    }));
}

const spokenText = (message: MessageLike): string =>
  [textOf(message), ...callsOf(message).map((c) => `[calls ${c.name}(${jsonOf(c.args)})]`)]
    .filter((text) => text !== '')
    .join('\n');

function* batchesOf(
  messages: readonly Spoken[],
  maxTokens: number,
  tokenizer: Tokenizer,
): Generator<readonly Spoken[]> {
  let batch: Spoken[] = [];
  let tokens = 0;
  for (const message of messages) {
    const cost = tokenizer.count(message.text) + 4;
    if (batch.length > 0 && tokens + cost > maxTokens) {
      yield batch;
      batch = [];
      tokens = 0;
    }
    batch.push(message);
    tokens += cost;
  }
  if (batch.length > 0) yield batch;
}
