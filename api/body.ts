/** Reading a JSON body: strict about bytes before the parser sees them, strict about values after it. */
import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler } from 'express';
import type { z } from 'zod';
import { Problem } from './problem.js';

/** Deeper JSON overflows the stack of those who write it out again (100,000 levels parse, then stringify throws). */
const maxDepth = 64;

/** Parses a JSON body into `req.body`; no body leaves it undefined. */
export function jsonBody(limitBytes: number): RequestHandler[] {
  return [
    (req, _res, next) => {
      if (hasBody(req)) requireJson(req);
      next();
    },
    express.json({
      // A body that is null or a number is refused by its schema, which says what is wanted.
      strict: false,
      limit: limitBytes,
      type: () => true,
      verify: (_req, _res, bytes) => {
        if (!isUtf8(bytes)) throw new Problem('invalid_request', 'The body is not valid UTF-8.');
        checkJsonBytes(bytes);
      },
    }),
  ];
}

/** Validates against a strict schema. @throws Problem that names each wrong field */
export function parseBody<T extends z.ZodType>(schema: T, req: Request): z.infer<T> {
  if (req.body === undefined) {
    throw new Problem('invalid_request', 'A JSON body is required.');
  }
  return parseValue(schema, req.body);
}

export function parseValue<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  if (!hasCleanText(value)) {
    throw new Problem('invalid_request', 'Text must be well-formed Unicode without NUL.');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Problem('invalid_request', 'The request does not have the form asked for.', {
    errors: parsed.error.issues.slice(0, 10).map((issue) => ({
      path: issue.path.map((part) => echoable(String(part))).join('.'),
      message: messageOf(issue),
    })),
  });
}

function messageOf(issue: z.core.$ZodIssue): string {
  return issue.code === 'unrecognized_keys'
    ? `unknown field ${issue.keys.slice(0, 10).map(echoable).join(', ')}`
    : issue.message;
}

/** Names that look like names are worth saying back; anything else a client made up is not. */
const echoable = (name: string): string => (/^[A-Za-z0-9_.-]{1,64}$/.test(name) ? name : '?');

const hasBody = (req: Request): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

function requireJson(req: Request): void {
  const type = req.headers['content-type'] ?? '';
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  // Only this type: forms and text/plain can be sent across sites without asking (CSRF).
  if (req.is('application/json') === false || charset !== 'utf-8') {
    throw new Problem('unsupported_media_type', 'Send application/json in UTF-8.');
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openers = new Set([0x5b, 0x7b]);
const closers = new Set([0x5d, 0x7d]);

/** One pass over the raw bytes: nesting depth, and integers that a double would silently change. */
function checkJsonBytes(bytes: Buffer): void {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes.readUInt8(i);
    if (byte === quote) i = endOfString(bytes, i);
    else if (openers.has(byte)) depth++;
    else if (closers.has(byte)) depth--;
    else if (isDigit(byte)) i = checkNumber(bytes, i);
    if (depth > maxDepth) throw new Problem('invalid_request', 'The JSON is nested too deeply.');
  }
}

function endOfString(bytes: Buffer, start: number): number {
  let i = start + 1;
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
  return i;
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
/** Digits, `.`, `e`, `E`, `+`, `-`. */
const isNumberByte = (byte: number): boolean =>
  isDigit(byte) ||
  byte === 0x2e ||
  byte === 0x65 ||
  byte === 0x45 ||
  byte === 0x2b ||
  byte === 0x2d;

function checkNumber(bytes: Buffer, start: number): number {
  let end = start;
  while (end < bytes.length && isNumberByte(bytes.readUInt8(end))) end++;
  if (end - start > 15) {
    const token = bytes.toString('latin1', start, end);
    if (/^\d+$/.test(token) && !Number.isSafeInteger(Number(token))) {
      throw new Problem('invalid_request', 'An integer is too large to be kept exactly.');
    }
  }
  return end - 1;
}

/** No database text or JSON column takes NUL or lone surrogates; they are refused anywhere, keys included. */
function hasCleanText(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\u0000');
  if (Array.isArray(value)) return value.every(hasCleanText);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => hasCleanText(key) && hasCleanText(inner));
}
