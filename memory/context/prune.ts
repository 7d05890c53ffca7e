/** Old tool outputs are shortened for the prompt; the transcript keeps them whole (M3). */
import { headOf } from './cut-text.js';
import { answeredCallOf, speakerOf, textOf, withText, type MessageLike } from './message.js';

/** Longer outputs are cut to this. */
export const keptOutputChars = 150;
/** The newest messages are never cut: the model is still working with them. */
export const untouchedMessages = 3;

const marker = (chars: number): string => `… [Tool Output Truncated: Total Length ${chars} chars]`;
const markerAtEnd = /… \[Tool Output Truncated: Total Length \d{1,12} chars\]$/;

/** The message, or a copy with a short output. Cutting what is cut already changes nothing. */
export function pruned<M extends MessageLike>(message: M): M {
  const text = textOf(message);
  if (text.length <= keptOutputChars) return message;
  const cut = markerAtEnd.exec(text);
  if (cut !== null && cut.index <= keptOutputChars) return message;
  return withText(message, headOf(text, keptOutputChars) + marker(text.length));
}

/** A position decides, so a cut is for ever: messages are only ever added behind. */
export const isOldOutput = (message: MessageLike, index: number, length: number): boolean =>
  speakerOf(message) === 'tool' && index < length - untouchedMessages;

/** The messages with every old tool output cut. */
export const pruneToolOutputs = <M extends MessageLike>(messages: readonly M[]): readonly M[] =>
  messages.map((m, i) => (isOldOutput(m, i, messages.length) ? pruned(m) : m));

/** The whole output of a call, however its message was shown to the model. */
export function toolOutputOf(messages: readonly MessageLike[], callId: string): string | undefined {
  const found = messages.find((m) => speakerOf(m) === 'tool' && answeredCallOf(m) === callId);
  return found === undefined ? undefined : textOf(found);
}
