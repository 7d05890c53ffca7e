/** What stops a turn that gets nowhere or costs too much (M8). Everything is read from the messages. Pure. */
import { z } from 'zod';
import { speakerOf, type MessageLike } from '../context/message.js';
import { circleIn, finishedCalls } from './fingerprint.js';

/** Limits of one turn. */
export const guardLimitsSchema = z.strictObject({
  /** Model calls per turn. */
  maxSteps: z.int().min(1).default(15),
  /** Tokens per turn, as the provider counts them. */
  maxTokens: z.int().min(1).optional(),
  /** Cost per turn, in the currency of the prices. */
  maxCost: z.number().positive().optional(),
  /** Per million tokens. Without prices there is no cost. */
  prices: z.strictObject({ input: z.number().min(0), output: z.number().min(0) }).optional(),
});
/** What a caller gives. */
export type GuardLimits = z.input<typeof guardLimitsSchema>;

/** Why a turn was stopped. */
export type GuardCode = 'loop_detected' | 'max_steps' | 'token_limit' | 'cost_limit';

/** A turn that was stopped, with a message for its user. Final: a retry would do the same. */
export class GuardError extends Error {
  override readonly name = 'GuardError';
  readonly code: GuardCode;

  constructor(code: GuardCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the running turn has used. */
export interface Usage {
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

/** What was used since the last question. */
export function usageOf(messages: readonly MessageLike[], limits: GuardLimits = {}): Usage {
  const replies = messages
    .slice(messages.findLastIndex((m) => speakerOf(m) === 'user') + 1)
    .filter((m) => speakerOf(m) === 'assistant');
  const sum = (name: 'input_tokens' | 'output_tokens') =>
    replies.reduce((n, { usage_metadata: u }) => n + tokensIn(u, name), 0);
  const inputTokens = sum('input_tokens');
  const outputTokens = sum('output_tokens');
  const { input = 0, output = 0 } = limits.prices ?? {};
  return {
    steps: replies.length,
    inputTokens,
    outputTokens,
    cost: (inputTokens * input + outputTokens * output) / 1_000_000,
  };
}

function tokensIn(usage: unknown, name: string): number {
  if (typeof usage !== 'object' || usage === null) return 0;
  const tokens: unknown = (usage as Record<string, unknown>)[name];
  return typeof tokens === 'number' && Number.isFinite(tokens) ? tokens : 0;
}

/** What must stop the turn before its next model call; undefined when it may go on. */
export function guardStop(
  messages: readonly MessageLike[],
  given: GuardLimits = {},
): GuardError | undefined {
  const limits = guardLimitsSchema.parse(given);
  const circle = circleIn(finishedCalls(messages));
  if (circle !== undefined)
    return new GuardError(
      'loop_detected',
      `I stopped: I called ${circle.join(', then ')} three times with the same arguments and got the same result each time. Asking in another way may help.`,
    );
  const used = usageOf(messages, limits);
  if (used.steps >= limits.maxSteps)
    return new GuardError(
      'max_steps',
      `I stopped after ${used.steps} steps without an end. A smaller question may help.`,
    );
  const tokens = used.inputTokens + used.outputTokens;
  if (limits.maxTokens !== undefined && tokens >= limits.maxTokens)
    return new GuardError(
      'token_limit',
      `I stopped: this turn has used ${tokens} tokens, its limit is ${limits.maxTokens}.`,
    );
  if (limits.maxCost !== undefined && used.cost >= limits.maxCost)
    return new GuardError(
      'cost_limit',
      `I stopped: this turn has reached its cost limit of ${limits.maxCost}.`,
    );
  return undefined;
}
