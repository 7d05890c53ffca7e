/** What a process prints when it is ready. Pure. */
import pc from 'picocolors';

export interface DevBanner {
  readonly gatewayUrl: string;
  /** Undefined with a Temporal server that is not ours. */
  readonly uiUrl: string | undefined;
  /** Where the data is, without a password. */
  readonly storage: string;
  readonly model: string;
  /** Names of the graphs; the first is the default. */
  readonly graphs: readonly string[];
}

/** One line for each fact, then how to try it. */
export function devBanner(ready: DevBanner, colors: boolean): string[] {
  const { bold, cyan, dim } = pc.createColors(colors);
  const line = (name: string, value: string): string => `  ${dim(name.padEnd(9))} ${value}`;
  return [
    '',
    bold('Everthread is ready.'),
    line('Gateway', cyan(ready.gatewayUrl)),
    line('Web UI', ready.uiUrl === undefined ? 'of your Temporal server' : cyan(ready.uiUrl)),
    line('Storage', ready.storage),
    line('Model', modelOf(ready.model)),
    line('Graphs', ready.graphs.join(', ')),
    '',
    dim('Try it:'),
    `  curl -X POST ${ready.gatewayUrl}/v1/chat -H 'content-type: application/json' -d '{"message":"hi"}'`,
    `  npx everthread chat${defaultUrl(ready.gatewayUrl) ? '' : ` --url ${ready.gatewayUrl}`}`,
    dim('Ctrl-C stops everything; the next start finds all threads again.'),
    '',
  ];
}

const modelOf = (model: string): string =>
  model === 'builtin'
    ? 'builtin (a small stand-in without a key; EVERTHREAD_MODEL names a real one)'
    : model;

const defaultUrl = (url: string): boolean => url === 'http://127.0.0.1:8080';
