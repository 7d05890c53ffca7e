/** Routes that change a thread's state in the order of its turns. Each is a turn, and answers as one (F5, F6). */
import type { Request, Response } from 'express';
import { resetThreadSchema, updateStateSchema } from '../../contracts/http.schema.js';
import type { EditInput } from '../../contracts/turn-input.js';
import { parseBody } from '../body.js';
import type { Gateway } from '../gateway.js';
import { postTurn } from '../post-turn.js';
import { Problem } from '../problem.js';
import { replyJson } from '../turn-reply.js';
import { pathThread, unknownThread } from './path-thread.js';

export async function postState(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const { values, as_node: asNode, if_version: ifVersion } = parseBody(updateStateSchema, req);
  const input: EditInput = {
    ...{ kind: 'update_state', values },
    ...(asNode !== undefined && { asNode }),
  };
  const { threadId } = await pathThread(gateway, req, res, 'update');
  await edit(gateway, req, res, { threadId, input, ifVersion });
}

/** A version that is not there now is refused here; one that a delete takes away meanwhile, in the turn's place. */
export async function resetThread(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const { version: toVersion, if_version: ifVersion } = parseBody(resetThreadSchema, req);
  const thread = await pathThread(gateway, req, res, 'update');
  const found = await gateway.storage.threads.history(thread, toVersion + 1, 1);
  if (found === undefined) throw unknownThread();
  if (found[0]?.version !== toVersion || found[0].checkpointId === null) {
    throw new Problem(
      'not_found',
      'The thread has no such version; GET …/history tells those it has.',
    );
  }
  const { threadId } = thread;
  await edit(gateway, req, res, { threadId, input: { kind: 'reset', toVersion }, ifVersion });
}

const edit = (
  gateway: Gateway,
  req: Request,
  res: Response,
  ask: {
    readonly threadId: string;
    readonly input: EditInput;
    readonly ifVersion: number | undefined;
  },
): Promise<void> =>
  postTurn(gateway, req, res, {
    ids: { path: ask.threadId },
    input: ask.input,
    ifVersion: ask.ifVersion,
    render: replyJson,
  });
