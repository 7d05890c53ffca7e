/**
 * Carries the trace of the request that posted a turn from its signal to the activity that runs it. Temporal's own workflow
 * interceptor would put all turns of a thread into the trace of its first one, in a span that is open for days. It knows no
 * OpenTelemetry, makes no span, and does nothing where signals bring no trace.
 */
import type { Headers, WorkflowInterceptors } from '@temporalio/workflow';
import type { RunTurnResult } from '../contracts/protocol.js';
import { seqOf } from './thread-state.js';

/** Where Temporal's interceptors at client and activity write and read it. */
const traceHeader = '_tracer-data';
/** Where a run that continues as new hands on those of turns that still wait: `everthread-trace-<seq>`. */
const waitingPrefix = 'everthread-trace-';
/** Far above what waits on a thread; a turn beyond it has a trace of its own. */
const mostCarried = 100;

export function interceptors(): WorkflowInterceptors {
  const traces = new Map<number, Headers[string]>();
  let settledThrough = 0;
  const keep = (seq = 0, trace?: Headers[string]): void => {
    // A signal may come later than the end of its turn.
    if (seq > settledThrough && trace !== undefined && traces.size < mostCarried)
      traces.set(seq, trace);
  };
  const ran = (result: unknown): void => {
    ({ settledThrough } = result as RunTurnResult);
    for (const seq of traces.keys()) if (seq <= settledThrough) traces.delete(seq);
  };
  return {
    inbound: [
      {
        execute(input, next) {
          for (const [name, trace] of Object.entries(input.headers))
            if (name.startsWith(waitingPrefix))
              keep(Number(name.slice(waitingPrefix.length)), trace);
          return next(input);
        },
        handleSignal(input, next) {
          keep(seqOf(input.args[0]), input.headers[traceHeader]);
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity(input, next) {
          // `runTurn` takes the earliest unsettled turn (P2).
          const trace = traces.get(Math.min(...traces.keys()));
          const running =
            trace === undefined
              ? next(input)
              : next({ ...input, headers: { ...input.headers, [traceHeader]: trace } });
          running.then(ran, () => undefined); // of a failure the workflow itself is told
          return running;
        },
        continueAsNew: (input, next) =>
          next({ ...input, headers: { ...input.headers, ...waiting(traces) } }),
      },
    ],
  };
}

const waiting = (traces: ReadonlyMap<number, Headers[string]>): Headers =>
  Object.fromEntries([...traces].map(([seq, trace]) => [`${waitingPrefix}${seq}`, trace]));
