/**
 * Typed fields of a thread: a zod object beside the graph declares them (`"fields"` in langgraph.json), the graph's state
 * channel `fields` holds them. The schema is the project's, of whatever copy of zod: told by its shape.
 */
import type { Failure } from './failure.js';

/** The state channel that holds a thread's fields: an object, without those that are not set. */
export const fieldsChannel = 'fields';

/** What is used of a field's schema. */
export interface FieldSchema {
  safeParseAsync(
    value: unknown,
  ): Promise<
    | { readonly success: true; readonly data?: unknown }
    | { readonly success: false; readonly error?: { readonly issues: readonly Issue[] } }
  >;
}
interface Issue {
  readonly message: string;
  readonly path: readonly PropertyKey[];
}

/** What is used of the schema: each field by itself, since fields are set one at a time. */
export interface FieldsSchema {
  readonly shape: Readonly<Record<string, FieldSchema>>;
}

export const isFieldsSchema = (value: unknown): value is FieldsSchema =>
  isObject(value) && isObject(value.shape) && Object.values(value.shape).every(isFieldSchema);

const isFieldSchema = (value: unknown): boolean =>
  isObject(value) && typeof value.safeParseAsync === 'function';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

export type FieldCheck =
  /** `value` is what the schema makes of it. */
  | { readonly kind: 'taken'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly failure: Failure };

/** Says why when there is no such field. */
export function missingField({ shape }: FieldsSchema, name: string): Failure | undefined {
  if (Object.hasOwn(shape, name)) return undefined;
  const names = Object.keys(shape).join(', ');
  return { code: 'unknown_field', message: `There is no such field; there are ${names}.` };
}

/** A client needs the first reasons, not all of a long list. */
const mostReasons = 3;

/** Checks a value by the field's own schema (F2); its words say what is wrong. */
export async function checkField(
  schema: FieldsSchema,
  name: string,
  value: unknown,
): Promise<FieldCheck> {
  const missing = missingField(schema, name);
  if (missing !== undefined) return { kind: 'refused', failure: missing };
  const parsed = await schema.shape[name]?.safeParseAsync(value);
  if (parsed?.success === true) return { kind: 'taken', value: parsed.data };
  const reasons = (parsed?.error?.issues ?? []).slice(0, mostReasons).map(reasonOf);
  const message = `Field "${name}": ${reasons.join('; ') || 'not valid'}`;
  return { kind: 'refused', failure: { code: 'invalid_field', message } };
}

const reasonOf = ({ path, message }: Issue): string =>
  path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
