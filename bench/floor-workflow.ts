/** The least that a durable turn can be on Temporal: one signal, one activity. Bundled by the bench. */
import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';

const turn = defineSignal('turn');

const { oneRow } = proxyActivities<{ oneRow(thread: string): Promise<void> }>({
  startToCloseTimeout: '1 minute',
});

/** As long as a thread's run may get before it goes on as a new one. */
const longRun = 1_000;

export async function floor(due = 0): Promise<void> {
  let left = due;
  setHandler(turn, () => {
    left += 1;
  });
  for (;;) {
    await condition(() => left > 0);
    left -= 1;
    await oneRow(workflowInfo().workflowId);
    if (workflowInfo().historyLength > longRun) return continueAsNew<typeof floor>(left);
  }
}
