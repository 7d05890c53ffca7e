/** `everthread chat`: a chat on one thread in the terminal, over the gateway's HTTP API. */
import { randomUUID } from 'node:crypto';
import { GatewayProblem } from '../client/client.js';
import type { TranscriptMessage, TurnRequest } from '../contracts/http.schema.js';
import { linkGateway, type GatewayLink } from './gateway-link.js';
import { ctrlC, lineInput } from './line-input.js';
import type { CtrlC, Line, LineInput } from './line-input.js';
import { answer, nextQuestion, questionsOf } from './question.js';
import type { Questions } from './question.js';
import { printable } from './reply-view.js';
import { showRaw, showTurn, standardPaper } from './show-turn.js';
import type { TurnEnd } from './show-turn.js';

export interface ChatOptions {
  readonly thread?: string;
  readonly url?: string;
  readonly graph?: string;
  readonly json?: boolean;
  /** Say this, show the reply, end. */
  readonly message?: string;
}

/** @returns the exit code: 0 when every turn got its reply, 130 after Ctrl-C in a reply that nobody waits for */
export async function chat(options: ChatOptions): Promise<number> {
  const link = await linkGateway(options.url, {
    painted: process.stderr,
    startedBy: '`npm start`',
  });
  return new Chat({ ...link, threadId: options.thread ?? randomUUID(), options }).run();
}

/** `paint` is for standard error: replies are written as they are. */
interface ChatParts extends GatewayLink {
  readonly threadId: string;
  readonly options: ChatOptions;
}

/** One run of the command. */
class Chat {
  readonly #parts: ChatParts;
  /** What the thread asks; undefined when it asks nothing. */
  #questions: Questions | undefined;
  /** The turn that Ctrl-C left running and may still cancel. */
  #left: string | undefined;
  #exitCode = 0;
  /** A new thread is named when it has a turn: one that is refused has made none. */
  #untold = false;

  constructor(parts: ChatParts) {
    this.#parts = parts;
  }

  async run(): Promise<number> {
    const { options } = this.#parts;
    const typed = process.stdin.isTTY && process.stderr.isTTY && options.message === undefined;
    await this.#enter(typed);
    if (options.message !== undefined) {
      await this.#take(options.message, ctrlC());
      if (this.#questions !== undefined) this.#tell(`${this.#asked()}\n${this.#comeBack()}`);
      return this.#exitCode;
    }
    const input = lineInput({ input: process.stdin, output: process.stderr });
    for (;;) {
      const line = await this.#nextLine(input);
      if (line === undefined) break;
      await this.#take(line, input);
      // Without a person nobody could take up what was left.
      if (!typed && this.#left !== undefined) break;
    }
    input.close();
    if (typed) this.#say(`\n${this.#comeBack()}`);
    return typed ? 0 : this.#exitCode;
  }

  /** Looks at the thread, and shows a person what was said so far. */
  async #enter(typed: boolean): Promise<void> {
    const { client, threadId, options } = this.#parts;
    const known = options.thread === undefined ? undefined : await client.thread(threadId);
    if (known?.status === 'interrupted') this.#questions = questionsOf(known.interrupts);
    if (!typed) {
      this.#untold = options.thread === undefined && options.json !== true;
      return;
    }
    this.#say(known === undefined ? `New thread ${threadId}` : `Thread ${threadId}`);
    if (known === undefined) this.#say(this.#comeBack());
    else for await (const message of client.messages(threadId)) this.#showPast(message);
    if (known?.status === 'busy') this.#say('A turn is running; what you say now waits for it.');
    this.#say('Ctrl-C during a reply leaves it running; Ctrl-D ends.\n');
  }

  #showPast({ role, content }: TranscriptMessage): void {
    const { bold, dim } = this.#parts.paint;
    const text = printable(content);
    if (text === '') return;
    if (role === 'user') process.stdout.write(`${bold('> ')}${text}\n`);
    else if (role === 'assistant') process.stdout.write(`${text}\n\n`);
    else process.stdout.write(`${dim(`(${role}) ${text}`)}\n`);
  }

