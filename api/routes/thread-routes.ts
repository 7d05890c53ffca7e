/** Routes about threads. They show committed data only. */
import type { Request, Response } from 'express';
import { z } from 'zod';
import { reachCrashPoint } from '../../contracts/crash-point.js';
import {
  createThreadSchema,
  type HistoryReply,
  type MessagePageReply,
  type StateReply,
  type ThreadReply,
} from '../../contracts/http.schema.js';
import type { MessageCursor, OpenTurn, ThreadRecord } from '../../storage/port.js';
import { canonicalJson, canonicalText } from '../../storage/stored-json.js';
import { authorize } from '../authorize.js';
import { parseBody, parseValue } from '../body.js';
import type { Gateway } from '../gateway.js';
import { idempotencyKey } from '../idempotency.js';
import { checkGraph } from '../post-turn.js';
import { Problem } from '../problem.js';
import { note } from '../request.js';
import { namedThreadId, newThreadId } from '../thread-id.js';
import { pathThread, unknownThread } from './path-thread.js';

/** Creating a thread again with the same data gives the thread that is there; with other data it is refused. */
export async function createThread(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const body = parseBody(createThreadSchema, req);
  const caller = await gateway.identify(req);
  const { tenant } = caller;
  const key = idempotencyKey(req, gateway.storage.kind);
  const threadId = namedThreadId(req, { body: body.thread_id }) ?? newThreadId(caller, key);
  note(res, { thread: threadId });
  checkGraph(gateway, body.graph);
  const allowed = await authorize(gateway, caller, 'create', {
    ...{ thread_id: threadId, if_exists: 'do_nothing' },
    ...(body.metadata !== undefined && { metadata: body.metadata }),
  });
  // Without handlers it is what the body says, if it says anything.
  const own = Object.keys(allowed.metadata).length > 0 ? allowed.metadata : body.metadata;
  const metadata = own === undefined ? undefined : canonicalJson(own);
  const { kind, thread } = await gateway.storage.threads.create({
    thread: { tenant, threadId },
    ...(body.graph !== undefined && { graph: body.graph }),
    ...(metadata !== undefined && { metadataJson: metadata }),
  });
  const isOthers = allowed.mine?.(thread.metadataJson) === false;
  if (kind === 'exists' && (isOthers || differs(thread, body.graph, metadata))) {
    throw new Problem('thread_exists', 'The thread exists with another graph or metadata.');
  }
  res
    .status(kind === 'created' ? 201 : 200)
    .location(`/v1/threads/${threadId}`)
    .json(threadView(thread));
}

export async function showThread(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const thread = await gateway.storage.threads.get(await pathThread(gateway, req, res));
  if (thread === undefined) throw unknownThread();
  const view = threadView(thread);
  const queue = await unservedQueue(gateway, thread);
  res.json(queue === undefined ? view : { ...view, turn: { ...view.turn, unserved_queue: queue } });
}

/** A turn waits there in silence (Q3). Only of turns that are open, so that reading a thread asks Temporal nothing else. */
const unservedQueue = async (
  { queues, graphs }: Gateway,
  { open, graph }: ThreadRecord,
): Promise<string | undefined> =>
  open === null ? undefined : await queues?.unserved(graph ?? graphs.default);

/** P8. The wake lets the open run end; it starts none, and that it fails costs nothing but the run's idle time. */
export async function deleteThread(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const thread = await pathThread(gateway, req, res, 'delete');
  const outcome = await gateway.storage.threads.delete(thread);
  if (outcome.kind === 'not_found') throw unknownThread();
  reachCrashPoint('after-delete', thread.threadId);
  await gateway.wake.wake({ thread, seq: outcome.nextSeq }, { start: false }).catch(() => {
    gateway.log.warn({ thread: thread.threadId }, 'cannot tell a run that its thread is deleted');
  });
  res.status(204).end();
}

export async function listMessages(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const thread = await pathThread(gateway, req, res);
  const { after, limit } = parseValue(messagesQuery, { ...req.query });
  const page = await gateway.storage.threads.messages(thread, after ?? null, limit);
  if (page === undefined) throw unknownThread();
  const { next, messages } = page;
  const reply: MessagePageReply = {
    messages: [...messages],
    next_cursor: next === null ? null : `${next.seq}.${next.index}`,
  };
  res.json(reply);
}

export async function showState(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const thread = await pathThread(gateway, req, res);
  const state = await gateway.storage.threads.state(thread);
  if (state === undefined) throw unknownThread();
  const reply: StateReply = {
    thread_id: thread.threadId,
    epoch: state.epoch,
    version: state.version,
    checkpoint_id: state.checkpointId,
    values: state.values,
    next: [...state.next],
    interrupts: [...state.interrupts],
  };
  res.json(reply);
}

export async function showHistory(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const thread = await pathThread(gateway, req, res);
  const { before, limit } = parseValue(historyQuery, { ...req.query });
  const entries = await gateway.storage.threads.history(thread, before ?? null, limit);
  if (entries === undefined) throw unknownThread();
  const last = entries.length === limit ? entries.at(-1)?.version : undefined;
  const reply: HistoryReply = {
    history: entries.map((entry) => ({
      version: entry.version,
      turn_id: entry.turnId,
      seq: entry.seq,
      status: entry.status,
      checkpoint_id: entry.checkpointId,
      settled_at: isoTime(entry.settledAtMs),
      ...(entry.fromVersion !== null && { from_version: entry.fromVersion }),
      ...(entry.leftBehind && { left_behind: true }),
    })),
    next_before: last === undefined || last <= 1 ? null : last,
  };
  res.json(reply);
}

/** Most rows of one page (DESIGN 15.5), and how many there are when none are asked for. */
const pageLimit = z.coerce.number().int().min(1).max(200).default(100);
const messagesQuery = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,15}\.\d{1,9}$/, 'must be a next_cursor')
    .transform((cursor): MessageCursor => {
      const [seq = 0, index = 0] = cursor.split('.').map(Number);
      return { seq, index };
    })
    .optional(),
  limit: pageLimit,
});
const historyQuery = z.strictObject({
  before: z.coerce.number().int().min(1).optional(),
  limit: pageLimit,
});

const differs = (
  thread: ThreadRecord,
  graph: string | undefined,
  metadata: string | undefined,
): boolean =>
  (graph !== undefined && graph !== thread.graph) ||
  (metadata !== undefined && metadata !== canonicalText(thread.metadataJson));

export const threadView = (thread: ThreadRecord): ThreadReply => ({
  thread_id: thread.thread.threadId,
  epoch: thread.epoch,
  version: thread.version,
  status: thread.status,
  graph: thread.graph,
  metadata: JSON.parse(thread.metadataJson) as unknown,
  ...(thread.interruptsJson !== null && {
    interrupts: JSON.parse(thread.interruptsJson) as ThreadReply['interrupts'],
  }),
  next: JSON.parse(thread.nextJson ?? '[]') as string[],
  created_at: isoTime(thread.createdAtMs),
  updated_at: isoTime(thread.updatedAtMs),
  ...(thread.open !== null && { turn: openTurnView(thread.open) }),
  ...(thread.buildId !== null && { build_id: thread.buildId }),
});

const openTurnView = (open: OpenTurn): NonNullable<ThreadReply['turn']> => ({
  turn_id: open.turnId,
  seq: open.seq,
  status: open.status,
  accepted_at: isoTime(open.acceptedAtMs),
  attempts: open.attempts,
});

const isoTime = (ms: number): string => new Date(ms).toISOString();
