/** An error on its way to another thread, with all that decides what becomes of its turn (`llm/provider-errors.ts`). */
import { Unstorable } from '../../storage/port.js';

export type Thrown =
  | {
      readonly kind: 'error';
      readonly name: string;
      readonly message: string;
      readonly stack: string | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly cause: Thrown | undefined;
    }
  /** Something that is no object, such as a string. */
  | { readonly kind: 'value'; readonly value: string };

type Fields = Readonly<Record<string, unknown>>;

/** Fields whose plain values cross. Others may hold requests, sockets and keys. */
const plainFields = [
  ...['code', 'type', 'status', 'statusCode', 'status_code', 'lc_error_code', 'retryAfterMs'],
  'httpStatusCode',
];
/** Fields that hold such fields again: a provider's error body, a response. */
const nestedFields = ['error', 'innererror', 'response', '$metadata'];
const headerNames = ['retry-after', 'retry-after-ms'];
/** A chain may be a ring. */
const deepest = 6;

export function thrownOf(error: unknown, depth = 0): Thrown {
  if (typeof error !== 'object' || error === null) return { kind: 'value', value: String(error) };
  const { name, message, stack, cause } = error as Fields;
  return {
    kind: 'error',
    name: nameOf(error, name),
    message: typeof message === 'string' ? message : '',
    stack: typeof stack === 'string' ? stack : undefined,
    fields: fieldsOf(error as Fields, 0),
    cause: cause === undefined || depth >= deepest ? undefined : thrownOf(cause, depth + 1),
  };
}

/** Provider packages leave `name` at "Error" and tell by the class. */
function nameOf(error: object, name: unknown): string {
  const made = (error.constructor as { readonly name?: unknown } | undefined)?.name;
  if (typeof name === 'string' && name !== 'Error') return name;
  return typeof made === 'string' && made !== 'Object' ? made : 'Error';
}

function fieldsOf(from: Fields, depth: number): Fields {
  const fields: Record<string, unknown> = {};
  for (const key of plainFields) {
    const value = from[key];
    if (typeof value === 'string' || typeof value === 'number') fields[key] = value;
  }
  const headers = headersOf(from.headers);
  if (headers !== undefined) fields.headers = headers;
  for (const key of nestedFields) {
    const value = from[key];
    if (typeof value === 'object' && value !== null && depth < deepest)
      fields[key] = fieldsOf(value as Fields, depth + 1);
  }
  return fields;
}

function headersOf(headers: unknown): Fields | undefined {
  if (typeof headers !== 'object' || headers === null) return undefined;
  const { get } = headers as { readonly get?: unknown };
  const read = (name: string): unknown =>
    typeof get === 'function' ? get.call(headers, name) : (headers as Fields)[name];
  return Object.fromEntries(
    headerNames.map((name) => [name, read(name)]).filter(([, value]) => typeof value === 'string'),
  ) as Fields;
}

export function revived(thrown: Thrown): unknown {
  if (thrown.kind === 'value') return thrown.value;
  const { name, message, stack, fields, cause } = thrown;
  if (name === 'Unstorable') return new Unstorable(message);
  const error = new Error(message, cause === undefined ? {} : { cause: revived(cause) });
  return Object.assign(error, fields, { name, ...(stack !== undefined && { stack }) });
}
