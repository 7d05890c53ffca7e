/**
 * Running on after a crash or a yield, LangGraph tells every subgraph of the next superstep to resume. One compiled with
 * `checkpointer: true` has a checkpoint from before, so it would take an ended run for its own and do nothing.
 * Whether it has begun in this superstep stands in that checkpoint: the root checkpoint that it ran under.
 */
import type { RunnableConfig } from '@langchain/core/runnables';
import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';
import type { GraphRun } from './port.js';

const resuming = '__pregel_resuming';

/** Only for a run that goes on: a person's answer does resume what an earlier turn has begun. */
export function startStatefulSubgraphs({ attempt }: GraphRun): void {
  if (!attempt.hasRows) return;
  const { saver } = attempt;
  const getTuple = saver.getTuple.bind(saver);
  saver.getTuple = async (config: RunnableConfig) => {
    const tuple = await getTuple(config);
    const { configurable } = config;
    if (tuple !== undefined && configurable !== undefined && isStateful(configurable)) {
      // The subgraph's loop reads it from this object once its checkpoint is loaded.
      const roots = parentsOf(tuple);
      if (roots !== undefined && roots[''] !== attempt.headCheckpointId())
        configurable[resuming] = undefined;
    }
    return tuple;
  };
}

/** A namespace whose last part names no task is kept for the life of the thread. */
function isStateful(configurable: Record<string, unknown>): boolean {
  const { checkpoint_ns: ns } = configurable;
  if (typeof ns !== 'string' || ns === '' || configurable[resuming] !== true) return false;
  return !(ns.split('|').at(-1) ?? '').includes(':');
}

/** Undefined where LangGraph does not tell (0.2.5). */
const parentsOf = ({ metadata }: CheckpointTuple): Readonly<Record<string, string>> | undefined =>
  (metadata as { readonly parents?: Readonly<Record<string, string>> } | undefined)?.parents;
