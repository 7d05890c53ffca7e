// What the built-in model says: pure, the same words for the same conversation. No language understanding is claimed or faked.

interface Passage {
  readonly source: string;
  readonly text: string;
}

/** Lexical search over documents, best first. */
export type DocsSearch = (query: string, limit: number) => readonly Passage[];

export interface Conversation {
  /** Texts of the user's messages, oldest first; the last one is to be answered. */
  readonly users: readonly string[];
  /** What the user said before that, as a summary has it. */
  readonly older?: readonly string[];
  /** What long-term memory knows of the user, in his words. */
  readonly known?: readonly string[];
  /** Whether this is the model's first answer of the thread. */
  readonly first: boolean;
  /** Results of the tools called for the last message. */
  readonly toolResults: readonly { readonly name: string; readonly text: string }[];
  readonly tools: readonly string[];
}

export type BuiltinReply =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly name: string; readonly args: Record<string, string> };

const whatItIs =
  "I am Everthread's built-in model, not an LLM: I answer by rules, from this conversation and from the documents that ship with me. Set EVERTHREAD_MODEL (for example openai:gpt-5-mini, with OPENAI_API_KEY) to talk to a real model.";
const whatItCan =
  'I can quote and count what you said, remember your name, tell the time, calculate, and quote the documents about Everthread: threads, the HTTP API, crashes, settings and limits.';

export function replyTo(conversation: Conversation, docs: DocsSearch): BuiltinReply {
  const last = conversation.users.at(-1) ?? '';
  if (conversation.toolResults.length > 0)
    return say(introduced(fromTools(conversation), conversation));
  const text = aboutConversation(last, conversation);
  if (text !== undefined) return say(introduced(text, conversation));
  const call = toolCall(last, conversation.tools);
  if (call !== undefined) return call;
  return say(introduced(found(last, conversation, docs), conversation));
}

const say = (text: string): BuiltinReply => ({ kind: 'text', text });
const introduced = (text: string, { first }: Conversation): string =>
  first && !text.includes(whatItIs) ? `${whatItIs} ${text}` : text;
const quote = (text: string): string => `"${text.trim().replace(/\s+/g, ' ').slice(0, 300)}"`;

const asksForLast =
  /\b(what|which)\b.*\b(did|have|was)\b.*\bi\b.*\b(just|last|previously|before)?\s*(ask|asked|say|said|tell|told|write|wrote)\b|\bmy (last|previous) (question|message)\b|\brepeat (my|what i)\b/i;
const asksForFirst = /\bmy first (question|message)\b|\bi (ask|asked|say|said) first\b/i;
const asksForList =
  /\b(list|show|summari[sz]e)\b.*\b(i|we|our|my|conversation|thread)\b|\bwhat have (we|i) (talked|said|asked|discussed)\b/i;
const asksForCount =
  /\bhow many\b.*\b(messages|questions|times|things)\b.*\b(i|we|my|have|did|thread)\b/i;
