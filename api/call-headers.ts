/** Headers that a graph sees in `configurable`, as on the LangGraph server: `x-*`, without those that carry its keys. */
import type { Request } from 'express';
import type { TurnInput } from '../storage/port.js';
import { isEdit } from '../contracts/turn-input.js';

const hidden = new Set(['x-api-key', 'x-tenant-id', 'x-service-key', 'x-thread-id']);
const isShown = (name: string): boolean => name.startsWith('x-') && !hidden.has(name);

/** They are no part of what the request is: a retry through another proxy has other headers (P9). */
export function withHeaders(input: TurnInput, req: Request): TurnInput {
  if (isEdit(input)) return input;
  const headers = Object.entries(req.headers).filter(
    ([name, value]) => isShown(name) && typeof value === 'string',
  );
  if (headers.length === 0) return input;
  const { call } = input;
  const configurable = { ...Object.fromEntries(headers), ...call?.configurable };
  return { ...input, call: { ...call, configurable } };
}
