/**
 * Reads what a run streams: the state it ends in, the interrupts it ends with, and the frames that viewers see (P10).
 * A chunk is `[namespace, mode, payload]`, or `[mode, payload]` where namespaces are not asked for or not known.
 */
import type { FinishedStep } from '../storage/saver/port.js';
import {
  hasMode,
  hasSubgraphs,
  modesOf,
  noModes,
  type StreamMode,
} from '../contracts/stream-modes.js';
import { modeEvent } from './mode-event.js';
import { toJson } from './plain-json.js';
import type { GraphRun } from './port.js';
import { traitsOf } from './versions/traits.js';
import { isMessageObject, messageJson, roleOf, textOf } from './transcript.js';

/** Cheapest that shows the end of a run: LangGraph has read these values anyway, and interrupts come as values too. */
const quietModes = ['values'] as const;
/** A second one, since 0.2.5 names the mode of a chunk only where there are several. */
const olderQuietModes = ['values', 'updates'] as const;
/** `tasks` marks where a superstep begins, between the tokens of one and the next. */
const listenedModes = ['values', 'messages', 'custom', 'tasks'] as const;

/** The part of the stream options that decides what comes. */
export const streamOptions = ({ stream, modes = noModes, graph }: GraphRun): object =>
  stream
    ? { streamMode: [...new Set([...listenedModes, ...modesOf(modes)])], subgraphs: true }
    : {
        streamMode: [...(traitsOf(graph.modules).tellsInterrupts ? quietModes : olderQuietModes)],
        subgraphs: false,
      };

export interface Ended {
  /** Last values of the output channels; undefined when the run has given none. */
  readonly state: unknown;
  /** Null when the run finished; empty at a static breakpoint. */
  readonly interrupts: readonly unknown[] | null;
}

const interruptKey = '__interrupt__';

export class ChunkReader {
  readonly #run: GraphRun;
  #state: unknown;
  #interrupts: unknown[] | null = null;
  #finishedSteps: { readonly nodes: readonly string[]; readonly ms: number }[] = [];
  #stepBeganMs: number;
  #open = true;

  constructor(run: GraphRun) {
    this.#run = run;
    this.#stepBeganMs = performance.now();
  }

  /** Told by the saver, ahead of the chunks that are still queued: shown when the stream has come as far. */
  superstep(step: FinishedStep): void {
    const now = performance.now();
    this.#finishedSteps.push({ nodes: step.nodes, ms: Math.round(now - this.#stepBeganMs) });
    this.#stepBeganMs = now;
  }

  take(chunk: unknown): void {
    const parts = chunk as readonly unknown[];
    const [namespace, mode, payload] = Array.isArray(parts[0]) ? parts : [[], ...parts];
    const isRoot = (namespace as readonly string[]).length === 0;
    switch (mode as StreamMode) {
      case 'values':
        if (isRoot) this.#values(payload);
        break;
      case 'tasks':
        if (isRoot) this.#showSteps();
        break;
      case 'messages':
        this.#token(payload);
        break;
      case 'custom':
        // Everybody is shown it, by that name.
        this.#emit({ kind: 'custom', data: toJson(payload, messageJson) });
        return;
      case 'updates':
      case 'debug':
    }
    this.#asked(mode as StreamMode, namespace as readonly string[], payload);
  }

  #asked(mode: StreamMode, namespace: readonly string[], payload: unknown): void {
    const { modes = noModes } = this.#run;
    if (!hasMode(modes, mode) || (namespace.length > 0 && !hasSubgraphs(modes))) return;
    this.#emit({ kind: 'mode', data: modeEvent(mode, namespace, payload) });
  }

  /** A custom event that comes past the stream; its node runs, so the superstep before has ended. */
  written(namespace: readonly string[], payload: unknown): void {
    this.#showSteps();
    this.take([namespace, 'custom', payload]);
  }

  /** The stream is through. */
  end(): Ended {
    this.#showSteps();
    this.#open = false;
    return { state: this.#state, interrupts: this.#interrupts };
  }

  /** The run is given up: what its nodes still stream is nobody's. */
  close(): void {
    this.#open = false;
  }

  #values(payload: unknown): void {
    this.#showSteps();
    if (typeof payload === 'object' && payload !== null && interruptKey in payload) {
      this.#interrupts ??= [];
      this.#interrupts.push(...(payload[interruptKey] as readonly unknown[]));
    } else {
      this.#state = payload;
    }
  }

  /** A superstep's values and the next one's tasks come after its flush: what is shown as finished is durable. */
  #showSteps(): void {
    const steps = this.#finishedSteps;
    if (steps.length === 0) return;
    this.#finishedSteps = [];
    for (const data of steps) this.#emit({ kind: 'step', data });
  }

  /** Model text and messages that a node made itself; LangGraph leaves out those it has streamed before, by id. */
  #token(payload: unknown): void {
    const [message] = payload as readonly unknown[];
    if (!isMessageObject(message) || roleOf(message) !== 'assistant') return;
    const text = textOf(message.content);
    if (text === '') return;
    this.#emit({ kind: 'token', data: { message_id: message.id ?? '', text } });
  }

  #emit(frame: Parameters<GraphRun['emit']>[0]): void {
    if (this.#open) this.#run.emit(frame);
  }
}
