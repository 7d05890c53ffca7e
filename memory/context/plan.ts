/** What must happen before the next model call. Pure: the same state gives the same plan. */
import type { MessageLike } from './message.js';
import { messageTokens, type Tokenizer } from './tokens.js';
import { exchangesOf, type Exchange } from './view.js';
import type { ContextSettings } from './settings.js';
import { coveredBy, type SummaryBuffer } from './summary.js';

/** What the pipeline reads of an agent's state. */
export interface ContextState<M extends MessageLike = MessageLike> {
  readonly messages: readonly M[];
  readonly summary: SummaryBuffer;
}

/** What must happen before the next model call. */
export type Plan =
  /** Below the trigger. */
  | { readonly kind: 'fits'; readonly tokens: number }
  /** Messages `from` (inclusive) to `to` (exclusive) are to be merged into the summary. */
  | {
      readonly kind: 'summarise';
      readonly tokens: number;
      readonly from: number;
      readonly to: number;
    }
  /** Above the trigger, but only the running exchange is left: it is shortened for the prompt, never summarised. */
  | { readonly kind: 'one_exchange'; readonly tokens: number };

/** What every request of a context holds: system prompt, tools, reserve for the reply. */
export interface Fixed {
  readonly tokens: number;
}

/** Counts the view and, above the trigger, finds the border up to which it is summarised (M5). */
export function planFor(
  state: ContextState,
  { settings, tokenizer, fixed }: { settings: ContextSettings; tokenizer: Tokenizer; fixed: Fixed },
): Plan {
  const from = coveredBy(state.summary, state.messages);
  const exchanges = exchangesOf(state.messages, from);
  const cap = settings.budgetTokens;
  const costs = exchanges.map((e) => exchangeTokens(tokenizer, e, cap));
  const tokens =
    fixed.tokens + tokenizer.count(state.summary.text, cap) + costs.reduce((a, b) => a + b, 0);
  if (tokens <= settings.trigger * cap) return { kind: 'fits', tokens };

  const room = settings.lowWater * cap - fixed.tokens - settings.summaryShare * cap;
  let kept = exchanges.length - 1;
  let keptTokens = costs[kept] ?? 0;
  while (kept > 0) {
    const earlier = exchanges[kept - 1];
    const cost = costs[kept - 1] ?? 0;
    if (earlier === undefined || keptTokens + cost > room) break;
    if (state.messages.length - earlier.start > settings.keepMessages) break;
    keptTokens += cost;
    kept -= 1;
  }
  const to = exchanges[kept]?.start ?? from;
  return kept <= 0 || to <= from
    ? { kind: 'one_exchange', tokens }
    : { kind: 'summarise', tokens, from, to };
}

/** Tokens of an exchange; counting stops early above `limit`. */
export const exchangeTokens = (
  tokenizer: Tokenizer,
  { steps }: Pick<Exchange<MessageLike>, 'steps'>,
  limit?: number,
): number =>
  steps.flat().reduce((sum, { message }) => sum + messageTokens(tokenizer, message, limit), 0);
