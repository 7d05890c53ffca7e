/** What the graph is given for its first superstep. */
import type * as LangGraph from '@langchain/langgraph';
import type { GraphCommand } from '../contracts/call-config.js';
import { ResumeStale, Unsupported } from './stop-of-error.js';
import type { GraphRun } from './port.js';
import { isMessageLike, roleOf, toolCallsOf, type MessageLike } from './transcript.js';

/**
 * `null` runs on from what an earlier attempt flushed, or past a static breakpoint. A resume that has flushed nothing is
 * given again: `null` would answer the next question with the old answer (P5).
 */
export async function startInput(run: GraphRun): Promise<unknown> {
  if (run.attempt.hasRows) return null;
  if (run.call?.command !== undefined) return commandInput(run, run.call.command);
  switch (run.start.kind) {
    case 'message': {
      const { HumanMessage } = run.graph.modules.messages;
      const human = new HumanMessage({ content: run.start.text, id: run.identity.turnId });
      return { messages: [...(await closings(run)), human] };
    }
    case 'input':
      return withClosings(run.start.value, await closings(run));
    case 'resume':
      return resumeInput(run, run.start.value);
  }
}

function resumeInput(run: GraphRun, value: unknown): unknown {
  if (run.attempt.headCheckpointId() === null) throw new ResumeStale();
  if (value === null || value === undefined) return null;
  return new (commandOf(run))({ resume: value });
}

/** A command that is no resume, or goes with one: it writes to the state, and says what runs next. */
function commandInput(run: GraphRun, { update, goto }: GraphCommand): unknown {
  const { start, graph } = run;
  const answer = start.kind === 'resume' ? start.value : undefined;
  if (start.kind === 'resume' && run.attempt.headCheckpointId() === null) throw new ResumeStale();
  const { Send } = graph.modules.langgraph;
  return new (commandOf(run))({
    ...(answer != null && { resume: answer }),
    ...(update !== undefined && { update: update as Record<string, unknown> }),
    ...(goto !== undefined && {
      goto: goto.map((one) => (typeof one === 'string' ? one : new Send(one.node, one.input))),
    }),
  });
}

function commandOf({ graph: { modules } }: GraphRun): typeof LangGraph.Command {
  const { Command } = modules.langgraph as Partial<typeof LangGraph>;
  if (Command !== undefined) return Command;
  throw new Unsupported(`LangGraph ${modules.versions.langgraph} has no Command.`);
}

/** In front of the new messages: a provider refuses a history in which a tool call has no answer. */
function withClosings(input: unknown, closing: readonly unknown[]): unknown {
  if (closing.length === 0 || typeof input !== 'object' || input === null) return input;
  const given: unknown = 'messages' in input ? input.messages : [];
  return {
    ...input,
    messages: [...closing, ...(Array.isArray(given) ? (given as unknown[]) : [given])],
  };
}

/** Answers for the tool calls at the head that an interrupted or cancelled turn left open (P6, P7). */
export async function closings(
  run: Pick<GraphRun, 'graph' | 'attempt' | 'identity' | 'closeDangling'>,
): Promise<unknown[]> {
  if (!run.closeDangling) return [];
  const { ToolMessage } = run.graph.modules.messages;
  const { messages } = (await run.attempt.baseValues()) ?? {};
  return openCalls(messages).map(
    ({ id, name }) =>
      new ToolMessage({
        id: `${run.identity.turnId}-${id}`,
        tool_call_id: id,
        status: 'error',
        content: 'Not answered: the tool call was cancelled before it had a result.',
        ...(name !== undefined && { name }),
      }),
  );
}

interface OpenCall {
  readonly id: string;
  readonly name?: string;
}

/** Tool calls of the last assistant message, when nothing but tool messages follows it, that have no answer. */
function openCalls(messages: unknown): OpenCall[] {
  if (!Array.isArray(messages) || !messages.every(isMessageLike)) return [];
  const answered = new Set<unknown>();
  for (const message of messages.toReversed()) {
    if (roleOf(message) !== 'tool') {
      return roleOf(message) === 'assistant'
        ? callsOf(message).filter((c) => !answered.has(c.id))
        : [];
    }
    answered.add(message.tool_call_id);
  }
  return [];
}

const callsOf = (message: MessageLike): OpenCall[] =>
  toolCallsOf(message).flatMap((call) => {
    const { id, name } = call as { id?: unknown; name?: unknown };
    return typeof id === 'string' ? [{ id, ...(typeof name === 'string' && { name }) }] : [];
  });
