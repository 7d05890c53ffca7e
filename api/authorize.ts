/** What a caller may do, as the `on` handlers of the project's `Auth` say (A10). Without an `Auth` everything is allowed. */
import type { AuthUser } from '../contracts/project-http.js';
import type { Caller } from './deps.js';
import type { Gateway } from './gateway.js';
import { Problem } from './problem.js';
import { refusalOf } from './project-auth.js';

export type ThreadAction = 'create' | 'read' | 'update' | 'delete' | 'search' | 'create_run';

export interface Allowed {
  /** What a new thread is to carry, as the handlers left it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Whether a thread with this metadata is the caller's to see; undefined where all are. */
  readonly mine: ((metadataJson: string) => boolean) | undefined;
}

type Gate = Pick<Gateway, 'auth' | 'log'>;

/** @throws Problem 403 when a handler refuses */
export async function authorize(
  { auth, log }: Gate,
  caller: Caller,
  action: ThreadAction,
  value: Readonly<Record<string, unknown>> & {
    readonly metadata?: Readonly<Record<string, unknown>>;
  },
): Promise<Allowed> {
  const asked = { ...value, metadata: { ...value.metadata } };
  const handler = auth && handlerOf(auth.callbacks, action);
  if (handler === undefined || caller.auth === undefined)
    return { metadata: asked.metadata, mine: undefined };
  let answer: unknown;
  try {
    answer = await handler(eventOf(action, asked, caller.auth));
  } catch (error) {
    throw refusalOf(error, log);
  }
  if (answer === false) throw new Problem('forbidden', 'The caller may not do this.');
  const metadata = isObject(asked.metadata) ? asked.metadata : {};
  const filter = filterOf(answer);
  // A search is narrowed by what a handler puts into its metadata, too.
  const wanted = action === 'search' ? { ...metadata, ...filter } : filter;
  const some = Object.keys(wanted).length > 0;
  return { metadata, mine: some ? (json) => matches(wanted, json) : undefined };
}

/** The most exact handler answers, alone. */
function handlerOf<T>(callbacks: Readonly<Record<string, T>>, action: ThreadAction): T | undefined {
  const events = [`threads:${action}`, 'threads', `*:${action}`, '*'];
  return events.map((event) => callbacks[event]).find((found) => found !== undefined);
}

const eventOf = (action: ThreadAction, value: Record<string, unknown>, user: AuthUser) => ({
  event: `threads:${action}`,
  resource: 'threads',
  action,
  value,
  user,
  permissions: user.permissions,
});

/** Nothing or true allows all. @throws Problem for what is no answer: it must not let anybody in */
function filterOf(answer: unknown): Readonly<Record<string, unknown>> {
  if (answer === undefined || answer === null || answer === true) return {};
  if (isObject(answer)) return answer;
  throw new Problem('forbidden', 'The caller may not do this.');
}

function matches(filter: Readonly<Record<string, unknown>>, metadataJson: string): boolean {
  const metadata: unknown = JSON.parse(metadataJson);
  if (!isObject(metadata)) return false;
  return Object.entries(filter).every(([key, wanted]) => fits(metadata[key], wanted));
}

/** `{$eq}`, `{$contains}`, or the value itself. Any other operator fits nothing. */
function fits(held: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return held === wanted && wanted !== undefined;
  const operators = Object.entries(wanted);
  return (
    operators.length > 0 &&
    operators.every(([operator, operand]) => {
      if (operator === '$eq') return held === operand;
      if (operator !== '$contains' || !Array.isArray(held)) return false;
      return [operand].flat().every((one) => held.includes(one));
    })
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
