import type { Request, Response } from 'express';
import type { AskedThread } from '../../storage/port.js';
import { authorize } from '../authorize.js';
import type { Gateway } from '../gateway.js';
import { Problem } from '../problem.js';
import { note } from '../request.js';
import { namedThreadId } from '../thread-id.js';

/** The thread that the path names, as the caller may ask for it: whose it is, storage looks when it reads or acts. */
export async function pathThread(
  gateway: Gateway,
  req: Request,
  res: Response,
  action: 'read' | 'update' | 'delete' = 'read',
): Promise<AskedThread> {
  const caller = await gateway.identify(req);
  const threadId = namedThreadId(req, { path: String(req.params.thread) });
  if (threadId === undefined) throw unknownThread();
  note(res, { thread: threadId });
  const { mine } = await authorize(gateway, caller, action, { thread_id: threadId });
  return { tenant: caller.tenant, threadId, mine };
}

/** The same for a thread that never was, is deleted, or is someone else's. */
export const unknownThread = (): Problem => new Problem('not_found', 'There is no such thread.');
