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
  const write = (text: string): void => {
    if (closed || text === '') return;
    if (res.writableLength > settings.cutBytes) res.destroy();
    else put(text);
  };
  const ping = setInterval(() => {
    if (!isFull()) write(': ping\n\n');
  }, settings.pingMs);
  const close = (pieces: AsyncIterable<string> | Iterable<string>): void => {
    if (closed) return;
    closed = true;
    clearInterval(ping);
    // A stream that breaks off is asked for again; one that ends is not.
    pour(res, pieces, settings.stallMs).catch(() => res.destroy());
  };
  res.on('drain', () => {
    drained();
    if (!closed) on.drain();
  });
  // Not the request's `close`: that comes as soon as its body is read.
  res.on('close', () => {
    closed = true;
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

/**
 * Sends pieces through one buffer, each when the kernel has taken the one before it: whoever does not read costs that buffer,
 * and whoever does leaves no garbage of its size.
 */
async function pour(
  res: Response,
  pieces: AsyncIterable<string> | Iterable<string>,
  stallMs: number,
): Promise<void> {
  let buffer: Buffer | undefined;
  const taken = (chunk: Buffer | string): Promise<void> =>
    new Promise((resolve) => {
      const stall = setTimeout(() => res.destroy(), stallMs);
      const goOn = (): void => {
        clearTimeout(stall);
        res.off('close', goOn);
        resolve();
      };
      res.once('close', goOn);
      res.write(chunk, goOn);
    });
  for await (const piece of pieces) {
    if (res.destroyed) return;
    if (piece.length < shortChars) res.write(piece);
    else {
      buffer ??= Buffer.allocUnsafe((sliceChars + headChars) * mostBytesOfChar);
      await taken(buffer.subarray(0, buffer.write(piece)));
    }
  }
  res.end();
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
/** Most that stands before a slice: name and id of an event. */
const headChars = 1 << 10;
/** Of one UTF-16 unit, in UTF-8. */
const mostBytesOfChar = 3;
/** Less is written at once: what surrounds the slices of long texts. */
const shortChars = 4 << 10;

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
