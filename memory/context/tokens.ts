/** Counting tokens with the model's own byte-pair encoding, in time that no input can blow up (M2). */
import { answeredCallOf, callsOf, partsOf, textOf, type MessageLike } from './message.js';

/** The encodings that ship, and the models that use them. */
export type Encoding = 'o200k_base' | 'cl100k_base';

/** Counts tokens of text. Made by `loadTokenizer`; a project may bring its own. */
export interface Tokenizer {
  /**
   * Tokens of the text. Counting may stop early once more than `limit` are found; the answer is then some number above it.
   * Never throws: special tokens, lone surrogates and NUL are ordinary text.
   */
  count(text: string, limit?: number): number;
}

/** Choices of `loadTokenizer`. */
export interface TokenizerOptions {
  readonly encoding?: Encoding;
  /** For models whose own tokenizer is not public: tokens = factor × those of the encoding, rounded up. */
  readonly factor?: number;
}

/** The encoding of an OpenAI model; every other model is counted by the newest one. */
export const encodingFor = (model: string): Encoding =>
  /(^|[/:])(gpt-4(?!o|\.)|gpt-3\.5|text-embedding)/.test(model) ? 'cl100k_base' : 'o200k_base';

/** Longer runs without a break (or of blanks) are counted in slices: merging one piece takes quadratic time. */
const runChars = 256;
/** Texts are counted chunk by chunk, so that counting can stop at its limit. */
const chunkChars = 4_096;
/** Counted texts are remembered up to this many characters in all; a turn then counts only what is new. */
const rememberedChars = 4_000_000;

/** Loads the encoding (0.2 s, about 70 MB): never in workflow code, and once in a process. */
export async function loadTokenizer(options: TokenizerOptions = {}): Promise<Tokenizer> {
  const { encoding = 'o200k_base', factor = 1 } = options;
  const { countTokens } = await load(encoding);
  const ordinary = { disallowedSpecial: new Set<string>() };
  const remembered = new Map<string, number>();
  let heldChars = 0;

  function remember(text: string, tokens: number): void {
    remembered.set(text, tokens);
    heldChars += text.length;
    for (const oldest of remembered.keys()) {
      if (heldChars <= rememberedChars) return;
      remembered.delete(oldest);
      heldChars -= oldest.length;
    }
  }

  return {
    count(text, limit = Number.POSITIVE_INFINITY) {
      const known = remembered.get(text);
      if (known !== undefined) return known;
      let raw = 0;
      for (const chunk of chunksOf(text)) {
        for (const slice of slicesOf(chunk)) raw += countTokens(slice, ordinary);
        if (raw * factor > limit) return Math.ceil(raw * factor);
      }
      const tokens = Math.ceil(raw * factor);
      remember(text, tokens);
      return tokens;
    },
  };
}

/**
 * Counts bytes, of which every token has at least one: never too few, and nothing to load. A thread that fits by it fits by
 * every encoding, so a short one never pays for the tokenizer.
 */
export const byteBound = (factor = 1): Tokenizer => ({
  count: (text) => Math.ceil(Buffer.byteLength(text) * factor),
});

const load = (encoding: Encoding) =>
  encoding === 'o200k_base'
    ? import('gpt-tokenizer/encoding/o200k_base')
    : import('gpt-tokenizer/encoding/cl100k_base');

/** Chunks that begin with a blank where the text lets them, since words are encoded with the blank before them. */
function* chunksOf(text: string): Generator<string> {
  for (let start = 0; start < text.length;) {
    const end = start + chunkChars;
    if (end >= text.length) {
      yield text.slice(start);
      return;
    }
    const blank = text.lastIndexOf(' ', end);
    const cut = blank > start + chunkChars / 2 ? blank : codePointBorder(text, end);
    yield text.slice(start, cut);
    start = cut;
  }
}

const longRun = new RegExp(`\\S{${runChars + 1}}|\\s{${runChars + 1}}`);

function* slicesOf(chunk: string): Generator<string> {
  if (!longRun.test(chunk)) {
    yield chunk;
    return;
  }
  for (let start = 0; start < chunk.length;) {
    const end = codePointBorder(chunk, Math.min(start + runChars, chunk.length));
    yield chunk.slice(start, end);
    start = end;
  }
}

/** The given place, or the one after it if it would split a surrogate pair. */
const codePointBorder = (text: string, at: number): number =>
  /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at))
    ? at + 1
    : at;

/** What the chat format adds to each message: its frame and its role. */
const messageOverhead = 4;
/** What it adds to each tool call. */
const callOverhead = 8;
/** Images and files have no text to count; providers bill a large picture at about this. */
const mediaTokens = 1_500;
/** The frame of the reply that is to come. */
export const replyPrimer = 3;

/** Tokens of one message as the provider sees it: text, name, tool calls, parts. Stops early above `limit`. */
export function messageTokens(tokenizer: Tokenizer, message: MessageLike, limit?: number): number {
  let tokens = messageOverhead + tokenizer.count(textOf(message), limit);
  if (typeof message.name === 'string') tokens += 1 + tokenizer.count(message.name, limit);
  for (const call of callsOf(message))
    tokens += callOverhead + tokenizer.count(jsonOf([call.id, call.name, call.args]), limit);
  tokens += tokenizer.count(answeredCallOf(message), limit);
  for (const part of partsOf(message)) {
    tokens +=
      typeof part.type === 'string' && /image|audio|video|file|document/.test(part.type)
        ? mediaTokens
        : tokenizer.count(jsonOf(part), limit);
  }
  return tokens;
}

/** Arguments as the provider gets them; what has no JSON form is not sent. */
export function jsonOf(value: unknown): string {
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === 'string' ? json : '';
  } catch {
    return '';
  }
}
