/** A provider for one very long thread: it checks what it is sent, summarises like a careful cheap model, and answers only from what it sees. */
import { messageTokens, type Tokenizer } from '../memory/context/tokens.js';
import type { ChatRequest } from '../test/support/chat-request.js';
import { reply, type Answer } from '../test/support/scripted-answers.js';
import { replyTo, userMessage } from './prose.js';

/** What is told once, early, and asked for ever after. */
const secret = 'marigold';
const toldAt = 3;
const askedEvery = 25;
const toolEvery = 3;

export interface Sent {
  readonly kind: 'chat' | 'summary';
  readonly tokens: number;
  /** Told and asked again: what the model could answer. */
  readonly knew?: boolean;
}

export interface LongThread {
  readonly answer: Answer;
  readonly sent: readonly Sent[];
  /** The n-th message, from 1 on. */
  message(n: number): string;
}

export function longThread(tokenizer: Tokenizer): LongThread {
  const sent: Sent[] = [];
  return {
    sent,
    message(n) {
      if (n === toldAt) return `By the way, my locker word is ${secret}.`;
      if (n > toldAt && n % askedEvery === 0) return 'What is my locker word?';
      return n % toolEvery === 0 ? `Compute ${n} * 17 and tell me.` : userMessage(1, n);
    },
    answer(request) {
      const tokens = tokensOf(tokenizer, request);
      if (request.last.startsWith('{"summary_so_far"')) {
        sent.push({ kind: 'summary', tokens });
        return reply(summaryOf(request.last));
      }
      const asked = request.last === 'What is my locker word?';
      const knew = asked && request.messages.some(({ text }) => text.includes(secret));
      sent.push({ kind: 'chat', tokens, ...(asked && { knew }) });
      if (asked) return reply(knew ? `It is ${secret}.` : 'I do not know.');
      const sum = /^Compute (\d+ \* 17)/.exec(request.last)?.[1];
      if (sum !== undefined && request.messages.at(-1)?.role !== 'tool')
        return reply('', {
          toolCalls: [
            { name: 'calculator', args: { expression: sum } },
            { name: 'search_docs', args: { query: request.last } },
          ],
        });
      return reply(replyTo(request.messages.length, request.last));
    },
  };
}

/** As the provider would bill them, without the tools. */
const tokensOf = (tokenizer: Tokenizer, { messages }: ChatRequest): number =>
  messages.reduce((sum, { role, text, toolCalls, toolCallId }) => {
    const calls = toolCalls.map((c) => ({ id: c.id, name: c.name, args: c.arguments }));
    const message = { role, content: text, tool_calls: calls, tool_call_id: toolCallId };
    return sum + messageTokens(tokenizer, message);
  }, 3);

const summaryLines = 12;
const lineChars = 100;

/** Keeps every statement about oneself, and of the rest what is newest. */
function summaryOf(request: string): string {
  const { summary_so_far: previous, said } = JSON.parse(request) as {
    summary_so_far: string;
    said: { speaker: string; text: string }[];
  };
  const fresh = said
    .filter(({ speaker }) => speaker === 'user')
    .map(({ text }) => `The user: ${text.slice(0, lineChars)}`);
  const lines = [...previous.split('\n').filter((line) => line !== ''), ...fresh];
  const own = lines.filter((line) => /\bmy .* is\b/.test(line) && !line.includes('?'));
  const others = lines.filter((line) => !own.includes(line));
  return [...own, ...others.slice(-summaryLines)].join('\n');
}
