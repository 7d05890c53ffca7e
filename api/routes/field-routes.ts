/** Routes about a thread's typed fields. A write is a turn (F1); a read is of the committed state. */
import type { Request, Response } from 'express';
import {
  checkField,
  fieldsChannel,
  missingField,
  type FieldsSchema,
} from '../../contracts/fields.js';
import { fieldsJsonSchema } from '../../contracts/fields.schema.js';
import type { Failure } from '../../contracts/failure.js';
import { putFieldSchema, type FieldsReply } from '../../contracts/http.schema.js';
import type { FieldEdit } from '../../contracts/turn-input.js';
import { parseBody } from '../body.js';
import type { Gateway } from '../gateway.js';
import { checkGraph, postTurn } from '../post-turn.js';
import { Problem } from '../problem.js';
import { singleHeader } from '../thread-id.js';
import { fieldWrittenJson } from '../turn-reply.js';
import { pathThread, unknownThread } from './path-thread.js';

export async function showFields(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const thread = await pathThread(gateway, req, res);
  const found = await gateway.storage.threads.channel(thread, fieldsChannel);
  if (found === undefined) throw unknownThread();
  const { schema } = declaredBy(gateway, found.graph);
  const shown = schema === null ? undefined : fieldsJsonSchema(schema);
  const reply: FieldsReply = {
    thread_id: thread.threadId,
    epoch: found.epoch,
    version: found.version,
    fields: fieldsIn(found.value),
    ...(shown !== undefined && { schema: shown as FieldsReply['schema'] }),
  };
  res.set('ETag', `"${found.version}"`).json(reply);
}

const fieldsIn = (value: unknown): FieldsReply['fields'] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as FieldsReply['fields'])
    : {};

export async function putField(gateway: Gateway, req: Request, res: Response): Promise<void> {
  const { value, if_version } = parseBody(putFieldSchema, req);
  await write(gateway, req, res, {
    edit: { kind: 'set_field', name: fieldOf(req), value },
    ifVersion: oneVersion(if_version, ifMatch(req)),
  });
}

export async function deleteField(gateway: Gateway, req: Request, res: Response): Promise<void> {
  await write(gateway, req, res, {
    edit: { kind: 'delete_field', name: fieldOf(req) },
    ifVersion: ifMatch(req),
  });
}

interface Write {
  readonly edit: FieldEdit;
  readonly ifVersion: number | undefined;
}

/** What is known to be refused is refused before anything is written; the worker checks again, in the turn's place (F2). */
async function write(
  gateway: Gateway,
  req: Request,
  res: Response,
  { edit, ifVersion }: Write,
): Promise<void> {
  const thread = await pathThread(gateway, req, res, 'update');
  const record = await gateway.storage.threads.get(thread);
  if (record === undefined) throw unknownThread();
  const { graph, schema } = declaredBy(gateway, record.graph);
  const refused = schema === null ? undefined : await refusal(schema, edit);
  if (refused !== undefined) {
    const code = refused.code === 'unknown_field' ? 'unknown_field' : 'invalid_field';
    throw new Problem(code, refused.message);
  }
  await postTurn(gateway, req, res, {
    ids: { path: thread.threadId },
    input: edit,
    graph,
    ifVersion,
    render: fieldWrittenJson,
  });
}

async function refusal(schema: FieldsSchema, edit: FieldEdit): Promise<Failure | undefined> {
  switch (edit.kind) {
    case 'delete_field':
      return missingField(schema, edit.name);
    case 'set_field': {
      const check = await checkField(schema, edit.name, edit.value);
      return check.kind === 'refused' ? check.failure : undefined;
    }
  }
}

/** @throws Problem when the thread's graph is not served or declares no fields */
function declaredBy(
  gateway: Gateway,
  bound: string | null,
): { readonly graph: string; readonly schema: FieldsSchema | null } {
  const graph = bound ?? gateway.graphs.default;
  checkGraph(gateway, graph);
  const schema = gateway.graphs.fields?.get(graph);
  if (schema === undefined) {
    throw new Problem('not_found', "The thread's graph declares no fields.");
  }
  return { graph, schema };
}

/** Longer than any name that a schema would have. */
const mostNameChars = 128;

function fieldOf(req: Request): string {
  const name = String(req.params.field);
  if (name.length > mostNameChars || !name.isWellFormed() || name.includes('\u0000')) {
    throw new Problem('unknown_field', 'There is no such field.');
  }
  return name;
}

/** The version that a reader was told as `ETag`. */
function ifMatch(req: Request): number | undefined {
  const header = singleHeader(req, 'if-match');
  if (header === undefined || header === '*') return undefined;
  const version = /^"?(\d{1,15})"?$/.exec(header)?.[1];
  if (version === undefined) {
    throw new Problem('invalid_request', 'If-Match takes one version, as ETag tells it.');
  }
  return Number(version);
}

function oneVersion(body: number | undefined, header: number | undefined): number | undefined {
  if (body !== undefined && header !== undefined && body !== header) {
    throw new Problem('invalid_request', 'if_version and If-Match are not the same.');
  }
  return body ?? header;
}
