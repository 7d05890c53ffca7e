import { describe, expect, test } from '@jest/globals';
import { afterEvent, emptyReply, redraw, replyText } from '../../cli/reply-view.js';
import type { TurnEvent } from '../../client/client.js';

const token = (text: string, message = 'm1'): TurnEvent => ({
  event: 'token',
  data: { message_id: message, text },
});
const textAfter = (...events: TurnEvent[]) => replyText(events.reduce(afterEvent, emptyReply));

describe('text of a reply', () => {
  test('P10 tokens append, a reset clears, a snapshot replaces', () => {
    expect(textAfter(token('a'), token('b'))).toBe('ab');
    expect(textAfter(token('a'), { event: 'reset', data: {} })).toBe('');
    expect(textAfter(token('a'), { event: 'snapshot', data: { text: 'x' } }, token('y'))).toBe(
      'xy',
    );
  });

  test('each model message of a turn begins on a line of its own', () => {
    expect(textAfter(token('Let me see.'), token('', 'm2'), token('It is 12.', 'm3'))).toBe(
      'Let me see.\nIt is 12.',
    );
  });
});

/** What a terminal of some width shows after `output`: the few things that a reply makes it do. */
function terminal(columns: number, output: string): string {
  const rows: string[] = [''];
  let [row, column] = [0, 0];
  // eslint-disable-next-line no-control-regex -- they are what it is about
  for (const [part = ''] of output.matchAll(/\u001b\[\d*[AJ]|[^]/gu)) {
    if (part === '\u001b[J') {
      rows.length = row + 1;
      rows[row] = (rows[row] ?? '').slice(0, column);
    } else if (part.startsWith('\u001b[')) row -= Number(part.slice(2, -1));
    else if (part === '\r') column = 0;
    else {
      if (part === '\n' || column === columns) {
        row++;
        column = 0;
      }
      rows[row] ??= '';
      if (part !== '\n') rows[row] = (rows[row] ?? '').slice(0, column++) + part;
    }
  }
  return rows.join('\n');
}

describe('redrawing', () => {
  const screen = { columns: 10, rows: 8 };

  test.each([
    ['short', 'other'],
    ['exactly 10', 'new'],
    ['longer than one line', 'new'],
    ['two\nlines', 'new\nlines\nagain'],
    ['ends with a break\n', 'new'],
    ['ten chars!\nand a line that wraps', 'x'],
  ])('%j gives way to %j without a trace', (drawn, wanted) => {
    expect(terminal(10, drawn + redraw(drawn, wanted, screen))).toBe(terminal(10, wanted));
  });

  test('text that goes on is only added to', () => {
    expect(redraw('abc', 'abcdef', screen)).toBe('def');
  });

  test('what has scrolled away stays, and the reply starts once more below it', () => {
    expect(redraw('x\n'.repeat(20), 'new', screen)).toBe('\n[once more from the start]\nnew');
  });
});
