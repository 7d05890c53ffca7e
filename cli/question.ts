/** What a paused thread asks, and the `resume` that a person's answers make. Pure. */
import type { TurnInterrupt } from '../contracts/http.schema.js';

/** Questions that are open and the answers so far. */
export interface Questions {
  readonly open: readonly TurnInterrupt[];
  readonly answers: readonly unknown[];
}

export const questionsOf = (interrupts: readonly TurnInterrupt[] | undefined): Questions => ({
  open: interrupts ?? [],
  answers: [],
});

/** Text of the question that is next. A breakpoint asks nothing; it waits for a go. */
export function nextQuestion({ open, answers }: Questions): string {
  const question = open[answers.length];
  if (question === undefined) return 'Paused at a breakpoint; Enter goes on.';
  const { value } = question;
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

export type Answered =
  | { readonly kind: 'more'; readonly questions: Questions }
  /** All are answered: the value of `resume`. */
  | { readonly kind: 'resume'; readonly value: unknown };

/** Takes one line as the answer to the question that is next. */
export function answer({ open, answers }: Questions, line: string): Answered {
  if (open.length === 0) return { kind: 'resume', value: null };
  const given = [...answers, answerOf(line)];
  const ids = open.map((question) => question.id).filter((id) => id !== undefined);
  // Without ids only one value can be handed over, and the first question gets it.
  if (open.length === 1 || ids.length < open.length) return { kind: 'resume', value: given[0] };
  if (given.length < open.length) return { kind: 'more', questions: { open, answers: given } };
  return { kind: 'resume', value: Object.fromEntries(ids.map((id, i) => [id, given[i]])) };
}

/** JSON when it is JSON, so that `false` is no text that counts as true; else text. */
function answerOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return line;
  }
}
