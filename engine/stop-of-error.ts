/** What an error of LangGraph means for the turn. Errors are known by name: their classes are the project's. */
import type { Stop } from './port.js';

/** A resume that finds nothing to answer. */
export class ResumeStale extends Error {
  override readonly name = 'ResumeStale';
}

/** The project's LangGraph cannot do what was asked. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported';
}

export const recursionLimit = (limit: number): Stop => ({
  kind: 'failed',
  failure: {
    code: 'recursion_limit',
    message: `The graph did not stop within its recursion limit of ${limit} supersteps.`,
  },
});

export const graphChanged = (message: string): Stop => ({
  kind: 'failed',
  failure: { code: 'graph_changed', message },
});

const resumeStale: Stop = {
  kind: 'failed',
  failure: { code: 'resume_stale', message: 'No pending interrupt takes this resume.' },
};

/** An error that ended the stream. Aborts and drains are told by the caller, which knows whether it asked for them. */
export function stopOfError(error: unknown, limit: number, resumes: boolean): Stop {
  const cause = firstCause(error);
  switch (nameOf(cause)) {
    case 'GraphRecursionError':
      return recursionLimit(limit);
    case 'ResumeStale':
    case 'UnknownInterruptError':
      return resumeStale;
    case 'Unsupported':
      return {
        kind: 'failed',
        failure: { code: 'node_error', message: (cause as Error).message },
      };
    case 'EmptyInputError':
      return resumes ? resumeStale : emptyInput;
    default:
      return { kind: 'threw', error: cause };
  }
}

const emptyInput: Stop = {
  kind: 'failed',
  failure: { code: 'invalid_input', message: 'The graph takes nothing of this input.' },
};

export const nameOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'name' in error && typeof error.name === 'string'
    ? error.name
    : '';

/** Several tasks failed at once: the first that is not only the echo of another's failure. */
function firstCause(error: unknown): unknown {
  if (nameOf(error) !== 'AggregateError') return error;
  const { errors } = error as { errors?: readonly unknown[] };
  return errors?.find((e) => !isAbort(e)) ?? errors?.[0] ?? error;
}

const isAbort = (error: unknown): boolean =>
  nameOf(error) === 'AbortError' ||
  (error instanceof Error && (error.message === 'Abort' || error.message === 'Aborted'));
