// What the scripted model understands of a chat-completions request, and what it refuses as the real provider does.

interface ToolCallRequest {
  readonly id: string;
  readonly name: string;
  /** JSON text, as on the wire. */
  readonly arguments: string;
}

interface ChatMessage {
  readonly role: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCallRequest[];
  readonly toolCallId: string | undefined;
}

export interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly string[];
  /** Texts of the user messages, oldest first. */
  readonly users: readonly string[];
  /** The last user message, or ''. */
  readonly last: string;
}

export type Parsed =
  | { readonly kind: 'request'; readonly request: ChatRequest }
  | { readonly kind: 'refused'; readonly message: string };

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const refused = (message: string): Parsed => ({ kind: 'refused', message });

/** Reads a request body; refuses what a real provider answers with 400. */
export function parseChatRequest(raw: string): Parsed {
  let body: unknown;
  try {
    body = JSON.parse(raw);
  } catch {
    return refused('We could not parse the JSON body of your request.');
  }
  if (!isObject(body)) return refused('The body must be an object.');
  if (typeof body.model !== 'string' || body.model === '')
    return refused('You must provide a model parameter.');
  if (!Array.isArray(body.messages) || body.messages.length === 0)
    return refused("Invalid 'messages': empty array.");
  const raws: unknown[] = body.messages;
  const shape = raws.map(shapeProblem).find((p) => p !== undefined);
  if (shape !== undefined) return refused(shape);
  const messages = (raws as Json[]).map(readMessage);
  const tools = Array.isArray(body.tools) ? (body.tools as unknown[]).map(toolName) : [];
  const problem = toolsProblem(body.tools, tools) ?? pairingProblem(messages);
  if (problem !== undefined) return refused(problem);
  const users = messages.filter((m) => m.role === 'user').map((m) => m.text);
  return {
    kind: 'request',
    request: {
      model: body.model,
      stream: body.stream === true,
      messages,
      tools: tools.filter((t) => t !== undefined),
      users,
      last: users.at(-1) ?? '',
    },
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as unknown[])
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('');
}

function readMessage(message: Json): ChatMessage {
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as Json[]) : [];
  return {
    role: message.role as string,
    text: textOf(message.content),
    toolCallId: typeof message.tool_call_id === 'string' ? message.tool_call_id : undefined,
    toolCalls: calls.map((call) => {
      const made = call.function as Json;
      return {
        id: call.id as string,
        name: made.name as string,
        arguments: made.arguments as string,
      };
    }),
  };
}

const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

function shapeProblem(message: unknown, index: number): string | undefined {
  const at = `messages.[${index}]`;
  if (!isObject(message)) return `Invalid '${at}': expected an object.`;
  if (!roles.has(message.role as string)) return `Invalid value for '${at}.role'.`;
  const calls = message.tool_calls;
  if (calls !== undefined) {
    if (message.role !== 'assistant') return `'${at}.tool_calls' is for assistant messages only.`;
    if (!Array.isArray(calls) || calls.length === 0) return `Invalid '${at}.tool_calls': empty.`;
    if (!(calls as unknown[]).every(isToolCall)) return `Invalid '${at}.tool_calls'.`;
  }
  if (message.role === 'tool') {
    if (typeof message.tool_call_id !== 'string') return `Missing '${at}.tool_call_id'.`;
    return undefined;
  }
  if (message.role === 'assistant' && calls !== undefined) return undefined;
  if (textOf(message.content).trim() === '') return `Invalid '${at}.content': empty.`;
  return undefined;
}

const isToolCall = (call: unknown): boolean =>
  isObject(call) &&
  typeof call.id === 'string' &&
  call.id !== '' &&
  call.type === 'function' &&
  isObject(call.function) &&
  typeof call.function.name === 'string' &&
  typeof call.function.arguments === 'string';

const toolName = (tool: unknown): string | undefined =>
  isObject(tool) && isObject(tool.function) && typeof tool.function.name === 'string'
    ? tool.function.name
    : undefined;

function toolsProblem(given: unknown, names: readonly (string | undefined)[]): string | undefined {
  if (given === undefined) return undefined;
  if (names.length === 0) return "Invalid 'tools': empty array.";
  if (names.some((n) => n === undefined || !/^[\w-]{1,64}$/.test(n)))
    return "Invalid 'tools[].function.name'.";
  return new Set(names).size === names.length ? undefined : 'Tool names must be unique.';
}

/** Every tool call is answered by the tool messages right after it, and no tool message stands elsewhere. */
function pairingProblem(messages: readonly ChatMessage[]): string | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId ?? ''))
        return `messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages.[${index}]).`;
      continue;
    }
    if (open.size > 0) break;
    open = new Set(message.toolCalls.map((call) => call.id));
  }
  return open.size === 0
    ? undefined
    : `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. Unanswered: ${[...open].join(', ')}`;
}
