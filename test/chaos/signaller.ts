/** Signals sent straight to thread workflows: repeated, late, early, for no turn at all, and malformed (P2). */
import { Client, Connection } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import { threadWorkflowType, turnSignalName, workflowIdOf } from '../../contracts/protocol.js';
import type { Random } from './random.js';
import type { Room } from './rooms.js';
import type { Stage } from './send-turn.js';

const malformed: readonly unknown[] = [
  null,
  {},
  { seq: 'x' },
  { seq: -1 },
  { seq: 1e300 },
  'wake',
  [],
];

/** The client would try for minutes on end while Temporal is away. */
const patienceMs = 5_000;

export interface SignalCount {
  sent: number;
}

export async function signaller(
  stage: Stage,
  target: {
    readonly address: string;
    readonly taskQueue: string;
    readonly store: string;
    readonly rooms: readonly Room[];
  },
  choices: Random,
  count: SignalCount,
): Promise<void> {
  const connection = Connection.lazy({ address: target.address });
  const client = new Client({ connection });
  while (!stage.stopping.aborted) {
    const { thread } = choices.pick(target.rooms);
    const workflowId = workflowIdOf({ tenant: 'default', threadId: thread, store: target.store });
    const copies = choices.between(1, 4);
    const signal = choices.chance(0.2)
      ? choices.pick(malformed)
      : { seq: choices.between(0, 60), turn_id: 'somebody-elses' };
    await Promise.all(
      Array.from({ length: copies }, () =>
        client
          .withDeadline(Date.now() + patienceMs, () =>
            client.workflow.signalWithStart(threadWorkflowType, {
              ...{ workflowId, taskQueue: target.taskQueue, args: [] },
              ...{ workflowTaskTimeout: '5 s', signal: turnSignalName, signalArgs: [signal] },
            }),
          )
          .then(
            () => (count.sent += 1),
            () => undefined, // Temporal is away
          ),
      ),
    );
    await pause(choices.between(100, 700));
  }
  await connection.close();
}
