/** Reads one response as the events of a turn. */
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { TurnReply } from '../contracts/http.schema.js';
import { eventOf, type TurnEvent } from './events.js';

/** Three pings missed: the other end is gone, whatever the connection says. */
const silenceMs = 45_000;

export interface ReadEvent {
  readonly event: TurnEvent;
  readonly id: string | undefined;
}

/** @param onRetry told when the gateway says how soon to come back */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onRetry: (retryMs: number) => void,
): AsyncGenerator<ReadEvent> {
  const parsed = watched(body)
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream({ onRetry }));
  for await (const { event: name, id, data } of parsed) {
    const event = eventOf(name, data);
    if (event !== undefined) yield { event, id };
  }
}

/** What a turn answers as JSON (a replay, or 202 when it goes on by itself) as the events it would have been. */
export function eventsOfReply(reply: TurnReply): readonly TurnEvent[] {
  const { thread_id, turn_id } = reply;
  const accepted: TurnEvent = { event: 'accepted', data: { thread_id, turn_id } };
  const isDone = reply.status === 'committed' || reply.status === 'interrupted';
  return isDone ? [accepted, { event: 'done', data: reply }] : [accepted];
}

/** Fails when nothing has come for too long: a connection may be half open. */
function watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const silent = setTimeout(() => {
        const error = new Error('the stream went silent');
        controller.error(error);
        void reader.cancel(error);
      }, silenceMs);
      const read = await reader.read().finally(() => clearTimeout(silent));
      if (read.done) controller.close();
      else controller.enqueue(read.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
