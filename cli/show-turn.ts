/** Shows one turn on the terminal, from its first event to its end. */
import type { TurnReply } from '../contracts/http.schema.js';
import { afterEvent, emptyReply, printable, redraw, replyText } from './reply-view.js';
import type { TurnEvent } from '../client/client.js';

/** Where replies go. */
export interface Paper {
  write(text: string): void;
  /** Undefined for a pipe: what is written cannot be taken back, so a reply is written when it is final. */
  readonly screen: { readonly columns: number; readonly rows: number } | undefined;
}

/** Standard output as it is now: a window may change its size. */
export function standardPaper(): Paper {
  const { isTTY, columns, rows } = process.stdout;
  return {
    write: (text) => void process.stdout.write(text),
    screen: isTTY ? { columns, rows } : undefined,
  };
}

export type TurnEnd =
  | { readonly kind: 'reply'; readonly reply: TurnReply }
  | { readonly kind: 'problem'; readonly code: string; readonly message: string }
  /** Nobody follows it any more; it goes on by itself. */
  | { readonly kind: 'left' };

export interface ShowOptions {
  readonly paper: Paper;
  readonly onAccepted: (turnId: string) => void;
}

export async function showTurn(
  events: AsyncIterable<TurnEvent>,
  { paper, onAccepted }: ShowOptions,
): Promise<TurnEnd> {
  let view = emptyReply;
  let drawn = '';
  const draw = (event: TurnEvent): void => {
    view = afterEvent(view, event);
    // A reset stays on the screen until there is something else to show: mostly it is the same text again.
    if (event.event === 'reset' || (paper.screen === undefined && event.event !== 'done')) return;
    const wanted = printable(replyText(view));
    if (wanted === drawn) return;
    paper.write(paper.screen === undefined ? wanted : redraw(drawn, wanted, paper.screen));
    drawn = wanted;
  };
  const endLine = (): void => {
    if (drawn !== '') paper.write('\n');
  };
  for await (const event of events) {
    if (event.event === 'accepted') onAccepted(event.data.turn_id);
    draw(event);
    if (event.event === 'done') {
      endLine();
      return { kind: 'reply', reply: event.data };
    }
    if (event.event === 'error') {
      endLine();
      const { code, title, detail } = event.data;
      return { kind: 'problem', code, message: detail ?? title };
    }
  }
  endLine();
  return { kind: 'left' };
}

/** The same as raw events, one JSON line each. */
export async function showRaw(
  events: AsyncIterable<TurnEvent>,
  { paper, onAccepted }: ShowOptions,
): Promise<TurnEnd> {
  const asLines = async function* (): AsyncGenerator<TurnEvent> {
    for await (const event of events) {
      paper.write(`${JSON.stringify(event)}\n`);
      yield event;
    }
  };
  return showTurn(asLines(), { paper: { screen: undefined, write: () => undefined }, onAccepted });
}
