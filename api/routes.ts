/** Which handler answers what. */
import type { Request, Response } from 'express';
import type { Gateway } from './gateway.js';
import { deleteField, putField, showFields } from './routes/field-routes.js';
import { correctFact, eraseMemory, showMemory, withdrawFact } from './routes/memory-routes.js';
import { postState, resetThread } from './routes/state-routes.js';
import { supportChat } from './routes/support-routes.js';
import { health, openApi, ready } from './routes/system-routes.js';
import { listThreads, wakeThread } from './routes/thread-list.js';
import {
  createThread,
  deleteThread,
  listMessages,
  showHistory,
  showState,
  showThread,
} from './routes/thread-routes.js';
import {
  cancelTurn,
  chat,
  createTurn,
  invokeAgent,
  joinTurn,
  showTurn,
} from './routes/turn-routes.js';

type Handler = (gateway: Gateway, req: Request, res: Response) => void | Promise<void>;
export type Method = 'get' | 'post' | 'put' | 'delete';

export type Handlers = Readonly<Partial<Record<Method, Handler>>>;

/** Every route; `openapi.ts` describes each of them. */
export const routes = {
  '/healthz': { get: health },
  '/readyz': { get: ready },
  '/openapi.json': { get: openApi },
  '/v1/chat': { post: chat },
  '/v1/support/chat': { post: supportChat },
  '/v2/agent/invoke': { post: invokeAgent },
  '/v1/threads': { get: listThreads, post: createThread },
  '/v1/threads/:thread': { get: showThread, delete: deleteThread },
  '/v1/threads/:thread/wake': { post: wakeThread },
  '/v1/threads/:thread/messages': { get: listMessages },
  '/v1/threads/:thread/state': { get: showState, post: postState },
  '/v1/threads/:thread/reset': { post: resetThread },
  '/v1/threads/:thread/history': { get: showHistory },
  '/v1/threads/:thread/fields': { get: showFields },
  '/v1/threads/:thread/fields/:field': { put: putField, delete: deleteField },
  '/v1/threads/:thread/turns': { post: createTurn },
  '/v1/threads/:thread/turns/:turn': { get: showTurn },
  '/v1/threads/:thread/turns/:turn/stream': { get: joinTurn },
  '/v1/threads/:thread/turns/:turn/cancel': { post: cancelTurn },
  '/v1/users/:user/memory': { get: showMemory, delete: eraseMemory },
  '/v1/users/:user/memory/:fact': { put: correctFact, delete: withdrawFact },
} as const satisfies Record<string, Handlers>;
