// An HTTP server that speaks the OpenAI chat-completions protocol and does what a script says: the path of a real provider.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseChatRequest, type ChatRequest } from './chat-request.js';
import { byOptions, type Answer, type Script, type ScriptedReply } from './scripted-answers.js';

interface ModelCall extends ChatRequest {
  readonly at: number;
  /** The client went away before the answer was complete. */
  aborted: boolean;
  /** The whole answer was handed to the network. */
  answered: boolean;
}

export interface ScriptedModel {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string;
  /** Every valid request, oldest first. */
  readonly calls: readonly ModelCall[];
  /** Messages of the requests that a real provider would have refused with 400. */
  readonly refusals: readonly string[];
  /** How many requests had a last user message that contains `text`. */
  count(text: string): number;
  /** Resolves when the journal is as wanted; looked at whenever a call arrives or ends. */
  until(asWanted: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export async function startScriptedModel(
  answer: Answer = byOptions,
  port = 0,
  address = '127.0.0.1',
): Promise<ScriptedModel> {
  const calls: ModelCall[] = [];
  const refusals: string[] = [];
  const journal = new EventEmitter();
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = Buffer.concat(await request.toArray()).toString('utf8');
    if (request.method !== 'POST' || !(request.url ?? '').endsWith('/chat/completions')) {
      sendError(response, { kind: 'error', status: 404, message: 'Unknown route.' });
      return;
    }
    if (!/^Bearer \S+$/.test(request.headers.authorization ?? '')) {
      sendError(response, { kind: 'error', status: 401, code: 'invalid_api_key' });
      return;
    }
    const parsed = parseChatRequest(raw);
    if (parsed.kind === 'refused') {
      refusals.push(parsed.message);
      sendError(response, { kind: 'error', status: 400, message: parsed.message });
      return;
    }
    const call: ModelCall = { ...parsed.request, at: Date.now(), aborted: false, answered: false };
    calls.push(call);
    response.on('finish', () => (call.answered = true));
    response.on('close', () => {
      call.aborted = !call.answered;
      journal.emit('change');
    });
    journal.emit('change');
    const nth = calls.filter((c) => c.last === call.last).length;
    await perform(answer(call, nth), call, response);
  }

  server.listen(port, address);
  await once(server, 'listening');
  return {
    url: `http://${address}:${(server.address() as AddressInfo).port}/v1`,
    calls,
    refusals,
    count: (text) => calls.filter((c) => c.last.includes(text)).length,
    until: async (asWanted) => {
      while (!asWanted()) await once(journal, 'change');
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function perform(script: Script, call: ModelCall, response: ServerResponse): Promise<void> {
  switch (script.kind) {
    case 'hang':
      return;
    case 'drop':
      response.destroy();
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': script.contentType ?? 'text/event-stream' });
      response.end(script.body);
      return;
    case 'error':
      await pause(script.delayMs);
      sendError(response, script);
      return;
    case 'reply':
      await pause(script.delayMs);
      if (call.stream) return stream(script, call, response);
      sendJson(response, 200, completion(script, call));
  }
}

const pause = (ms: number | undefined): Promise<void> | undefined => (ms ? wait(ms) : undefined);

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sendError(response: ServerResponse, script: Extract<Script, { kind: 'error' }>): void {
  if (script.retryAfter !== undefined) response.setHeader('retry-after', script.retryAfter);
  const message = script.message ?? `Scripted ${script.status}.`;
  const error = { message, type: 'scripted_error', param: null, code: script.code ?? null };
  sendJson(response, script.status, { error });
}

const base = (call: ModelCall, object: string) => ({
  id: `chatcmpl-${call.at}-${Math.random().toString(36).slice(2, 8)}`,
  object,
  created: Math.floor(call.at / 1000),
  model: call.model,
});

const wireToolCalls = (script: ScriptedReply) =>
  (script.toolCalls ?? []).map((call, index) => ({
    index,
    id: `call_${Math.random().toString(36).slice(2, 10)}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  }));

const finishOf = (script: ScriptedReply): string =>
  script.finishReason ?? (script.toolCalls?.length ? 'tool_calls' : 'stop');

const tokensOf = (text: string): string[] =>
  text.match(/\s*\S+\s*/g) ?? (text === '' ? [] : [text]);

function usageOf(script: ScriptedReply, call: ModelCall) {
  const prompt = call.messages.reduce((sum, m) => sum + Math.ceil(m.text.length / 4), 0);
  const completed = tokensOf(script.text).length;
  return {
    prompt_tokens: prompt,
    completion_tokens: completed,
    total_tokens: prompt + completed,
  };
}

function completion(script: ScriptedReply, call: ModelCall): unknown {
  const toolCalls = wireToolCalls(script);
  const message = {
    role: 'assistant',
    content: script.text === '' && toolCalls.length > 0 ? null : script.text,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return {
    ...base(call, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finishOf(script) }],
    usage: usageOf(script, call),
  };
}

async function stream(
  script: ScriptedReply,
  call: ModelCall,
  response: ServerResponse,
): Promise<void> {
  const gone = (): boolean => response.destroyed;
  if (gone()) return;
  const head = base(call, 'chat.completion.chunk');
  const send = (data: object): boolean => response.write(`data: ${JSON.stringify(data)}\n\n`);
  const delta = (change: object, finish: string | null = null) =>
    send({ ...head, choices: [{ index: 0, delta: change, finish_reason: finish }] });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  delta({ role: 'assistant', content: '' });
  for (const [index, token] of tokensOf(script.text).entries()) {
    if (gone()) return;
    if (index === script.cut?.afterTokens) {
      cut(script.cut.how, response);
      return;
    }
    delta({ content: token });
    await pause(script.gapMs);
  }
  for (const toolCall of wireToolCalls(script)) delta({ tool_calls: [toolCall] });
  delta({}, finishOf(script));
  send({ ...head, choices: [], usage: usageOf(script, call) });
  response.end('data: [DONE]\n\n');
}

function cut(how: 'reset' | 'close', response: ServerResponse): void {
  // What was written so far must have left before the socket dies, or the client would see no stream at all.
  if (how === 'close') response.end();
  else response.write(': \n\n', () => response.destroy());
}
