/** One thread on which a driver runs turns, over a real storage with claims and fences. */
import { randomUUID } from 'node:crypto';
import * as checkpoint from '@langchain/langgraph-checkpoint';
import type { GraphRun, Start, Stop } from '../../engine/port.js';
import type { Storage } from '../../storage/port.js';
import type { Attempt } from '../../storage/saver/port.js';
import { Scenario } from '../support/storage-scenario.js';

type Done = Extract<Stop, { kind: 'finished' | 'interrupted' | 'failed' | 'yielded' }>;

export interface OpenRun {
  readonly attempt: Attempt;
  readonly turnId: string;
  readonly finishedSteps: number;
  readonly recovered: GraphRun['recovered'];
  readonly closeDangling: boolean;
  /** False when the process died with it. */
  settle(stop: Done): Promise<boolean>;
}

export interface TestThread {
  /** Begins the turn, or its next attempt when an earlier one was cut off. The process dies at flush `crashAt`. */
  open(start: Start, crashAt?: number): Promise<OpenRun>;
  /** A saver that sees what is committed. */
  reader<T>(read: (attempt: Attempt) => Promise<T>): Promise<T>;
}

class Crash extends Error {
  override readonly name = 'Crash';
}

/** Claims, fences and rows of a real storage. A crash leaves the claim behind; the next attempt takes it over. */
export function storedThread(
  storage: Storage,
  openAttempt: Storage['openAttempt'] = (options) => storage.openAttempt(options),
): TestThread {
  const scenario = new Scenario(storage);
  let open = false;
  return {
    async open(start, crashAt) {
      if (!open) await scenario.turn({ input: start });
      open = true;
      const turn = await scenario.claimed();
      let flushes = 0;
      const flush = (): void => {
        flushes += 1;
        if (flushes === crashAt) throw new Crash();
      };
      const attempt = await openAttempt({
        turn,
        checkpoint,
        writerVersion: '1.2.2',
        hold: start.kind === 'resume' && turn.step === 0,
        verify: true,
        flush: async (claim, rows) => {
          flush();
          return storage.claims.flush(claim, rows);
        },
      });
      const run = {
        attempt,
        turnId: turn.claim.turnId,
        finishedSteps: turn.step,
        recovered: turn.pendingNodes && { pending: turn.pendingNodes, ran: turn.ranNodes ?? [] },
        closeDangling: turn.closeDangling,
      };
      const settle = async (stop: Done): Promise<boolean> => {
        if (stop.kind === 'yielded') {
          attempt.keep();
          return (await storage.claims.yield(turn.claim)).kind === 'flushed';
        }
        if (stop.kind === 'failed') {
          attempt.drop();
          await storage.claims.settle(turn.claim, stop, null);
          open = false;
          return true;
        }
        const rows = await attempt.finish();
        try {
          flush();
        } catch {
          attempt.drop();
          return false;
        }
        const settled = await storage.claims.settle(
          turn.claim,
          {
            kind: stop.kind === 'finished' ? 'committed' : 'interrupted',
            checkpointId: attempt.headCheckpointId() ?? '',
            ...stop.output,
            interrupts: stop.kind === 'interrupted' ? stop.interrupts : [],
            next: stop.kind === 'interrupted' ? stop.next : [],
          },
          rows,
        );
        if (settled.kind !== 'settled') throw new Error(`not settled: ${settled.kind}`);
        // Half the heads stay cached, so that warm and cold turns take turns.
        if (turn.claim.seq % 2 === 0) attempt.keep();
        else attempt.drop();
        open = false;
        return true;
      };
      return { ...run, settle };
    },
    async reader(read) {
      await scenario.turn({ turnId: randomUUID() });
      const turn = await scenario.claimed();
      const attempt = await storage.openAttempt({
        ...{ turn, checkpoint, writerVersion: '1.2.2', hold: false },
        flush: () => Promise.reject(new Error('only reads')),
      });
      const result = await read(attempt);
      attempt.keep();
      const failure = { code: 'node_error', message: 'only read' } as const;
      await storage.claims.settle(turn.claim, { kind: 'failed', failure }, null);
      return result;
    },
  };
}