  /** The next line that says something; undefined at the end. */
  async #nextLine(input: LineInput): Promise<string | undefined> {
    const { bold, yellow } = this.#parts.paint;
    for (;;) {
      const asked = this.#questions;
      if (asked !== undefined) this.#tell(this.#asked());
      const line: Line = await input.next(asked === undefined ? bold('> ') : yellow('answer> '));
      if (line.kind === 'end') return undefined;
      if (line.kind === 'line') {
        const isGo = asked?.open.length === 0;
        if (line.text.trim() !== '' || isGo) return line.text;
      } else if (!(await this.#cancelLeft())) return undefined;
    }
  }

  #asked(): string {
    const { yellow } = this.#parts.paint;
    return yellow(`? ${printable(nextQuestion(this.#questions ?? questionsOf([])))}`);
  }

  /** Ctrl-C at the prompt: cancels the turn that was left running. False when there is none. */
  async #cancelLeft(): Promise<boolean> {
    const turnId = this.#left;
    this.#left = undefined;
    if (turnId === undefined) return false;
    try {
      await this.#parts.client.cancel(this.#parts.threadId, turnId);
      this.#say('\nThe turn is cancelled.');
    } catch (error) {
      this.#say(`\nNot cancelled: ${error instanceof Error ? error.message : String(error)}`);
    }
    return true;
  }

  /** Sends what one line says: an answer to what is asked, else a message. */
  async #take(line: string, input: CtrlC): Promise<void> {
    if (this.#questions === undefined) return this.#turn({ message: line }, input);
    const answered = answer(this.#questions, line);
    switch (answered.kind) {
      case 'more':
        this.#questions = answered.questions;
        return;
      case 'resume':
        this.#questions = undefined;
        return this.#turn({ resume: answered.value } as TurnRequest, input);
    }
  }

  async #turn(turn: TurnRequest, input: CtrlC): Promise<void> {
    const { client, threadId, options } = this.#parts;
    const following = new AbortController();
    const idle = input.whileBusy(() => following.abort());
    let turnId: string | undefined;
    const onAccepted = (id: string): void => {
      turnId = id;
      if (this.#untold) this.#say(`thread ${threadId}`);
      this.#untold = false;
    };
    try {
      const request = options.graph === undefined ? turn : { ...turn, graph: options.graph };
      const events = client.stream(threadId, request, {
        signal: following.signal,
        onLost: () => this.#say('(connection lost; trying again, the turn goes on meanwhile)'),
      });
      const show = options.json === true ? showRaw : showTurn;
      const end = await show(events, { paper: standardPaper(), onAccepted });
      this.#ended(end, turnId);
    } catch (error) {
      if (!(error instanceof GatewayProblem)) throw error;
      const { code } = error.problem;
      this.#ended({ kind: 'problem', code, message: error.message }, turnId);
    } finally {
      idle();
    }
  }

  #ended(end: TurnEnd, turnId: string | undefined): void {
    switch (end.kind) {
      case 'reply':
        if (end.reply.status === 'interrupted') this.#questions = questionsOf(end.reply.interrupts);
        this.#left = undefined;
        return;
      case 'problem':
        this.#left = undefined;
        this.#exitCode = 1;
        this.#tell(this.#parts.paint.red(`${end.message} (${end.code})`));
        return;
      case 'left':
        this.#left = turnId;
        this.#exitCode = 130;
        this.#say(this.#leftWords(turnId));
        return;
    }
  }

  #leftWords(turnId: string | undefined): string {
    if (turnId === undefined) return '\nLeft before the gateway had taken the turn.';
    return `\nThe turn goes on by itself. ${
      process.stdin.isTTY && this.#parts.options.message === undefined
        ? 'Ctrl-C again cancels it.'
        : this.#comeBack()
    }`;
  }

  readonly #comeBack = (): string =>
    `To come back: npx everthread chat${this.#where()} --thread ${this.#parts.threadId}`;

  readonly #where = (): string => {
    const { url } = this.#parts.options;
    return url === undefined ? '' : ` --url ${url}`;
  };

  /** Beside the replies, in the background. */
  #say(text: string): void {
    this.#tell(this.#parts.paint.dim(text));
  }

  #tell(text: string): void {
    process.stderr.write(`${text}\n`);
  }
}
