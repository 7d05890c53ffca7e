/** Wakes thread workflows: the only thing that gateway and sweeper ask of Temporal. */
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import { reachCrashPoint } from '../contracts/crash-point.js';
import {
  graphAttribute,
  tenantAttribute,
  threadWorkflowType,
  turnSignalName,
  workflowIdOf,
} from '../contracts/protocol.js';
import type { TurnSignal } from '../contracts/protocol.js';
import type { TurnWake, Waker } from '../contracts/waker.js';
import type { TemporalLink } from './connection.js';
import { isSearchAttributeUnknown } from './errors.js';
import { freeSticky } from './predecessor.js';
import { ensureSearchAttributes } from './search-attributes.js';

/** The client rides on a native connection, whose type the client's own does not show. */
type OperatorAccess = Parameters<typeof ensureSearchAttributes>[0];

const tenantKey = defineSearchAttributeKey(tenantAttribute, SearchAttributeType.KEYWORD);
const graphKey = defineSearchAttributeKey(graphAttribute, SearchAttributeType.KEYWORD);

export interface WakerOptions {
  readonly taskQueue: string;
  /** The database's id, part of every workflow id (P1). */
  readonly store: string;
  /** The only worker lives in this process: what its dead predecessor held is given free at once. */
  readonly onlyWorker?: boolean;
}

export function temporalWaker(link: TemporalLink, options: WakerOptions): Waker {
  const idOf = (turn: TurnWake): string => workflowIdOf({ ...turn.thread, store: options.store });
  const hasAttributes = once((client: Client) =>
    ensureSearchAttributes(client.connection as unknown as OperatorAccess, link.namespace),
  );
  const start = async (client: Client, turn: TurnWake, attributes: boolean): Promise<void> => {
    const { tenant, threadId } = turn.thread;
    // No time-outs and no arguments: a thread lives as long as it likes and knows itself by its id (P1).
    await client.workflow.signalWithStart(threadWorkflowType, {
      workflowId: idOf(turn),
      taskQueue: options.taskQueue,
      args: [],
      // A task that a lost worker took is given to another one after this. It must be enough for a cold replay of the worst
      // run: the server takes 10,000 signals, which are about 7 s; a run that cannot be replayed in time is stuck.
      workflowTaskTimeout: '10 s',
      // Tasks that wait for a worker are given out tenant by tenant (Q4).
      priority: { fairnessKey: tenant },
      signal: turnSignalName,
      signalArgs: [signalOf(turn)],
      staticSummary: `thread ${threadId} of ${tenant}`,
      ...(attributes && { typedSearchAttributes: attributesOf(turn) }),
    });
  };
  const unstick = stickyReset(options);
  const startWithAttributes = async (client: Client, turn: TurnWake): Promise<void> => {
    await unstick(client, idOf(turn), turn.seq);
    if (!(await hasAttributes.ask(client))) {
      await start(client, turn, false);
      return;
    }
    try {
      await start(client, turn, true);
    } catch (error) {
      // A cluster needs up to a minute until an attribute that was just registered can be used; one that was made anew
      // has lost them, so the next start registers them again.
      if (!isSearchAttributeUnknown(error)) throw error;
      hasAttributes.forget();
      await start(client, turn, false);
    }
  };
  const signalOnly = async (client: Client, turn: TurnWake): Promise<void> => {
    try {
      await client.workflow.getHandle(idOf(turn)).signal(turnSignalName, signalOf(turn));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  };
  const wake: Waker['wake'] = (turn, { start: mayStart }) =>
    link.call(async (client) => {
      await (mayStart ? startWithAttributes(client, turn) : signalOnly(client, turn));
      reachCrashPoint('after-signal', turn.thread.threadId);
    });
  return { wake: oncePerTurn(wake) };
}

/** Each signal costs the workflow a millisecond at every replay, and a client may ask for its turn as often as it likes. */
const sameWakeMs = 1_000;
/** Past this many the memory begins anew; what is forgotten is signalled once more. */
const maxRemembered = 5_000;

/** A turn that was woken a moment ago is not woken again; one whose wake failed is. */
function oncePerTurn(wake: Waker['wake']): Waker['wake'] {
  const recent = new Map<string, { readonly atMs: number; readonly done: Promise<void> }>();
  return (turn, options) => {
    const { turnId } = turn;
    if (turnId === undefined || !options.start) return wake(turn, options);
    const last = recent.get(turnId);
    if (last !== undefined && performance.now() - last.atMs < sameWakeMs) return last.done;
    if (recent.size >= maxRemembered) recent.clear();
    const done = wake(turn, options);
    recent.set(turnId, { atMs: performance.now(), done });
    done.catch(() => recent.delete(turnId));
    return done;
  };
}

/** A run that a dead worker held is free after the sticky time-out anyway; later wakes have nothing to gain. */
const stickyResetMs = 60_000;

/** For a minute after the start, frees each woken thread from the queue of a worker that died with the last process. */
function stickyReset({
  onlyWorker = false,
}: WakerOptions): (client: Client, workflowId: string, seq: number) => Promise<void> {
  const until = Date.now() + stickyResetMs;
  const freed = new Set<string>();
  return async (client, workflowId, seq) => {
    if (!onlyWorker || seq === 1 || Date.now() > until || freed.has(workflowId)) return;
    freed.add(workflowId);
    await freeSticky(client, workflowId);
  };
}

const signalOf = ({ turnId, seq }: TurnWake): TurnSignal => ({
  ...(turnId !== undefined && { turn_id: turnId }),
  seq,
});

const attributesOf = ({ thread, graph }: TurnWake): SearchAttributePair[] => [
  { key: tenantKey, value: thread.tenant },
  ...(graph === undefined ? [] : [{ key: graphKey, value: graph }]),
];

/** Remembers the first answer until it is told to forget it; a failure is asked again. */
function once<A, T>(
  ask: (argument: A) => Promise<T>,
): { readonly ask: (argument: A) => Promise<T>; readonly forget: () => void } {
  let answer: Promise<T> | undefined;
  const forget = (): void => {
    answer = undefined;
  };
  return {
    ask: (argument) =>
      (answer ??= ask(argument).catch((error: unknown) => {
        forget();
        throw error;
      })),
    forget,
  };
}
