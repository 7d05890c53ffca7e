import { z } from 'zod';
import type { FieldsSchema } from './fields.js';

/** JSON Schema of the fields; undefined where this zod cannot tell it (zod 3, types without a JSON form). */
export function fieldsJsonSchema(fields: FieldsSchema): z.core.JSONSchema.BaseSchema | undefined {
  try {
    const { $schema: _dialect, ...rest } = z.toJSONSchema(fields as unknown as z.ZodType, {
      io: 'input',
      unrepresentable: 'any',
    });
    return rest;
  } catch {
    return undefined;
  }
}
