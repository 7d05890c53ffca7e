/** A TCP proxy that can swallow what passes, as a network does that drops packets: no RST, no FIN, nobody is told. */
import net from 'node:net';

export interface BlackHole {
  readonly port: number;
  /** From now on nothing passes on connections that are open now; `all`: nor on new ones, which get no answer either. */
  swallow(which: 'open' | 'all'): void;
  /** New connections pass again, and so do old ones that nobody has given up: what waits is sent again by TCP. */
  heal(): void;
  close(): Promise<void>;
}

export async function blackHole(target: { host: string; port: number }): Promise<BlackHole> {
  const sockets = new Set<net.Socket>();
  const silent = new Set<net.Socket>();
  let swallowing = false;
  const keep = (socket: net.Socket, other: net.Socket): void => {
    sockets.add(socket);
    if (swallowing) silence(socket);
    socket.on('data', (data) => other.write(data));
    // Nor does a goodbye pass.
    const pass = (): void => {
      if (!silent.has(socket) && !silent.has(other)) other.destroy();
    };
    socket.on('error', pass);
    socket.on('close', () => {
      sockets.delete(socket);
      silent.delete(socket);
      pass();
    });
  };
  const silence = (socket: net.Socket): void => {
    silent.add(socket);
    socket.pause();
  };
  const server = net.createServer({ pauseOnConnect: true }, (client) => {
    const upstream = net.connect(target.port, target.host);
    keep(client, upstream);
    keep(upstream, client);
    if (!swallowing) client.resume();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as net.AddressInfo).port,
    swallow(which) {
      swallowing = which === 'all';
      for (const socket of sockets) silence(socket);
    },
    heal() {
      swallowing = false;
      for (const socket of silent) socket.resume();
      silent.clear();
    },
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
