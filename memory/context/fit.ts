/** The hard budget: which messages fit, and how a single exchange that does not is shortened (M1). Pure. */
import { elideMiddle } from './cut-text.js';
import { callsOf, speakerOf, textOf, withCalls, withText, type MessageLike } from './message.js';
import { exchangeTokens } from './plan.js';
import { jsonOf, messageTokens, type Tokenizer } from './tokens.js';
import type { Exchange, Step } from './view.js';

/** The messages that fit. */
export interface Fitting<M extends MessageLike> {
  readonly messages: readonly M[];
  readonly tokens: number;
  /** Whether anything of the view is missing. */
  readonly leftOut: boolean;
}

/** What must be in every request does not fit into the budget. */
export class ContextTooSmallError extends Error {
  override readonly name = 'ContextTooSmallError';
  /** Stable, for callers that map errors. */
  readonly code = 'context_too_small';
  readonly neededTokens: number;
  readonly budgetTokens: number;

  constructor(neededTokens: number, budgetTokens: number) {
    super(
      `The parts that every request needs take ${neededTokens} tokens, the budget is ${budgetTokens}. Raise the budget, or shorten the system prompt and the tools.`,
    );
    this.neededTokens = neededTokens;
    this.budgetTokens = budgetTokens;
  }
}

/** A shortened message keeps at least this: its note fits, and a few words of each end. */
const leastTokens = 32;

/** The newest exchanges that fit into `room`, whole; the newest one shortened if it alone does not. Undefined when not even that. */
export function fit<M extends MessageLike>(
  exchanges: readonly Exchange<M>[],
  room: number,
  tokenizer: Tokenizer,
): Fitting<M> | undefined {
  const newest = exchanges.at(-1);
  if (newest === undefined) return { messages: [], tokens: 0, leftOut: false };
  let tokens = exchangeTokens(tokenizer, newest, room);
  if (tokens > room) return squeeze(newest.steps, room, tokenizer);
  let first = exchanges.length - 1;
  for (; first > 0; first--) {
    const earlier = exchanges[first - 1];
    if (earlier === undefined) break;
    const cost = exchangeTokens(tokenizer, earlier, room - tokens);
    if (tokens + cost > room) break;
    tokens += cost;
  }
  const messages = exchanges.slice(first).flatMap(messagesOf);
  return { messages, tokens, leftOut: first > 0 };
}

const messagesOf = <M extends MessageLike>({ steps }: Pick<Exchange<M>, 'steps'>): M[] =>
  steps.flat().map(({ message }) => message);

/** The question, and of the steps after it the newest that fit. A step stays whole: a call with its results. */
function squeeze<M extends MessageLike>(
  steps: readonly Step<M>[],
  room: number,
  tokenizer: Tokenizer,
): Fitting<M> | undefined {
  const first = steps[0]?.[0];
  const asked = first !== undefined && speakerOf(first.message) === 'user';
  const rest = asked ? steps.slice(1) : steps;
  const question = asked
    ? [shortened(first.message, rest.length > 0 ? room / 2 : room, tokenizer)]
    : [];
  let left = room - tokensOf(question, tokenizer);
  if (left < 0) return undefined;

  const kept: M[][] = [];
  for (const step of rest.toReversed()) {
    const whole = step.map(({ message }) => message);
    const fits = exchangeTokens(tokenizer, { steps: [step] }, left) <= left;
    const messages = fits
      ? whole
      : kept.length === 0
        ? squeezeStep(whole, left, tokenizer)
        : undefined;
    if (messages === undefined) break;
    kept.unshift(messages);
    left -= tokensOf(messages, tokenizer);
  }
  if (rest.length > 0 && kept.length === 0) return undefined;
  return {
    messages: [...question, ...kept.flat()],
    tokens: room - left,
    leftOut: kept.length < rest.length,
  };
}

const tokensOf = (messages: readonly MessageLike[], tokenizer: Tokenizer): number =>
  messages.reduce((sum, m) => sum + messageTokens(tokenizer, m), 0);

/** A reply with its results, every message capped at a smaller and smaller share until all fit. */
function squeezeStep<M extends MessageLike>(
  messages: readonly M[],
  room: number,
  tokenizer: Tokenizer,
): M[] | undefined {
  for (let cap = room; cap >= 4; cap = cap / 2) {
    const short = messages.map((m) => shortened(m, cap, tokenizer));
    if (short.reduce((sum, m) => sum + messageTokens(tokenizer, m, room), 0) <= room) return short;
  }
  return undefined;
}

/** The message within `cap` tokens, or as near as its frame lets it. Arguments of calls are shortened last. */
function shortened<M extends MessageLike>(message: M, cap: number, tokenizer: Tokenizer): M {
  if (messageTokens(tokenizer, message, cap) <= cap) return message;
  let short = message;
  const calls = callsOf(short);
  if (calls.length > 0) {
    const perCall = Math.max(8, (cap - leastTokens) / calls.length);
    short = withCalls(
      short,
      calls.map((call) => ({ ...call, args: shortArguments(call.args, perCall, tokenizer) })),
    );
  }
  const frame = messageTokens(tokenizer, withText(short, ''), cap);
  return withText(
    short,
    elideMiddle(textOf(message), Math.max(0, Math.floor(cap - frame)), tokenizer),
  );
}

function shortArguments(args: unknown, maxTokens: number, tokenizer: Tokenizer): unknown {
  const json = jsonOf(args);
  if (tokenizer.count(json, maxTokens) <= maxTokens) return args;
  return { arguments_left_out: `${json.length} characters` };
}
