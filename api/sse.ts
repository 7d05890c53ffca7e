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
  /** Ends the stream, optionally with the time after which the reader should come back. */
  end(retryMs?: number): void;
}

/** How soon a reader comes back after a connection broke. */
const retryMs = 1_000;

/** Starts the response. From here on errors are events. */
export function openEventStream(
  res: Response,
  settings: StreamSettings,
  on: { readonly drain: () => void; readonly close: () => void },
): EventStream {
  res.status(200).set({
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-cache, no-transform', // compression by a proxy would hold events back
    'X-Accel-Buffering': 'no',
  });
  res.flushHeaders();
  res.socket?.setNoDelay(true);

  let closed = false;
  let stall: NodeJS.Timeout | undefined;
  const isFull = (): boolean => res.writableLength > settings.holdBytes;
  const write = (text: string): void => {
    if (closed || text === '') return;
    if (res.writableLength > settings.cutBytes) {
      res.destroy();
      return;
    }
    res.write(text);
    if (isFull()) stall ??= setTimeout(() => res.destroy(), settings.stallMs);
  };
  const ping = setInterval(() => {
    if (!isFull()) write(': ping\n\n');
  }, settings.pingMs);
  res.on('drain', () => {
    clearTimeout(stall);
    stall = undefined;
    if (!closed) on.drain();
  });
  // Not the request's `close`: that comes as soon as its body is read.
  res.on('close', () => {
    closed = true;
    clearInterval(ping);
    clearTimeout(stall);
    on.close();
  });
  write(`retry: ${retryMs}\n\n`);

  return {
    send: (events) => write(events.map(written).join('')),
    isFull,
    get closed() {
      return closed;
    },
    end(comeBackMs) {
      if (comeBackMs !== undefined) write(`retry: ${comeBackMs}\n\n`);
      if (closed) return;
      closed = true;
      clearInterval(ping);
      res.end();
    },
  };
}

const written = ({ event, data, id }: SseEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
