/** What an application of Hono is to its host: `fetch`, and `notFound` for what no route takes. */
let unknown = () => new Response('not here', { status: 404 });

export const app = {
  notFound(handler) {
    unknown = handler;
  },
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/hello')
      return new Response(`<h1>${request.headers.get('authorization')}</h1>`, {
        headers: { 'content-type': 'text/html', 'set-cookie': 'seen=1' },
      });
    if (pathname === '/upper') return new Response((await request.text()).toUpperCase());
    if (pathname === '/throws') throw new Error('a secret of the project');
    if (pathname === '/stray') {
      setTimeout(() => {
        throw new Error('nobody catches this');
      });
      return new Response('soon');
    }
    const answer = unknown();
    answer.headers.set('x-by', 'guarded');
    return answer;
  },
};
