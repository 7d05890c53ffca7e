import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';

/** Each user sees and runs the threads that are his; guests may not run anything. */
export const auth = new Auth()
  .authenticate(async (request) => {
    const header = request.headers.get('authorization') ?? '';
    const name = header.split(process.env.TOKEN_PREFIX)[1];
    if (name === 'nobody') throw new Error('the key server is away');
    if (!name)
      throw new HTTPException(401, {
        message: 'Bring a token.',
        headers: { 'www-authenticate': 'Bearer' },
      });
    return { identity: name, role: name === 'guest' ? 'guest' : 'member', permissions: ['chat'] };
  })
  .on('threads', ({ value, user }) => {
    value.metadata ??= {};
    value.metadata.owner = user.identity;
    return { owner: user.identity };
  })
  .on('threads:create_run', ({ user }) => user.role !== 'guest' && { owner: user.identity });
