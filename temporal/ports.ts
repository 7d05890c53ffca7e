import { connect, createServer } from 'node:net';

const loopback = '127.0.0.1';

/** A port of the loopback interface that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, loopback, resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.');
  return address.port;
}

/** Whether a server could listen on this port of the loopback interface now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, loopback, () => server.close(() => resolve(true)));
  });
}

/** Whether something listens on this port now. */
export function accepts(port: number, host = loopback): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const answer = (open: boolean) => (): void => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', answer(true)).once('error', answer(false));
  });
}
