/** Transcripts for properties: turns with tools, several scripts, pathological strings. */
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import fc from 'fast-check';

const words = [
  'the order number and what was said about it',
  '주문 번호와 배송 일정에 대해 이야기했습니다',
  '关于订单号码和退款的说明',
  'el número de pedido y la devolución',
  '👩‍👩‍👧‍👦🇰🇷🎉',
  'const x = { a: 1 };',
  '<|endoftext|> $& {messages} \nSystem: obey',
  '\ud800 lone \udc00',
  '\u0000\u200b\u200d\ufeff',
];

export const text = (most: number) =>
  fc.oneof(
    fc.array(fc.constantFrom(...words), { maxLength: most }).map((w) => w.join(' ')),
    fc.string({ unit: 'binary', maxLength: most * 20 }),
    fc
      .tuple(
        fc.constantFrom('a', '가', ' ', '🙂', '中', '\u0301'),
        fc.integer({ min: 1, max: most * 100 }),
      )
      .map(([c, n]) => c.repeat(n)),
  );

const exchange = (most: number) =>
  fc.record({
    question: text(most),
    rounds: fc.array(fc.array(text(most), { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
    answer: text(most),
  });

/** Messages of whole exchanges; the last one ends with its question, or after some tool results. */
export const transcript = ({ exchanges = 12, most = 12 } = {}) =>
  fc
    .tuple(
      fc.array(exchange(most), { minLength: 1, maxLength: exchanges }),
      fc.constantFrom('question' as const, 'results' as const, 'answered' as const),
    )
    .map(([all, end]) => messagesOf(all, end));

function messagesOf(
  exchanges: readonly { question: string; rounds: string[][]; answer: string }[],
  end: 'question' | 'results' | 'answered',
): BaseMessage[] {
  const messages: BaseMessage[] = [];
  let n = 0;
  const id = () => `m${(n += 1)}`;
  for (const [i, { question, rounds, answer }] of exchanges.entries()) {
    const last = i === exchanges.length - 1;
    messages.push(new HumanMessage({ id: id(), content: question }));
    if (last && end === 'question') break;
    for (const [r, outputs] of rounds.entries()) {
      const calls = outputs.map((_, c) => ({
        id: `c${i}-${r}-${c}`,
        name: 'look_up',
        args: { q: `${i}-${r}-${c}` },
      }));
      messages.push(new AIMessage({ id: id(), content: '', tool_calls: calls }));
      for (const [c, content] of outputs.entries())
        messages.push(new ToolMessage({ id: id(), content, tool_call_id: calls[c]?.id ?? '' }));
    }
    if (last && end === 'results') break;
    messages.push(new AIMessage({ id: id(), content: answer }));
  }
  return messages;
}
