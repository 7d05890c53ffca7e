/** The SDK's runtime of this process: its logs go where ours go, and signals are ours to handle. */
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { LogEntry, LogLevel } from '@temporalio/worker';

/** What the SDK says, at our levels; its own fields may hold failure texts, so only the line is kept. */
export type SdkLog = (level: 'debug' | 'info' | 'warn' | 'error', line: string) => void;

/**
 * Call before the first connection of the process; later calls change nothing. Without it the SDK installs signal handlers
 * that stop workers before they have drained, and writes to the console.
 * @param metricsAddress host:port where the SDK shows its own metrics
 */
export function installRuntime(log: SdkLog, metricsAddress?: string): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('WARN', ({ level, message }: LogEntry) => {
        if (message !== toldByUs) log(levels[level], message);
      }),
      // The core's own lines go the same way: on the console they are coloured and quote failures.
      telemetryOptions: {
        logging: {
          filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }),
          forward: {},
        },
        ...(metricsAddress !== undefined && { metrics: metricsAt(metricsAddress) }),
      },
      shutdownSignals: [],
    });
  } catch (error) {
    // The runtime of this process exists already.
    if (!(error instanceof Error) || error.name !== 'IllegalStateError') throw error;
  }
}

/** `runTurn` tells a failed try itself, with its thread, turn and cause. */
const toldByUs = 'Activity failed';

/** Named and counted as Prometheus has it. */
const metricsAt = (bindAddress: string) => ({
  prometheus: {
    bindAddress,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  },
});

const levels: Record<LogLevel, 'debug' | 'info' | 'warn' | 'error'> = {
  TRACE: 'debug',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};
