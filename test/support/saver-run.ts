/** Runs turns of a real graph through the saver and a real storage, without Temporal and without `engine/`'s policies. */
import * as checkpoint from '@langchain/langgraph-checkpoint';
import { successorsOf } from '../../engine/successors.js';
import type { PregelGraph } from '../../engine/project/types.js';
import type { ClaimedTurn, Flushed, Settled } from '../../storage/port.js';
import type { Attempt, FinishedStep, FlushRows } from '../../storage/saver/port.js';
import { Scenario } from './storage-scenario.js';

/** What a test needs of a compiled graph. */
export interface Runnable {
  invoke(input: unknown, options: object): Promise<unknown>;
}

export interface OpenedTurn {
  readonly turn: ClaimedTurn;
  readonly attempt: Attempt;
  /** Rows of each flush that is durable, in order. */
  readonly flushed: readonly FlushRows[];
  readonly steps: readonly FinishedStep[];
  readonly lost: readonly unknown[];
}

export interface RunTurn {
  readonly graph: Runnable;
  readonly input: unknown;
  readonly hold?: boolean;
}

export class SaverThread extends Scenario {
  /** Compares what is stored by reference at each put: O(history). */
  verify = true;

  /** Accepts a turn unless one is open, claims it, and opens its saver. */
  async open(
    options: {
      readonly hold?: boolean;
      readonly flush?: (rows: FlushRows) => Promise<Flushed>;
    } = {},
  ): Promise<OpenedTurn> {
    const turn = await this.claimed();
    const flushed: FlushRows[] = [];
    const steps: FinishedStep[] = [];
    const lost: unknown[] = [];
    const attempt = await this.storage.openAttempt({
      turn,
      checkpoint,
      writerVersion: '1.2.2',
      hold: options.hold ?? false,
      verify: this.verify,
      flush: async (claim, rows) => {
        const outcome = await (options.flush?.(rows) ?? this.storage.claims.flush(claim, rows));
        if (outcome.kind === 'flushed') flushed.push(rows);
        return outcome;
      },
    });
    attempt.onSuperstep = (step) => steps.push(step);
    attempt.onLost = (outcome) => lost.push(outcome);
    return { turn, attempt, flushed, steps, lost };
  }

  config(attempt: Attempt, turnId: string): object {
    return {
      configurable: { thread_id: this.thread.threadId, __pregel_checkpointer: attempt.saver },
      metadata: { run_id: turnId },
      durability: 'sync',
    };
  }

  async invoke(opened: OpenedTurn, graph: Runnable, input: unknown): Promise<unknown> {
    opened.attempt.successors = successorsOf(graph as PregelGraph);
    return graph.invoke(input, this.config(opened.attempt, opened.turn.claim.turnId));
  }

  /** Settles with what is buffered, and keeps the head cached as the activity does. */
  async settle(opened: OpenedTurn, result: unknown): Promise<Settled> {
    const rows = await opened.attempt.finish();
    const interrupted = typeof result === 'object' && result !== null && '__interrupt__' in result;
    const settled = await this.storage.claims.settle(
      opened.turn.claim,
      {
        kind: interrupted ? 'interrupted' : 'committed',
        checkpointId: opened.attempt.headCheckpointId() ?? '',
        response: '',
        messages: [],
        valuesJson: '{}',
        interrupts: [],
        next: [],
      },
      rows,
    );
    if (settled.kind === 'settled') opened.attempt.keep();
    else opened.attempt.drop();
    return settled;
  }

  /** A whole turn. */
  async run({
    graph,
    input,
    hold = false,
  }: RunTurn): Promise<{ result: unknown; opened: OpenedTurn; last: FlushRows }> {
    await this.turn();
    const opened = await this.open({ hold });
    const result = await this.invoke(opened, graph, input);
    let last: FlushRows | undefined;
    const finish = opened.attempt.finish.bind(opened.attempt);
    opened.attempt.finish = async () => (last = await finish());
    const settled = await this.settle(opened, result);
    if (settled.kind !== 'settled' || last === undefined)
      throw new Error(`not settled: ${settled.kind}`);
    return { result, opened, last };
  }

  /** Forgets the cached head, as another process does not have it. */
  async coldValues(): Promise<Readonly<Record<string, unknown>> | undefined> {
    await this.turn();
    const opened = await this.open();
    opened.attempt.drop();
    const again = await this.open();
    const values = await again.attempt.baseValues();
    again.attempt.drop();
    await this.storage.claims.settle(
      again.turn.claim,
      { kind: 'failed', failure: { code: 'node_error', message: 'only read' } },
      null,
    );
    return values;
  }
}
