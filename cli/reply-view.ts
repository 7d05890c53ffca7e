/** A reply as a terminal shows it while it grows: what its text is, and how to get there from what is drawn. Pure. */
import stringWidth from 'string-width';
import type { TurnEvent } from '../client/client.js';

/** Text of the turn so far, in the order in which its messages began. */
export interface ReplyView {
  readonly parts: readonly { readonly message: string | undefined; readonly text: string }[];
}

export const emptyReply: ReplyView = { parts: [] };

export const replyText = ({ parts }: ReplyView): string => parts.map((p) => p.text).join('\n');

export function afterEvent(view: ReplyView, event: TurnEvent): ReplyView {
  if (event.event === 'token') return append(view, event.data.message_id, event.data.text);
  if (event.event === 'snapshot') return whole(event.data.text);
  if (event.event === 'reset') return emptyReply;
  if (event.event !== 'done') return view;
  // The committed row is the truth; tokens may have been lost on the way.
  const { response } = event.data;
  return replyText(view).endsWith(response) ? view : whole(response);
}

const whole = (text: string): ReplyView => ({ parts: [{ message: undefined, text }] });

function append({ parts }: ReplyView, message: string | undefined, text: string): ReplyView {
  if (text === '') return { parts };
  const last = parts.at(-1);
  // A snapshot does not say of which message its end is; the next token goes on with it.
  const goesOn = last !== undefined && (last.message === undefined || last.message === message);
  if (!goesOn) return { parts: [...parts, { message, text }] };
  return { parts: [...parts.slice(0, -1), { message, text: last.text + text }] };
}

/** Control characters could move the cursor or worse; only line breaks are text. A tab's width depends on where it stands. */
export const printable = (text: string): string =>
  text
    .replaceAll('\t', '    ')
    // eslint-disable-next-line no-control-regex -- they are what it is about
    .replaceAll(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, '\ufffd');

export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** What to write so that a terminal that shows `drawn`, cursor at its end, shows `wanted` instead. */
export function redraw(drawn: string, wanted: string, screen: Screen): string {
  if (wanted.startsWith(drawn)) return wanted.slice(drawn.length);
  const rows = drawn
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / screen.columns)), 0);
  // What has scrolled away cannot be taken back.
  if (rows > screen.rows) return `\n[once more from the start]\n${wanted}`;
  const up = rows > 1 ? `\u001b[${rows - 1}A` : '';
  return `\r${up}\u001b[J${wanted}`;
}
