/** The form that `intake` fills in: one zod object for the agent, the worker and the HTTP API alike. */
import { parsePhoneNumberFromString } from 'libphonenumber-js';
import { z } from 'zod';
import { checkField } from '../../contracts/fields.js';

const line = (maxChars: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxChars)
    .regex(/^[^\r\n]*$/, 'must be one line');

/** Kept as E.164, so that one number is one text. */
const phone = z
  .string()
  .trim()
  .max(40)
  .transform((text, context) => {
    const number = parsePhoneNumberFromString(text);
    if (number?.isValid() === true) return number.number;
    context.addIssue({
      code: 'custom',
      message: 'Not a phone number with its country, such as +49 30 901820',
    });
    return z.NEVER;
  });

/** Optional ones are asked for once and may be left out. */
export const intakeFields = z.object({
  name: line(100).describe('Full name of the person'),
  email: z.email().max(254).describe('E-mail address'),
  topic: z.string().trim().min(3).max(500).describe('What the request is about'),
  phone: phone.optional().describe('Phone number with its country code'),
  company: line(100).optional().describe('Company or organisation'),
});

export type FieldName = keyof typeof intakeFields.shape;
export type Filled = Partial<z.output<typeof intakeFields>>;

/** In the order in which they are asked for. */
export const fieldNames = Object.keys(intakeFields.shape) as readonly FieldName[];

export const isOptional = (name: FieldName): boolean =>
  intakeFields.shape[name].safeParse(undefined).success;

export const missingFrom = (filled: Filled): readonly FieldName[] =>
  fieldNames.filter((name) => filled[name] === undefined && !isOptional(name));

/** What the schema takes of the values, and its words on those that it refuses. */
export async function takenFrom(
  values: readonly (readonly [name: string, value: unknown])[],
): Promise<{ readonly taken: Filled; readonly refused: readonly string[] }> {
  const taken: [string, unknown][] = [];
  const refused: string[] = [];
  for (const [name, value] of values) {
    const check = await checkField(intakeFields, name, value);
    if (check.kind === 'taken') taken.push([name, check.value]);
    else refused.push(check.failure.message);
  }
  return { taken: Object.fromEntries(taken), refused };
}
