/** A TCP proxy in front of PostgreSQL that cuts a connection around a COMMIT: before the server sees it, or after it answered. */
import net from 'node:net';

/** What becomes of a COMMIT: `hold` keeps it from the server and leaves the connection open. */
type Fate = 'pass' | 'before' | 'after' | 'hold';

export interface CuttingProxy {
  readonly url: string;
  /** Cuts the next connection that commits. */
  cutNext(when: 'before' | 'after'): void;
  /** Decides the fate of every COMMIT of a writing transaction, until it is called again. */
  onWrite(fate: () => Fate): void;
  /** For each of these texts: cuts the first connection on which a client sends it. @returns those that are left */
  cutAt(texts: readonly string[]): ReadonlySet<string>;
  /** Cuts all connections that are open now. */
  cutAll(): void;
  /** How many connections were cut. */
  readonly cuts: () => number;
  close(): Promise<void>;
}

/** What the client sends for `COMMIT`: a simple query. */
const commit = Buffer.concat([
  Buffer.from('Q'),
  Buffer.from([0, 0, 0, 11]),
  Buffer.from('COMMIT\0'),
]);

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const to = new URL(target);
  let next: 'before' | 'after' | null = null;
  let fateOfWrite: () => Fate = () => 'pass';
  let cuts = 0;
  let marks = new Set<string>();
  const isMarked = (data: Buffer): boolean => {
    const mark = [...marks].find((text) => data.includes(text));
    return mark !== undefined && marks.delete(mark);
  };
  const fateOf = (writing: boolean): Fate => {
    if (next === null) return writing ? fateOfWrite() : 'pass';
    const fate = next;
    next = null;
    return fate;
  };
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(to.port), to.hostname);
    const cut = (): void => {
      cuts += 1;
      client.destroy();
      upstream.destroy();
    };
    let [cutting, writing] = [false, false];
    client.on('data', (data) => {
      if (isMarked(data)) {
        cut();
        return;
      }
      if (data.includes('BEGIN ISOLATION')) writing = data.includes('READ WRITE');
      const fate = data.includes(commit) ? fateOf(writing) : 'pass';
      if (fate === 'before') {
        cut();
        return;
      }
      cutting ||= fate === 'after';
      if (fate !== 'hold') upstream.write(data);
    });
    upstream.on('data', (data) => (cutting ? cut() : client.write(data)));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(target);
  url.port = String((server.address() as net.AddressInfo).port);
  return {
    url: url.href,
    cutNext: (when) => {
      next = when;
    },
    onWrite: (fate) => {
      fateOfWrite = fate;
    },
    cutAt: (texts) => (marks = new Set(texts)),
    cutAll: () => {
      for (const socket of open) socket.destroy();
    },
    cuts: () => cuts,
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