const asksForName = /\b(what('s| is)|do you (know|remember)|tell me) my name\b|\bwho am i\b/i;
const asksWhatItIs =
  /\bwhat can you do\b|\b(who|what) are you\b|\bare you (an? )?(llm|ai|gpt|chatgpt|human|bot|real)\b|^\s*help\b|\bwhat do you do\b/i;
const greeting = /^\s*(hi|hello|hey|hola|good (morning|afternoon|evening)|greetings|howdy)\b/i;
const farewell = /^\s*(bye|goodbye|see you|ciao)\b/i;
const thanks = /^\s*(thanks|thank you|thx)\b/i;
/** The pronoun may be written small, the name not, or "I am tired" would be a name. */
const namePattern = /\b(?:[Mm]y name is|[Cc]all me|[Ii](?:'m| am))\s+(\p{Lu}[\p{L}'-]{0,40})/u;

const nameIn = (texts: readonly string[]): string | undefined =>
  texts.map((t) => namePattern.exec(t)?.[1]).findLast((name) => name !== undefined);

/** Answers that need nothing but the conversation. */
function aboutConversation(last: string, conversation: Conversation): string | undefined {
  const earlier = earlierIn(conversation);
  const recalled = recall(last, conversation);
  if (recalled !== undefined) return recalled;
  const told = nameIn([last]);
  if (told !== undefined)
    return `Nice to meet you, ${told}. I will remember your name in this thread.`;
  if (asksWhatItIs.test(last)) return `${whatItIs} ${whatItCan}`;
  const name = nameIn([...(conversation.known ?? []), ...earlier]);
  const to = name === undefined ? '' : `, ${name}`;
  if (greeting.test(last)) return `Hello${to}! Ask me "what can you do?" or about Everthread.`;
  if (thanks.test(last)) return `You are welcome${to}.`;
  if (farewell.test(last)) return `Goodbye${to}. This thread will be here when you come back.`;
  return undefined;
}

const earlierIn = ({ users, older = [] }: Conversation): readonly string[] => [
  ...older,
  ...users.slice(0, -1),
];

function recall(last: string, conversation: Conversation): string | undefined {
  const { older = [], known = [], users } = conversation;
  const earlier = earlierIn(conversation);
  const before = earlier.at(-1);
  const nothing = 'This is your first message in this thread; there is nothing before it.';
  if (asksForName.test(last)) {
    const name = nameIn([...known, ...earlier, last]);
    return name === undefined
      ? 'You have not told me your name in this thread.'
      : `Your name is ${name}: you told me so.`;
  }
  if (asksForCount.test(last) && older.length > 0)
    return `I see ${users.length} messages of yours word for word, this one counted; of older ones I have a summary.`;
  if (asksForCount.test(last))
    return `You have sent ${earlier.length + 1} ${earlier.length === 0 ? 'message' : 'messages'} in this thread, this one counted.`;
  if (asksForFirst.test(last))
    return before === undefined ? nothing : `Your first message was: ${quote(earlier[0] ?? '')}`;
  if (asksForLast.test(last))
    return before === undefined ? nothing : `Just before this you wrote: ${quote(before)}`;
  if (asksForList.test(last)) {
    if (before === undefined) return nothing;
    // A long thread would make an endless list; the newest are what a person looks for.
    const shown = earlier.slice(-20);
    const offset = earlier.length - shown.length;
    return `So far you wrote: ${shown.map((t, i) => `${offset + i + 1}. ${quote(t)}`).join(' ')}`;
  }
  return undefined;
}

const asksForTime =
  /\bwhat(?:'s| is)? (?:the )?(?:current )?(?:time|date|day)\b|\bwhat day is it\b/i;
const zoneIn = /\b(UTC|[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+)\b/;
const expressionIn =
  /(?:(?:sqrt|abs|round|floor|ceil|min|max)\s*\(|[-+(]?\s*\d)[\d\s.,+\-*/%^()×÷]*[\d)]/i;
const asksForSearch =
  /\b(?:search|look up|look in|find)\b.*?\b(?:docs|documents|documentation)\b(?:\s+(?:for|about|on))?/i;

function toolCall(last: string, tools: readonly string[]): BuiltinReply | undefined {
  if (tools.includes('clock') && asksForTime.test(last)) {
    return { kind: 'tool', name: 'clock', args: { zone: zoneIn.exec(last)?.[1] ?? 'UTC' } };
  }
  const expression = expressionIn.exec(last)?.[0].trim();
  if (tools.includes('calculator') && expression !== undefined && isSum(expression, last))
    return { kind: 'tool', name: 'calculator', args: { expression } };
  if (tools.includes('search_docs') && asksForSearch.test(last))
    return { kind: 'tool', name: 'search_docs', args: { query: last.replace(asksForSearch, '') } };
  return undefined;
}

/** "2024-05-01" and "10-20 people" are no sums; an operator between numbers in a short message, or after a verb, is. */
const isSum = (expression: string, message: string): boolean =>
  (/\d\)?\s*[-+*/%^×÷]\s*[(\d]/.test(expression) || expression.includes('(')) &&
  !/\d{4}-\d{1,2}-\d{1,2}/.test(expression) &&
  (message.length - expression.length < 16 ||
    /\b(calculate|compute|how much|what(?:'s| is))\b/i.test(message));

function fromTools({ toolResults }: Conversation): string {
  return toolResults
    .map(({ name, text }) => {
      if (name === 'clock') return `The clock says ${text}.`;
      if (name === 'calculator') return `The calculator says ${text}.`;
      return text;
    })
    .join('\n');
}

/** The last resort: what the user said earlier, then the documents, then the truth. */
function found(last: string, conversation: Conversation, docs: DocsSearch): string {
  const said = bestSentence(last, earlierIn(conversation));
  if (said !== undefined) return `Earlier you said: ${quote(said)}`;
  const known = bestSentence(last, conversation.known ?? []);
  if (known !== undefined) return `I remember that you said: ${quote(known)}`;
  const passages = isQuestion(last) ? docs(last, 2) : [];
  if (passages.length > 0) return passages.map((p) => `${p.text} (from ${p.source})`).join(' ');
  return isQuestion(last)
    ? 'I found nothing about that in this conversation or in my documents, and I do not guess.'
    : `I noted that you said ${quote(last)} You can ask me about it later in this thread.`;
}

const isQuestion = (text: string): boolean =>
  /\?\s*$|^\s*(who|what|when|where|why|how|which|is|are|does|do|can|could|will|tell|explain|describe)\b/i.test(
    text,
  );

const commonWords = new Set(
  'a about an and any are as at be been but by can could did do does for from had has have how i in is it its just me my not of on or our please so tell that the their them then there they this to us was we were what when where which who why will with would you your'.split(
    ' ',
  ),
);
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((w) => !commonWords.has(w));

/** The earlier statement that shares most words with the question, at least half of them; the newest of equals. */
function bestSentence(question: string, earlier: readonly string[]): string | undefined {
  const wanted = new Set(wordsOf(question));
  if (wanted.size === 0 || !isQuestion(question)) return undefined;
  let best: { text: string; share: number } | undefined;
  for (const text of earlier.flatMap((t) => t.split(/(?<=[.!?])\s+/))) {
    if (isQuestion(text)) continue;
    const had = new Set(wordsOf(text));
    const share = [...wanted].filter((w) => had.has(w)).length / wanted.size;
    if (share >= 0.5 && share >= (best?.share ?? 0)) best = { text, share };
  }
  return best?.text;
}
