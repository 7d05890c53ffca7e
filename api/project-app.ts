/** The project's own routes (`http.app`), in front of ours. What they throw is theirs: an answer, never the gateway's end. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type {
  Request as ExpressRequest,
  RequestHandler,
  Response as ExpressResponse,
} from 'express';
import type { ProjectApp } from '../contracts/project-http.js';
import { fetchRequest } from './fetch-request.js';

/** Marks the answer that says that no route of the application takes the request. */
const unmatched = 'x-everthread-unmatched';

export function projectApp(app: ProjectApp): RequestHandler {
  app.notFound?.(() => new Response(null, { status: 404, headers: { [unmatched]: '1' } }));
  return async (req, res, next) => {
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const answer = await app.fetch(fetchRequest(req, { signal: gone.signal, ...bodyOf(req) }));
    if (isOurs(app, answer)) {
      // What its middleware has set goes with our answer.
      for (const [name, value] of answer.headers)
        if (name !== unmatched && !name.startsWith('content-')) res.append(name, value);
      await answer.body?.cancel();
      next();
      return;
    }
    await send(answer, res);
  };
}

/** An application that cannot be told what to answer then says 404 by itself. */
const isOurs = (app: ProjectApp, answer: Response): boolean =>
  app.notFound === undefined ? answer.status === 404 : answer.headers.has(unmatched);

/** Read only when the application reads it: otherwise it is there for our routes. */
function bodyOf(req: ExpressRequest): { readonly body?: ReadableStream } {
  if (req.method === 'GET' || req.method === 'HEAD') return {};
  if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined)
    return {};
  let reader: AsyncIterator<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= req[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
        const read = await reader.next();
        if (read.done === true) controller.close();
        else controller.enqueue(new Uint8Array(read.value));
      },
    },
    { highWaterMark: 0 },
  );
  return { body };
}

/** The answer is the application's alone: none of our headers but the request's id. */
async function send(answer: Response, res: ExpressResponse): Promise<void> {
  for (const name of res.getHeaderNames()) if (!kept(name)) res.removeHeader(name);
  res.status(answer.status);
  for (const [name, value] of answer.headers) if (name !== 'set-cookie') res.set(name, value);
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) res.set('set-cookie', cookies);
  if (answer.body === null) {
    res.end();
    return;
  }
  res.flushHeaders();
  const body = Readable.fromWeb(answer.body);
  // Whoever reads may leave; an application whose stream breaks has its answer cut off.
  await pipeline(body, res).catch(() => res.destroy());
}

const kept = (name: string): boolean =>
  name === 'x-request-id' || name === 'vary' || name.startsWith('access-control-');
