/** The support agent's own route: a turn like any other, on its graph, with its own form of request and reply. */
import type { Request, Response } from 'express';
import { z } from 'zod';
import {
  supportGraph,
  supportReplySchema,
  supportRequestSchema,
  type SupportReply,
} from '../../contracts/support.schema.js';
import type { TurnRecord } from '../../storage/port.js';
import { parseBody } from '../body.js';
import type { Gateway } from '../gateway.js';
import { postTurn } from '../post-turn.js';
import { Problem } from '../problem.js';

/** @throws Problem when this gateway serves no graph of that name */
export async function supportChat(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const body = parseBody(supportRequestSchema, req);
  if (!gateway.graphs.names.includes(supportGraph)) {
    throw new Problem(
      'not_found',
      `No graph "${supportGraph}" is served here: it ships with Everthread, and a langgraph.json replaces what ships.`,
    );
  }
  await postTurn(gateway, req, res, {
    ids: { body: body.thread_id },
    input: {
      ...{ kind: 'message', text: body.message },
      ...(body.user_id !== undefined && { userId: body.user_id }),
    },
    graph: supportGraph,
    render: (turn) => JSON.stringify(supportReply(turn)),
  });
}

/** What the graph tells of its answer. A project may serve a graph of this name that tells less. */
const toldSchema = supportReplySchema
  .pick({ category: true, memory_updated: true, clarification_needed: true, sources: true })
  .extend({
    category: z.string().catch('other'),
    memory_updated: z.boolean().catch(false),
    clarification_needed: z.boolean().catch(false),
    sources: supportReplySchema.shape.sources.catch([]),
  });

/** Pure, as every reply: a replay is the same bytes (C2). */
function supportReply(turn: TurnRecord): SupportReply {
  const told = toldSchema.parse(JSON.parse(turn.valuesJson ?? '{}'));
  return {
    answer: turn.response,
    category: told.category,
    memory_updated: told.memory_updated,
    thread_id: turn.thread.threadId,
    clarification_needed: told.clarification_needed,
    turn_id: turn.turnId,
    sources: told.sources,
  };
}
