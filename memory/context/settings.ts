/** The numbers of the context pipeline, checked once when a context is made. */
import { z } from 'zod';

const share = z.number().gt(0).lt(1);

/** Settings of the pipeline; only the budget has no default. */
export const contextSettingsSchema = z
  .strictObject({
    /** Tokens of a whole request: system prompt, tools, summary, messages, and what is reserved for the reply. */
    budgetTokens: z.int().min(64),
    /** Tokens kept free for the reply, for models whose limit covers both. */
    replyTokens: z.int().min(0).default(0),
    /** Above this share of the budget old messages are summarised. */
    trigger: share.default(0.8),
    /** Summarising brings the request down to this share, so that it is rare: each one costs a call and the provider's prefix cache. */
    lowWater: share.default(0.5),
    /** The summary never takes more than this share. */
    summaryShare: share.default(0.15),
    /** What long-term memory recalls for a turn never takes more than this share. */
    recallShare: share.default(0.1),
    /** At most this many messages stay after summarising; fewer when they are long, whole exchanges always. */
    keepMessages: z.int().min(1).default(10),
    /** A cheap model that does not answer must not hold the turn. */
    summariseTimeoutMs: z.int().min(1).default(30_000),
  })
  .refine((s) => s.lowWater < s.trigger, { error: 'lowWater must be below trigger' })
  .refine((s) => s.replyTokens < s.budgetTokens / 2, {
    error: 'replyTokens must leave half of the budget',
  });

/** What a caller gives. */
export type ContextSettingsInput = z.input<typeof contextSettingsSchema>;
/** The same with every default filled in. */
export type ContextSettings = z.output<typeof contextSettingsSchema>;
