/** The OpenAPI 3.1 document, from the schemas that check the bodies. Made when first asked for: start-up pays nothing. */
import * as schemas from '../contracts/http.schema.js';
import * as memory from '../contracts/memory.schema.js';
import * as support from '../contracts/support.schema.js';
import { jsonSchemaOf } from './json-schema.js';
import type { routes } from './routes.js';

export function openApiJson(messageChars: number): string {
  if (made?.messageChars !== messageChars) {
    made = { messageChars, json: JSON.stringify(document(messageChars)) };
  }
  return made.json;
}
let made: { readonly messageChars: number; readonly json: string } | undefined;

const components = {
  TurnRequest: schemas.turnRequestSchema,
  ChatRequest: schemas.chatRequestSchema,
  InvokeRequest: schemas.invokeRequestSchema,
  SupportRequest: support.supportRequestSchema,
  CreateThread: schemas.createThreadSchema,
  CorrectFact: memory.correctFactSchema,
  PutField: schemas.putFieldSchema,
  UpdateState: schemas.updateStateSchema,
  ResetThread: schemas.resetThreadSchema,
  TurnReply: schemas.turnReplySchema,
  AcceptedReply: schemas.acceptedReplySchema,
  InvokeReply: schemas.invokeReplySchema,
  SupportReply: support.supportReplySchema,
  Thread: schemas.threadReplySchema,
  ThreadPage: schemas.threadPageSchema,
  Wake: schemas.wakeReplySchema,
  MessagePage: schemas.messagePageSchema,
  State: schemas.stateReplySchema,
  Fields: schemas.fieldsReplySchema,
  FieldWritten: schemas.fieldWrittenSchema,
  UserMemory: memory.userMemorySchema,
  Fact: memory.factReplySchema,
  History: schemas.historyReplySchema,
  Problem: schemas.problemSchema,
} as const;
type Component = keyof typeof components;

interface Operation {
  readonly summary: string;
  readonly body?: Component;
  readonly reply?: Component;
  /** Answers as JSON, as a stream, or 202. */
  readonly turn?: true;
  readonly query?: readonly string[];
  readonly status?: number;
}
type Operations = {
  readonly [Path in keyof typeof routes]: {
    readonly [Method in keyof (typeof routes)[Path]]: Operation;
  };
};

const operations: Operations = {
  '/healthz': { get: { summary: 'The process is up' } },
  '/readyz': { get: { summary: 'Database and Temporal answer' } },
  '/openapi.json': { get: { summary: 'This document' } },
  '/v1/chat': {
    post: {
      summary: 'One message to a thread, which is made when none is named',
      ...{ body: 'ChatRequest', reply: 'TurnReply', turn: true },
    },
  },
  '/v1/support/chat': {
    post: {
      summary: 'A question to the support agent, which answers from documents or asks back',
      ...{ body: 'SupportRequest', reply: 'SupportReply', turn: true },
    },
  },
  '/v2/agent/invoke': {
    post: {
      summary: 'One message in, one reply out; the thread by X-Thread-ID',
      ...{ body: 'InvokeRequest', reply: 'InvokeReply', turn: true },
    },
  },
  '/v1/threads': {
    get: {
      summary: 'Threads, newest first',
      ...{ reply: 'ThreadPage', query: ['status', 'graph', 'after', 'limit'] },
    },
    post: { summary: 'Create a thread', body: 'CreateThread', reply: 'Thread', status: 201 },
  },
  '/v1/threads/:thread': {
    get: { summary: 'The thread as it is committed', reply: 'Thread' },
    delete: { summary: 'Delete the thread and all it holds; repeatable', status: 204 },
  },
  '/v1/threads/:thread/wake': {
    post: { summary: 'Wake the thread once more: harmless, repeatable', reply: 'Wake' },
  },
  '/v1/threads/:thread/messages': {
    get: {
      summary: 'Committed messages, oldest first',
      ...{ reply: 'MessagePage', query: ['after', 'limit'] },
    },
  },
  '/v1/threads/:thread/state': {
    get: { summary: 'The committed state of the graph', reply: 'State' },
    post: {
      summary: "Update the state as LangGraph does, in the order of the thread's turns",
      ...{ body: 'UpdateState', reply: 'TurnReply', turn: true },
    },
  },
  '/v1/threads/:thread/reset': {
    post: {
      summary: 'Go back to the state of an earlier version, as a new one',
      ...{ body: 'ResetThread', reply: 'TurnReply', turn: true },
    },
  },
  '/v1/threads/:thread/history': {
    get: {
      summary: 'Committed versions, newest first',
      ...{ reply: 'History', query: ['before', 'limit'] },
    },
  },
  '/v1/threads/:thread/fields': {
    get: { summary: 'The typed fields of the thread, as committed', reply: 'Fields' },
  },
  '/v1/threads/:thread/fields/:field': {
    put: {
      summary: "Set a field, in the order of the thread's turns; If-Match takes a version",
      ...{ body: 'PutField', reply: 'FieldWritten', turn: true },
    },
    delete: {
      summary: "Clear a field, in the order of the thread's turns; If-Match takes a version",
      ...{ reply: 'FieldWritten', turn: true },
    },
  },
  '/v1/users/:user/memory': {
    get: {
      summary: 'What long-term memory holds of the user',
      ...{ reply: 'UserMemory', query: ['history', 'after', 'limit'] },
    },
    delete: { summary: 'Erase all of it; repeatable. Transcripts of threads stay', status: 204 },
  },
  '/v1/users/:user/memory/:fact': {
    put: {
      summary: 'Correct a fact: the new value supersedes it',
      ...{ body: 'CorrectFact', reply: 'Fact' },
    },
    delete: { summary: 'Withdraw a fact: it is not recalled any more; repeatable', status: 204 },
  },
  '/v1/threads/:thread/turns': {
    post: {
      summary: 'One turn: a message, an input of the graph, or the answer to an interrupt',
      ...{ body: 'TurnRequest', reply: 'TurnReply', turn: true },
    },
  },
  '/v1/threads/:thread/turns/:turn': {
    get: { summary: 'The turn, settled or not', reply: 'TurnReply' },
  },
  '/v1/threads/:thread/turns/:turn/stream': {
    get: {
      summary: 'Join or resume the stream of a turn; Last-Event-ID says what was seen',
      query: ['stream_mode', 'stream_subgraphs'],
    },
  },
  '/v1/threads/:thread/turns/:turn/cancel': {
    post: { summary: 'Cancel a turn that is not settled', reply: 'TurnReply' },
  },
};

