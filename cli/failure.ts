/** What a person is told when a command fails. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return `everthread: ${String(error)}`;
  const told = `everthread: ${error.message}`;
  if (isForPeople(error)) return told;
  // Nobody foresaw it, so its words alone may not lead anywhere.
  return `${error.stack ?? told}\nThis is probably a bug in Everthread.`;
}

const bugs = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'AssertionError',
]);

/** Errors that somebody wrote for a reader: ours, and those of the operating system. */
const isForPeople = (error: Error): boolean => !bugs.has(error.name);
