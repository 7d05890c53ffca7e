/**
 * What a graph sees of the request in `configurable`, as on the LangGraph server: headers `x-*`, without those that carry its
 * keys, and who asks.
 */
import type { Request } from 'express';
import type { TurnInput } from '../storage/port.js';
import { isEdit } from '../contracts/turn-input.js';
import type { Caller } from './deps.js';

const hidden = new Set(['x-api-key', 'x-tenant-id', 'x-service-key', 'x-thread-id']);
const isShown = (name: string): boolean => name.startsWith('x-') && !hidden.has(name);

/** They are no part of what the request is: a retry through another proxy has other headers (P9). */
export function withCaller(input: TurnInput, req: Request, { auth }: Caller): TurnInput {
  if (isEdit(input)) return input;
  const headers = Object.entries(req.headers).filter(
    ([name, value]) => isShown(name) && typeof value === 'string',
  );
  if (headers.length === 0 && auth === undefined) return input;
  const { call } = input;
  const configurable = {
    ...Object.fromEntries(headers),
    ...call?.configurable,
    ...(auth !== undefined && {
      langgraph_auth_user: auth,
      langgraph_auth_user_id: auth.identity,
      langgraph_auth_permissions: auth.permissions,
      user_id: auth.identity,
    }),
  };
  return { ...input, call: { ...call, configurable } };
}
