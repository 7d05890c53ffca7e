/** What the form does with a message: takes what fits, says what does not, asks for what is missing, confirms. Pure. */
import {
  fieldNames,
  isOptional,
  missingFrom,
  takenFrom,
  type FieldName,
  type Filled,
} from './fields.js';
import { isNo, isSkip, isYes, statedIn } from './stated.js';

/** What was asked last: a field, or whether all is right. */
export type Asking = FieldName | 'confirm' | null;

export interface Form {
  readonly fields: Filled;
  readonly asking: Asking;
  /** Optional fields that the person left out. */
  readonly skipped: readonly FieldName[];
  readonly is_completed: boolean;
}

export interface Advanced extends Form {
  readonly reply: string;
}

const questions: Readonly<Record<FieldName, string>> = {
  name: 'What is your name?',
  email: 'What is your e-mail address?',
  topic: 'What is it about?',
  phone: 'What is your phone number, with its country code? Say "skip" if you would rather not.',
  company: 'Which company are you with? Say "skip" if none.',
};

const labels: Readonly<Record<FieldName, string>> = {
  name: 'name',
  email: 'e-mail',
  topic: 'topic',
  phone: 'phone',
  company: 'company',
};

export async function advance(form: Form, text: string): Promise<Advanced> {
  const missing = missingFrom(form.fields);
  // A write over HTTP may have answered, or undone, what was asked.
  const open =
    form.asking !== 'confirm' && form.asking !== null && form.fields[form.asking] === undefined;
  const asked = open ? form.asking : null;
  if (form.asking === 'confirm' && missing.length === 0 && isYes(text)) {
    return {
      ...form,
      asking: null,
      is_completed: true,
      reply: `Thank you. It is complete:\n${summary(form.fields)}`,
    };
  }
  if (asked !== null && isOptional(asked) && isSkip(text)) {
    return next({ ...form, skipped: [...form.skipped, asked] }, 'All right.');
  }
  const { taken, refused } = await takenFrom(Object.entries(statedIn(text, asked)));
  const names = Object.keys(taken) as FieldName[];
  if (names.length === 0 && refused.length === 0) {
    if (form.is_completed && missing.length === 0) {
      return { ...form, reply: 'The form is complete. Tell me what to change, if anything.' };
    }
    if (form.asking === 'confirm' && isNo(text)) {
      return { ...form, reply: 'What should I change? For example: "my email is …".' };
    }
  }
  const fields = { ...form.fields, ...taken };
  const changed = names.map((name) => `${labels[name]} ${fields[name] ?? ''}`).join(', ');
  const problems = refused.map((why) => `I cannot take that. ${why}.`);
  const said = [...(names.length > 0 ? [`Noted: ${changed}.`] : []), ...problems].join('\n');
  return next({ ...form, fields }, said);
}

/** The next question, or all of it read back. */
function next(form: Form, said: string): Advanced {
  const asking =
    missingFrom(form.fields)[0] ??
    fieldNames.find((name) => form.fields[name] === undefined && !form.skipped.includes(name)) ??
    'confirm';
  const question =
    asking === 'confirm' ? `${summary(form.fields)}\nIs that right?` : questions[asking];
  const reply = [said, question].filter((part) => part !== '').join('\n');
  return { ...form, asking, is_completed: false, reply };
}

const summary = (fields: Filled): string =>
  fieldNames
    .filter((name) => fields[name] !== undefined)
    .map((name) => `- ${labels[name]}: ${fields[name] ?? ''}`)
    .join('\n');
