/** JSON Schema of the wire contract's zod schemas, for the OpenAPI document. */
import { z } from 'zod';
import { messageSchema } from '../contracts/http.schema.js';

/** As clients see it: "any JSON" is the empty schema, and the bounds of a double are no bounds of ours. */
export function jsonSchemaOf(schema: z.ZodType, messageChars: number): unknown {
  const {
    $schema: _dialect,
    $defs: _json,
    ...rest
  } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema === messageSchema) jsonSchema.maxLength = messageChars;
    },
  });
  const text = JSON.stringify(rest, (_key, value: unknown) =>
    isObject(value) && String(value.$ref).startsWith('#/$defs/') ? {} : value,
  );
  return JSON.parse(text, (_key, value: unknown) =>
    Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value,
  ) as unknown;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
