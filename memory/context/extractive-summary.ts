/** A summariser without a model: keeps the first sentence of what was said, newest first. For the built-in model. */
import type { Summarise } from './compact.js';
import type { Tokenizer } from './tokens.js';

/** Longer sentences are no summary. */
const sentenceChars = 160;

/** Deterministic. What a user said outlives what an assistant said; tool outputs are left out. */
export const extractiveSummary =
  (tokenizer: Tokenizer): Summarise =>
  ({ previous, messages, maxTokens }) => {
    const fresh = messages.flatMap(({ speaker, text }) => {
      const sentence = firstSentence(text);
      return sentence === '' || (speaker !== 'user' && speaker !== 'assistant')
        ? []
        : [`${speaker}: ${sentence}`];
    });
    const lines = [...previous.split('\n').filter((l) => l !== ''), ...fresh];
    return Promise.resolve(newestThatFit(lines, maxTokens, tokenizer).join('\n'));
  };

const firstSentence = (text: string): string =>
  (/^\s*(\S[^\n]*?[.!?。！？](?=\s|$)|\S[^\n]*)/u.exec(text)?.[1] ?? '').slice(0, sentenceChars);

/** Drops the oldest line of an assistant first, then the oldest line. */
function newestThatFit(
  lines: readonly string[],
  maxTokens: number,
  tokenizer: Tokenizer,
): string[] {
  const costs = lines.map((line) => tokenizer.count(line) + 1);
  let tokens = costs.reduce((a, b) => a + b, 0);
  const kept = new Set(lines.keys());
  const order = [...kept].sort(
    (a, b) => Number(isUsers(lines[a])) - Number(isUsers(lines[b])) || a - b,
  );
  for (const i of order) {
    if (tokens <= maxTokens) break;
    kept.delete(i);
    tokens -= costs[i] ?? 0;
  }
  return lines.filter((_, i) => kept.has(i));
}

const isUsers = (line = ''): boolean => line.startsWith('user: ');
