/** A request of Node as the `Request` that code written for the web takes. */
import type { Request as ExpressRequest } from 'express';
import { Problem } from './problem.js';

/** Without a body unless one is given. @throws Problem when the web knows no such request */
export function fetchRequest(
  req: ExpressRequest,
  more: { readonly body?: ReadableStream; readonly signal?: AbortSignal } = {},
): Request {
  try {
    const headers = new Headers();
    for (let i = 0; i + 1 < req.rawHeaders.length; i += 2)
      headers.append(req.rawHeaders[i] ?? '', req.rawHeaders[i + 1] ?? '');
    const url = new URL(`http://${req.headers.host ?? 'localhost'}`);
    const [path = '/', ...query] = req.originalUrl.split('?');
    url.pathname = path;
    url.search = query.join('?');
    // Node wants to hear that a body may be sent before the answer begins; the types do not know it.
    const duplex = more.body && { duplex: 'half' as const };
    const init = { method: req.method, headers, ...more, ...duplex };
    return new Request(url, init);
  } catch {
    throw new Problem('invalid_request', 'The request cannot be read.');
  }
}
