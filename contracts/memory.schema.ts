/** The wire contract of a user's long-term memory. */
import { z } from 'zod';
import { userIdSchema } from './http.schema.js';

const at = z.iso.datetime();

export const factReplySchema = z.object({
  id: z.string(),
  /** Whom or what it is about: `user` for the user himself. */
  subject: z.string(),
  predicate: z.string(),
  value: z.string(),
  text: z.string(),
  /** How far it is trusted. */
  status: z.enum(['verified', 'preference', 'claimed']),
  source: z.enum(['operator', 'approver', 'tool', 'user']),
  confidence: z.number(),
  evidence: z.object({
    thread_id: z.string(),
    message_id: z.string(),
    quote: z.string(),
    tool_call_id: z.string().optional(),
  }),
  valid_from: at,
  /** When it ceased to be so; null while it is. */
  valid_to: at.nullable(),
  recorded_at: at,
  /** When it was ended here: superseded, corrected or withdrawn. */
  ended_at: at.nullable(),
  superseded_by: z.string().nullable(),
  expires_at: at.nullable(),
});
export type FactReply = z.infer<typeof factReplySchema>;

export const episodeReplySchema = z.object({
  id: z.string(),
  thread_id: z.string(),
  task: z.string(),
  steps: z.array(z.object({ tool: z.string(), args: z.string(), ok: z.boolean() })),
  outcome: z.enum(['succeeded', 'failed']),
  result: z.string(),
  recorded_at: at,
  expires_at: at,
});
export type EpisodeReply = z.infer<typeof episodeReplySchema>;

export const userMemorySchema = z.object({
  user_id: userIdSchema,
  /** Oldest first. */
  facts: z.array(factReplySchema),
  /** Tasks and how they went, newest first; on the first page. */
  episodes: z.array(episodeReplySchema),
  /** The `after` of the next page; null at the end. */
  next_cursor: z.string().nullable(),
});
export type UserMemoryReply = z.infer<typeof userMemorySchema>;

export const correctFactSchema = z.strictObject({ value: z.string().trim().min(1).max(500) });
