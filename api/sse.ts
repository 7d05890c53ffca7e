/** Writing server-sent events to one reader, however slow it is. Knows nothing of turns. */
import type { Response } from 'express';
import type { StreamSettings } from './deps.js';

export interface SseEvent {
  readonly event: string;
  /** JSON text without line breaks. */
  readonly data: string;
  readonly id?: string;
}

export interface EventStream {
  /** Writes events that belong together; cuts a reader off that has let too much pile up. Does nothing once closed. */
  send(events: readonly SseEvent[]): void;
  /** Too much is unsent: send nothing but what cannot wait, until `onDrain`. */
  isFull(): boolean;
  readonly closed: boolean;
  /** Sends the last events, however long, as fast as the reader takes them, and ends the stream. */
  finish(events: readonly SseEvent[]): void;
  /** The same for text that comes piece by piece, asked for as the reader takes it. A source that throws breaks the connection. */
  finishWith(pieces: AsyncIterable<string>): void;
  /** Ends the stream with the time after which the reader should come back. */
  end(retryMs: number): void;
}

/** How soon a reader comes back after a connection broke. */
const retryMs = 1_000;

/** Starts the response. From here on errors are events. */
export function openEventStream(
  res: Response,
  settings: StreamSettings,
  on: { readonly drain: () => void; readonly close: () => void },
): EventStream {
  begin(res);
  const { isFull, put, drained } = guarded(res, settings);
  let closed = false;
  /** Lets the last events go on. */
  let goOn: () => void = () => undefined;
  const write = (text: string): void => {
    if (closed || text === '') return;
    if (res.writableLength > settings.cutBytes) res.destroy();
    else put(text);
  };
  const ping = setInterval(() => {
    if (!isFull()) write(': ping\n\n');
  }, settings.pingMs);
  const putAll = async (pieces: AsyncIterable<string> | Iterable<string>): Promise<void> => {
    for await (const piece of pieces) {
      if (res.destroyed) return;
      put(piece);
      while (isFull() && !res.destroyed) await new Promise<void>((resolve) => (goOn = resolve));
    }
    res.end();
  };
  const close = (pieces: AsyncIterable<string> | Iterable<string>): void => {
    if (closed) return;
    closed = true;
    clearInterval(ping);
    // A stream that breaks off is asked for again; one that ends is not.
    putAll(pieces).catch(() => res.destroy());
  };
  res.on('drain', () => {
    drained();
    goOn();
    if (!closed) on.drain();
  });
  // Not the request's `close`: that comes as soon as its body is read.
  res.on('close', () => {
    closed = true;
    goOn();
    clearInterval(ping);
    drained();
    on.close();
  });
  write(`retry: ${retryMs}\n\n`);

  return {
    send: (events) => write(events.map(written).join('')),
    isFull,
    get closed() {
      return closed;
    },
    finish: (events) => close(piecesOf(events)),
    finishWith: close,
    end: (comeBackMs) => close([`retry: ${comeBackMs}\n\n`]),
  };
}

function begin(res: Response): void {
  res.status(200).set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform', // compression by a proxy would hold events back
    'X-Accel-Buffering': 'no',
  });
  res.flushHeaders();
  res.socket?.setNoDelay(true);
}

/** Cuts a reader off that takes nothing for too long. */
function guarded(
  res: Response,
  { holdBytes, stallMs }: StreamSettings,
): {
  readonly isFull: () => boolean;
  readonly put: (text: string) => void;
  readonly drained: () => void;
} {
  let stall: NodeJS.Timeout | undefined;
  const isFull = (): boolean => res.writableLength > holdBytes;
  return {
    isFull,
    put(text) {
      res.write(text);
      if (isFull()) stall ??= setTimeout(() => res.destroy(), stallMs);
    },
    drained() {
      clearTimeout(stall);
      stall = undefined;
    },
  };
}

const written = (event: SseEvent): string => `${headOf(event)}${event.data}\n\n`;

/** An event up to its data. */
export const headOf = ({ event, id }: Omit<SseEvent, 'data'>): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: `;

/** Small beside what a reader may leave unsent, large beside what a write costs. */
const sliceChars = 16 << 10;

function* piecesOf(events: readonly SseEvent[]): Generator<string, void> {
  for (const event of events) {
    if (event.data.length <= sliceChars) {
      yield written(event);
      continue;
    }
    yield headOf(event);
    yield* slices(event.data);
    yield '\n\n';
  }
}

/** Cut between characters: each slice is encoded by itself. */
export function* slices(text: string): Generator<string, void> {
  for (let at = 0; at < text.length;) {
    const end = at + sliceChars;
    const isInside = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
    yield text.slice(at, isInside ? end - 1 : end);
    at = isInside ? end - 1 : end;
  }
}
