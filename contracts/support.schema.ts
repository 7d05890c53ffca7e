/** The wire contract of `POST /v1/support/chat`. */
import { z } from 'zod';
import { messageSchema, threadIdSchema, userIdSchema } from './http.schema.js';

/** Name of the graph that answers there. */
export const supportGraph = 'support';

export const supportRequestSchema = z.strictObject({
  message: messageSchema,
  /** The thread to go on with; a new one is made when none is named. */
  thread_id: threadIdSchema.optional(),
  /** Whose long-term memory the turn may write. */
  user_id: userIdSchema.optional(),
});

export const supportReplySchema = z.object({
  answer: z.string(),
  /** The area that the answer is from; `unclear` when it was asked back, `other` when the documents do not say. */
  category: z.string(),
  /** Whether this turn wrote something to the user's long-term memory. */
  memory_updated: z.boolean(),
  thread_id: z.string(),
  /** The answer is a question: the next message on the thread is understood as its answer. */
  clarification_needed: z.boolean(),
  turn_id: z.string(),
  /** Sections that the answer is made from, the best first. */
  sources: z.array(z.object({ source: z.string(), heading: z.string() })),
});
export type SupportReply = z.infer<typeof supportReplySchema>;
