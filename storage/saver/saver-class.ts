/** The saver that LangGraph calls: a subclass of the project's own base class, with a store of ours behind it (DESIGN 4). */
import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  ChannelVersions,
  PendingWrite,
} from '@langchain/langgraph-checkpoint';
import { keepsSendsBeside, sendsAsChannel, sendsBeside } from './pending-sends.js';
import type { CheckpointModule } from './port.js';

/** Where a call points. `checkpointId` is the checkpoint itself, or in `put` its parent. */
export interface At {
  readonly threadId: string;
  readonly ns: string;
  readonly checkpointId: string | null;
}

export interface PutCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
  /** Stored with the metadata: LangGraph tells by it a retry from a new run (P5). */
  readonly runId: string | undefined;
}
export interface PutWrites {
  readonly writes: readonly PendingWrite[];
  readonly taskId: string;
  readonly taskPath: string;
}

/** What stands behind the saver. */
export interface SaverStore {
  getTuple(at: At): Promise<CheckpointTuple | undefined>;
  list(
    at: Partial<At>,
    options: CheckpointListOptions | undefined,
  ): AsyncGenerator<CheckpointTuple>;
  put(at: At, put: PutCheckpoint): Promise<void>;
  putWrites(at: At & { readonly checkpointId: string }, put: PutWrites): Promise<void>;
  deleteThread(threadId: string): Promise<void>;
}

/**
 * @param store asked for at the first call: what stands behind the saver needs the saver's serde first
 * @param floor every channel version made is higher
 */
export function makeSaver(
  module: CheckpointModule,
  store: () => SaverStore,
  floor: number,
): BaseCheckpointSaver {
  const { BaseCheckpointSaver } = module;
  const beside = keepsSendsBeside(module);
  const read = (tuple: CheckpointTuple): CheckpointTuple => (beside ? sendsBeside(tuple) : tuple);
  class ThreadSaver extends BaseCheckpointSaver {
    override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
      const { threadId, ...at } = placeOf(config);
      const tuple =
        threadId === undefined ? undefined : await store().getTuple({ ...at, threadId });
      return tuple && read(tuple);
    }
    override async *list(
      config: RunnableConfig,
      options?: CheckpointListOptions,
    ): AsyncGenerator<CheckpointTuple> {
      const at = partOf(config);
      for await (const tuple of store().list(at, options)) yield read(tuple);
    }
    override async put(
      config: RunnableConfig,
      checkpoint: Checkpoint,
      metadata: CheckpointMetadata,
      newVersions: ChannelVersions,
    ): Promise<RunnableConfig> {
      const { threadId, ns, checkpointId } = placeOf(config);
      if (threadId === undefined) throw new Error('put needs configurable.thread_id');
      const runId = config.metadata?.run_id as string | undefined;
      const stored = beside ? sendsAsChannel(checkpoint, newVersions) : { checkpoint, newVersions };
      await store().put({ threadId, ns, checkpointId }, { ...stored, metadata, runId });
      return {
        configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id },
      };
    }
    override async putWrites(
      config: RunnableConfig,
      writes: PendingWrite[],
      taskId: string,
      taskPath = '',
    ): Promise<void> {
      const { threadId, ns, checkpointId } = placeOf(config);
      if (threadId === undefined || checkpointId === null) {
        throw new Error('putWrites needs configurable.thread_id and checkpoint_id');
      }
      await store().putWrites({ threadId, ns, checkpointId }, { writes, taskId, taskPath });
    }
    override getNextVersion(current: number | undefined): number {
      return Math.max(current ?? 0, floor) + 1;
    }
    override async deleteThread(threadId: string): Promise<void> {
      await store().deleteThread(threadId);
    }
  }
  return new ThreadSaver();
}

/** What a list is asked for: a namespace only where one is named. */
function partOf(config: RunnableConfig): Partial<At> {
  const { threadId, checkpointId } = placeOf(config);
  const ns = config.configurable?.checkpoint_ns as string | undefined;
  return {
    ...(threadId === undefined ? {} : { threadId }),
    ...(ns === undefined ? {} : { ns }),
    checkpointId,
  };
}

function placeOf({ configurable }: RunnableConfig): {
  readonly threadId: string | undefined;
  readonly ns: string;
  readonly checkpointId: string | null;
} {
  const text = (name: string): string | undefined => {
    const value: unknown = configurable?.[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    threadId: text('thread_id'),
    ns: text('checkpoint_ns') ?? '',
    checkpointId: text('checkpoint_id') ?? text('thread_ts') ?? null,
  };
}