function document(messageChars: number): unknown {
  const paths = Object.entries(operations).map(([path, methods]) => [
    path.replaceAll(/:(\w+)/g, '{$1}'),
    Object.fromEntries(
      Object.entries<Operation>(methods).map(([method, op]) => [method, operationOf(path, op)]),
    ),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Everthread',
      version: '1',
      description: 'Durable agent threads. Errors are application/problem+json.',
    },
    paths: Object.fromEntries(paths) as unknown,
    components: {
      schemas: Object.fromEntries(
        Object.entries(components).map(([name, schema]) => [
          name,
          jsonSchemaOf(schema, messageChars),
        ]),
      ),
    },
  };
}

function operationOf(path: string, op: Operation): unknown {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) =>
    parameter('path', name ?? '', true),
  );
  const inQuery = (op.query ?? []).map((name) => parameter('query', name, false));
  const inHeader = op.turn
    ? ['X-Thread-ID', 'Idempotency-Key', 'Prefer'].map((name) => parameter('header', name, false))
    : [];
  return {
    summary: op.summary,
    parameters: [...inPath, ...inQuery, ...inHeader],
    ...(op.body && { requestBody: { required: true, content: jsonContent(op.body) } }),
    responses: responsesOf(path, op),
  };
}

function responsesOf(path: string, op: Operation): unknown {
  const stream = {
    'text/event-stream': {
      schema: {
        type: 'string',
        description:
          'accepted, snapshot, token, custom, step, reset, done, error, and the stream modes asked for',
      },
    },
  };
  const streams = op.turn ?? path.endsWith('/stream');
  const content = {
    ...(op.reply === undefined ? {} : jsonContent(op.reply)),
    ...(streams ? stream : {}),
  };
  return {
    [String(op.status ?? 200)]: { description: 'Done', ...(op.status !== 204 && { content }) },
    ...(op.turn && {
      '202': {
        description: 'Accepted; Location says where to look',
        content: jsonContent('AcceptedReply'),
      },
    }),
    default: {
      description: 'A problem',
      content: { 'application/problem+json': { schema: refTo('Problem') } },
    },
  };
}

const parameter = (place: string, name: string, required: boolean): unknown => ({
  ...{ in: place, name, required },
  schema: { type: 'string' },
});
const refTo = (name: Component): unknown => ({ $ref: `#/components/schemas/${name}` });
const jsonContent = (name: Component): Record<string, unknown> => ({
  'application/json': { schema: refTo(name) },
});
