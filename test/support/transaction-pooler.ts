/**
 * A small pooler in transaction mode (as PgBouncer has it), to see that ours refuses one: each transaction of a client
 * goes to any free server connection, and sessions announce a process id of the pooler's own.
 */
import net from 'node:net';
import type { AddressInfo } from 'node:net';

interface Message {
  readonly type: string;
  readonly whole: Buffer;
}

/** Splits a stream into protocol messages: a type byte, and a length that counts itself. */
function splitter(onMessage: (message: Message) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 5) {
      const length = rest.readInt32BE(1) + 1;
      if (rest.length < length) return;
      const whole = rest.subarray(0, length);
      rest = rest.subarray(length);
      onMessage({ type: String.fromCharCode(whole[0] ?? 0), whole });
    }
  };
}

interface Server {
  readonly socket: net.Socket;
  client: net.Socket | null;
}

export async function transactionPooler(target: string) {
  const { port, hostname, pathname } = new URL(target);
  const free: Server[] = [];
  const sockets = new Set<net.Socket>();
  const track = (socket: net.Socket): void => {
    sockets.add(socket.on('error', () => socket.destroy()));
  };

  /** A started session on the real server; what it says at the start stays here. */
  const connect = async (): Promise<Server> => {
    const socket = net.connect(Number(port), hostname);
    track(socket);
    const parts = Buffer.from(`user\0postgres\0database\0${pathname.slice(1)}\0\0`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(8 + parts.length, 0);
    head.writeInt32BE(196_608, 4); // protocol 3.0
    socket.write(Buffer.concat([head, parts]));
    const server: Server = { socket, client: null };
    await new Promise<void>((ready) => {
      const read = splitter(({ type, whole }) => {
        if (server.client === null) {
          if (type === 'Z') ready();
          return;
        }
        server.client.write(whole);
        // Idle: the transaction is over, and the server is anybody's.
        if (type === 'Z' && whole[5] === 'I'.charCodeAt(0)) {
          server.client = null;
          free.unshift(server);
        }
      });
      socket.on('data', read);
    });
    return server;
  };

  const serve = (client: net.Socket): void => {
    track(client);
    let server: Server | null = null;
    let sent = Promise.resolve();
    const forward = splitter(({ type, whole }) => {
      if (type === 'X') return void client.end();
      const copy = Buffer.from(whole);
      sent = sent.then(async () => {
        server = server?.client === client ? server : await take(client);
        server.socket.write(copy);
      });
    });
    client.once('data', () => {
      client.write(greeting);
      client.on('data', (data: Buffer) => forward(data));
    });
  };
  const take = async (client: net.Socket): Promise<Server> => {
    const server = free.shift() ?? (await connect());
    server.client = client;
    return server;
  };
  const listener = net.createServer(serve);
  await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done));
  const url = new URL(target);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.href,
    close: async () => {
      const closed = new Promise((done) => listener.close(done));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** AuthenticationOk, a process id that no server has, ReadyForQuery. */
const greeting = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]),
  Buffer.from([0x4b, 0, 0, 0, 12, 0x7f, 0, 0, 1, 0, 0, 0, 1]),
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]),
]);
