/**
 * The pipeline and the guards as middleware of `langchain`'s `createAgent`. Thin: everything is decided in `context/` and
 * `guards/`. A summary is made in a superstep of its own, so that a crash in the model call does not make it again.
 */
import { AIMessage, SystemMessage } from '@langchain/core/messages';
import { ReducedValue, StateSchema } from '@langchain/langgraph';
import { createMiddleware } from 'langchain';
import type { ExtractionRequest, Summarise } from './context/compact.js';
import { createContext, type ContextOptions } from './context/context.js';
import {
  mergeSummary,
  noSummary,
  summaryBufferSchema,
  type SummaryBuffer,
} from './context/summary.js';
import { guardStop, type GuardLimits } from './guards/guard.js';

/** Options of `contextMiddleware`. */
export interface ContextMiddlewareOptions extends Omit<ContextOptions, 'system'> {
  readonly system: string | SystemMessage;
  readonly summarise: Summarise;
  /** Told of each range that left the window, for long-term memory. Its errors are the caller's. */
  readonly onRange?: (range: ExtractionRequest) => void | Promise<void>;
  /** Told when summarising failed; the hard budget holds all the same. */
  readonly onFailure?: (why: string) => void;
}

/** Keeps every model call within its budget. Give it the agent's system prompt and tools: it sends that prompt itself. */
export function contextMiddleware(options: ContextMiddlewareOptions) {
  const { summarise, onRange, onFailure, ...contextOptions } = options;
  const context = createContext(contextOptions);
  const anchor =
    typeof options.system === 'string' ? new SystemMessage(options.system) : options.system;
  return createMiddleware({
    name: 'EverthreadContext',
    stateSchema: new StateSchema({
      summary: new ReducedValue(summaryBufferSchema.default(noSummary), {
        // createAgent asks for a default here, and gives the state back as input: the reducer takes neither for news.
        inputSchema: summaryBufferSchema.default(noSummary),
        reducer: mergeSummary,
      }),
    }),
    beforeModel: async ({ messages, summary }, runtime) => {
      const done = await context.compact({ messages, summary }, summarise, runtime.signal);
      if (done === undefined) return undefined;
      switch (done.kind) {
        case 'summarised':
          await onRange?.(done.extraction);
          return { summary: done.summary };
        case 'failed':
          onFailure?.(done.why);
          return undefined;
      }
    },
    wrapModelCall: (request, handler) => {
      const summary: SummaryBuffer = request.state.summary;
      const prompt = context.assemble({ messages: request.messages, summary });
      return handler({
        ...request,
        systemMessage: anchor,
        messages: prompt.messages.slice(1),
      });
    },
  });
}

/** Options of `guardMiddleware`. */
export interface GuardMiddlewareOptions extends GuardLimits {
  /** `error` (default) ends the run with a `GuardError`; `answer` says the same to the user as the agent's last message. */
  readonly onStop?: 'error' | 'answer';
}

/** Stops a turn that goes in circles or passes its limits, before the next model call. */
export function guardMiddleware({ onStop = 'error', ...limits }: GuardMiddlewareOptions = {}) {
  return createMiddleware({
    name: 'EverthreadGuard',
    beforeModel: {
      canJumpTo: ['end'],
      hook: ({ messages }) => {
        const stop = guardStop(messages, limits);
        if (stop === undefined) return undefined;
        switch (onStop) {
          case 'error':
            throw stop;
          case 'answer':
            return { messages: [new AIMessage(stop.message)], jumpTo: 'end' as const };
        }
      },
    },
  });
}
