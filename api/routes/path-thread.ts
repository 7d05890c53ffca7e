import type { Request, Response } from 'express';
import type { ThreadKey } from '../../contracts/protocol.js';
import type { Gateway } from '../gateway.js';
import { Problem } from '../problem.js';
import { note } from '../request.js';
import { namedThreadId } from '../thread-id.js';

/** The thread that the path names, of the caller's tenant. */
export async function pathThread(
  gateway: Gateway,
  req: Request,
  res: Response,
): Promise<ThreadKey> {
  const { tenant } = await gateway.identify(req);
  const threadId = namedThreadId(req, { path: String(req.params.thread) });
  if (threadId === undefined) throw unknownThread();
  note(res, { thread: threadId });
  return { tenant, threadId };
}

/** The same for a thread that never was, is deleted, or is someone else's. */
export const unknownThread = (): Problem => new Problem('not_found', 'There is no such thread.');
