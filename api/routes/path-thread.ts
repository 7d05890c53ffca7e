import type { Request, Response } from 'express';
import type { ThreadKey } from '../../contracts/protocol.js';
import { authorize } from '../authorize.js';
import type { Gateway } from '../gateway.js';
import { Problem } from '../problem.js';
import { note } from '../request.js';
import { namedThreadId } from '../thread-id.js';

/** The thread that the path names, if the caller may do this to it. */
export async function pathThread(
  gateway: Gateway,
  req: Request,
  res: Response,
  action: 'read' | 'update' | 'delete' = 'read',
): Promise<ThreadKey> {
  const caller = await gateway.identify(req);
  const threadId = namedThreadId(req, { path: String(req.params.thread) });
  if (threadId === undefined) throw unknownThread();
  note(res, { thread: threadId });
  const thread = { tenant: caller.tenant, threadId };
  const { mine } = await authorize(gateway, caller, action, { thread_id: threadId });
  if (mine === undefined) return thread;
  const found = await gateway.storage.threads.get(thread);
  if (found !== undefined && !mine(found.metadataJson)) throw unknownThread();
  return thread;
}

/** The same for a thread that never was, is deleted, or is someone else's. */
export const unknownThread = (): Problem => new Problem('not_found', 'There is no such thread.');
