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
  /** What is left of the last events. */
  let last: Iterator<string> | undefined;
  const write = (text: string): void => {
    if (closed || text === '') return;
    if (res.writableLength > settings.cutBytes) res.destroy();
    else put(text);
  };
  const putLast = (pieces: Iterator<string>): void => {
    while (!isFull() && !res.destroyed) {
      const piece = pieces.next();
      if (piece.done === true) {
        res.end();
        return;
      }
      put(piece.value);
    }
  };
  const ping = setInterval(() => {
    if (!isFull()) write(': ping\n\n');
  }, settings.pingMs);
  const close = (pieces: Iterator<string>): void => {
    if (closed) return;
    closed = true;
    clearInterval(ping);
    last = pieces;
    putLast(pieces);
  };
  res.on('drain', () => {
    drained();
    if (last !== undefined) putLast(last);
    else if (!closed) on.drain();
  });
  // Not the request's `close`: that comes as soon as its body is read.
  res.on('close', () => {
    closed = true;
    last = undefined;
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
    end: (comeBackMs) => close([`retry: ${comeBackMs}\n\n`].values()),
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

const headOf = ({ event, id }: SseEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: `;

/** Small beside what a reader may leave unsent, large beside what a write costs. */
const pieceChars = 16 << 10;

/** Cut between characters: each piece is encoded by itself. */
function* piecesOf(events: readonly SseEvent[]): Generator<string, void> {
  for (const event of events) {
    const { data } = event;
    if (data.length <= pieceChars) {
      yield written(event);
      continue;
    }
    yield headOf(event);
    for (let at = 0; at < data.length;) {
      const end = at + pieceChars;
      const isInside = (data.charCodeAt(end - 1) & 0xfc00) === 0xd800;
      yield data.slice(at, isInside ? end - 1 : end);
      at = isInside ? end - 1 : end;
    }
    yield '\n\n';
  }
}
