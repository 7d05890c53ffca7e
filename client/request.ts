/** One HTTP request to a gateway, and what may come of it. */
import type { Problem } from '../contracts/http.schema.js';

/** What the gateway answered instead of doing what was asked. */
export class GatewayProblem extends Error {
  override readonly name = 'GatewayProblem';
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** Nobody answers at this address. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
}

export const isProblem = (error: unknown, code: string): boolean =>
  error instanceof GatewayProblem && error.problem.code === code;

/** @throws {GatewayProblem} for every answer but 2xx, {GatewayUnreachable} for none */
export async function request(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new GatewayUnreachable(`No gateway answers at ${new URL(url).origin}.`, { cause: error });
  }
  if (!response.ok) throw new GatewayProblem(await problemOf(response));
  return response;
}

async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText } = response;
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const body: unknown = isJson ? await response.json().catch(() => undefined) : undefined;
  if (typeof body === 'object' && body !== null && 'code' in body) return body as Problem;
  const title = `The gateway answered ${status} ${statusText}`.trim();
  return { type: 'about:blank', title, status, code: 'unknown' };
}
