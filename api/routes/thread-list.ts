/** Routes for those who look after threads: which there are, and waking one that is stuck. */
import type { Request, Response } from 'express';
import { z } from 'zod';
import {
  graphNameSchema,
  type ThreadPageReply,
  threadReplySchema,
  type WakeReply,
} from '../../contracts/http.schema.js';
import type { ThreadCursor } from '../../storage/port.js';
import { authorize } from '../authorize.js';
import { parseValue } from '../body.js';
import type { Gateway } from '../gateway.js';
import { unavailable } from '../problem.js';
import { note } from '../request.js';
import { pathThread, unknownThread } from './path-thread.js';
import { threadView } from './thread-routes.js';

const listQuery = z.strictObject({
  status: threadReplySchema.shape.status.optional(),
  graph: graphNameSchema.optional(),
  after: z
    .string()
    .regex(/^\d{1,15}\.[A-Za-z0-9._:-]{1,128}$/, 'must be a next_cursor')
    .transform((cursor): ThreadCursor => {
      const dot = cursor.indexOf('.');
      return { createdAtMs: Number(cursor.slice(0, dot)), threadId: cursor.slice(dot + 1) };
    })
    .optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export async function listThreads(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const caller = await gateway.identify(req);
  const { after = null, ...asked } = parseValue(listQuery, { ...req.query });
  const { limit, status } = asked;
  const { mine } = await authorize(gateway, caller, 'search', { limit, ...(status && { status }) });
  const { tenant } = caller;
  const { threads, next } = await gateway.storage.threads.list({ tenant, after, ...asked });
  // A page may hold fewer than there were asked for, or none; the cursor goes on all the same.
  const shown = mine === undefined ? threads : threads.filter((t) => mine(t.metadataJson));
  const reply: ThreadPageReply = {
    threads: shown.map(threadView),
    next_cursor: next === null ? null : `${next.createdAtMs}.${next.threadId}`,
  };
  res.json(reply);
}

/** P2: a wake may be repeated. It runs what is next and starts nothing of its own. */
export async function wakeThread(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const found = await gateway.storage.threads.get(await pathThread(gateway, req, res, 'update'));
  if (found === undefined) throw unknownThread();
  const { thread } = found;
  const ids = { thread_id: thread.threadId, ...(found.open && { turn_id: found.open.turnId }) };
  if (found.open === null) {
    res.json({ ...ids, woken: false } satisfies WakeReply);
    return;
  }
  const { turnId, seq } = found.open;
  note(res, { turn: turnId });
  const graph = found.graph ?? gateway.graphs.default;
  try {
    await gateway.wake.wake({ thread, turnId, seq, graph }, { start: true });
  } catch {
    throw unavailable('Temporal does not take the wake.', ids);
  }
  res.json({ ...ids, woken: true } satisfies WakeReply);
}
