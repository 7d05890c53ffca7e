/** Who asks, as the project's own `Auth` says (A10). */
import type { Request as ExpressRequest } from 'express';
import type { Logger } from 'pino';
import type { AuthUser, ProjectAuth } from '../contracts/project-http.js';
import type { Caller, Identify } from './deps.js';
import { fetchRequest } from './fetch-request.js';
import { Problem, unavailable } from './problem.js';

/** Longer than any look-up of keys; a request does not hang on somebody else's server. */
const answerMs = 10_000;

/** Asks once per request. */
export function identifyBy({ authenticate }: ProjectAuth, log: Logger): Identify {
  const asked = new WeakMap<object, Promise<Caller>>();
  const ask = async (req: ExpressRequest): Promise<Caller> => {
    const request = fetchRequest(req);
    let user: unknown;
    try {
      user = await inTime(authenticate(request));
    } catch (error) {
      throw refusalOf(error, log);
    }
    return callerOf(user, log);
  };
  return (req) => {
    let caller = asked.get(req);
    if (caller === undefined) asked.set(req, (caller = ask(req)));
    return caller;
  };
}

async function inTime(answer: unknown): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(unavailable('Who asks could not be found out in time.')),
      answerMs,
    );
  });
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** What the SDK's `HTTPException` says is meant for the caller; the words of other errors are not. */
export function refusalOf(error: unknown, log: Logger): Problem {
  if (error instanceof Problem) return error;
  const { status, message, headers } = error as {
    readonly status?: unknown;
    readonly message?: unknown;
    readonly headers?: unknown;
  };
  if (typeof status !== 'number') {
    log.warn({ err: error }, 'the auth of langgraph.json threw; the request is refused');
    return new Problem('unauthorized', 'The request is not authorized.');
  }
  const code = status === 403 ? 'forbidden' : status >= 500 ? 'unavailable' : 'unauthorized';
  return new Problem(code, String(message), {}, headersOf(headers));
}

function headersOf(given: unknown): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(new Headers((given ?? {}) as Record<string, string>));
  } catch {
    return {};
  }
}

function callerOf(given: unknown, log: Logger): Caller {
  const found: unknown = typeof given === 'string' ? { identity: given } : given;
  const user = userOf(found);
  if (user === undefined) {
    log.error('the auth of langgraph.json gave no identity; the request is refused');
    throw new Problem('unauthorized', 'The request is not authorized.');
  }
  // One tenant: who sees what is for the project's handlers to say, as on the LangGraph server.
  return { tenant: 'default', user: user.identity, auth: user };
}

/** As it is stored with the turn: JSON. */
function userOf(found: unknown): AuthUser | undefined {
  if (typeof found !== 'object' || found === null) return undefined;
  let plain: Record<string, unknown>;
  try {
    plain = JSON.parse(JSON.stringify(found)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { identity, permissions } = plain;
  if (typeof identity !== 'string' || identity === '' || plain.is_authenticated === false)
    return undefined;
  return {
    display_name: identity,
    is_authenticated: true,
    ...plain,
    identity,
    permissions: Array.isArray(permissions) ? permissions.map(String) : [],
  };
}
