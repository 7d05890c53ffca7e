import { pino } from 'pino';
import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { isErrorLike, safeError } from './log-error.js';
import { useColors } from './colors.js';
import type { Environment } from './env.js';
import type { Config } from './config.js';

export type Log = Logger;

/** How lines look. `pretty` for a person at `dev`, `json` for a log collector. */
export interface LogOptions {
  readonly level: Config['logLevel'];
  readonly format: 'pretty' | 'json';
  readonly colors: boolean;
  /** Standard output unless given. */
  readonly destination?: DestinationStream;
}

/**
 * Makes the logger. It never writes message text: errors are written without their words unless Node itself wrote them
 * or a person asked for `debug` (a provider's error quotes prompts), and what is named like a secret or like content is cut.
 */
export function createLog({ level, format, colors, destination }: LogOptions): Log {
  const withWords = level === 'debug' || level === 'trace';
  const serialize = (value: unknown): unknown =>
    isErrorLike(value) ? safeError(value, { withWords }) : value;
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redacted, censor: '[redacted]' },
    serializers: { err: serialize, error: serialize, cause: serialize },
    hooks: {
      // pino takes the words of an error for the line's text when a line has no text of its own.
      logMethod([first, ...rest], method) {
        const error: unknown = isErrorLike(first)
          ? first
          : (first as { err?: unknown } | null)?.err;
        if (rest.length === 0 && isErrorLike(error)) method.apply(this, [first, error.name]);
        else method.apply(this, [first, ...rest]);
      },
    },
  };
  const target = destination ?? pino.destination({ dest: 1, sync: true });
  if (format === 'json') return pino(options, target);
  // Formatted in this thread: a worker thread would lose the last lines when the process exits.
  const pretty = prettyFactory({
    colorize: colors,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  return pino(options, { write: (line) => target.write(pretty(line)) });
}

/** Logger of a command: for a person in `dev`, JSON elsewhere. */
export function logOf({ command, logLevel }: Config, env: Environment): Log {
  return createLog({
    level: logLevel,
    format: command === 'dev' ? 'pretty' : 'json',
    colors: useColors(env, process.stdout),
  });
}

const secretNames = ['password', 'apiKey', 'api_key', 'authorization', 'token', 'secret'];
const contentNames = ['message', 'messages', 'content', 'text', 'input', 'output', 'response'];
const redacted = [...secretNames, ...contentNames].flatMap((name) => [name, `*.${name}`]);
