/** The text of a turn's finished work, for the viewers of an attempt that goes on from it (P10). */
import { baseValues } from './base-values.js';
import { baseMessages, turnMessages } from './output.js';
import type { GraphRun } from './port.js';
import { isMessageLike, type MessageLike, roleOf, textOf } from './transcript.js';

/** Of finished supersteps, and of the parallel tasks of the next one that are flushed. */
export async function finishedText(run: GraphRun): Promise<string> {
  const tuple = await run.attempt.saver.getTuple({
    configurable: { thread_id: run.identity.threadId, checkpoint_ns: '' },
  });
  if (tuple === undefined) return '';
  const finished = listOf(tuple.checkpoint.channel_values.messages);
  const flushed = (tuple.pendingWrites ?? [])
    .filter(([, channel]) => channel === 'messages')
    .flatMap(([, , value]) => listOf(value));
  const base = baseMessages(await baseValues(run));
  return turnMessages(base, [...finished, ...flushed])
    .filter((message) => roleOf(message) === 'assistant')
    .map((message) => textOf(message.content))
    .join('');
}

const listOf = (value: unknown): readonly MessageLike[] =>
  (Array.isArray(value) ? value : [value]).filter(isMessageLike);
