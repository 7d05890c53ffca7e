/** `everthread threads`: which commands there are. What they do is loaded when one is asked for. */
import type { Command } from 'commander';
import { Option } from 'commander';
import * as help from './threads-help.js';

export interface GatewayFlags {
  readonly url?: string;
  readonly json?: true;
}
export interface ListFlags extends GatewayFlags {
  readonly status?: 'idle' | 'busy' | 'interrupted';
  readonly graph?: string;
  readonly limit: string;
}
export interface TailFlags extends GatewayFlags {
  readonly follow?: true;
}
export interface ResetFlags extends GatewayFlags {
  readonly version: string;
}
export interface DeleteFlags extends GatewayFlags {
  readonly yes?: true;
}

/** @param exit told the exit code of the command that ran */
export function threadsCommands(program: Command, exit: (code: number) => void): void {
  const threads = program
    .command('threads')
    .description('look after threads: list, show, watch, cancel, delete, retry, reset')
    .addHelpText('after', help.threads);
  const load = () => import('./threads.js');
  const about = (name: string, description: string, text: string): Command =>
    threads
      .command(name)
      .description(description)
      .option('--url <url>', help.url)
      .option('--json', 'print JSON')
      .addHelpText('after', text);

  about('ls', 'list threads, newest first', help.ls)
    .addOption(
      new Option('--status <status>', 'only those').choices(['idle', 'busy', 'interrupted']),
    )
    .option('--graph <name>', 'only those of this graph')
    .option('--limit <n>', 'most of them', '50')
    .action(async (flags: ListFlags) => exit(await (await load()).listThreads(flags)));
  about('show', 'show one thread', help.show)
    .argument('<thread>')
    .action(async (id: string, flags: GatewayFlags) => {
      exit(await (await load()).showThread(id, flags));
    });
  about('tail', 'watch the running turn of a thread', help.tail)
    .argument('<thread>')
    .option('-f, --follow', 'wait for the next turn when none is left')
    .action(async (id: string, flags: TailFlags) => {
      exit(await (await import('./threads-tail.js')).tailThread(id, flags));
    });
  about('cancel', 'cancel a turn', help.cancel)
    .argument('<thread>')
    .argument('[turn]', 'default: the one that runs or is next')
    .action(async (id: string, turn: string | undefined, flags: GatewayFlags) => {
      exit(await (await load()).cancelTurn(id, turn, flags));
    });
  about('delete', 'erase a thread for good', help.remove)
    .argument('<thread>')
    .option('--yes', 'really')
    .action(async (id: string, flags: DeleteFlags) => {
      exit(await (await load()).deleteThread(id, flags));
    });
  about('retry', 'wake a stuck thread', help.retry)
    .argument('<thread>')
    .action(async (id: string, flags: GatewayFlags) => {
      exit(await (await load()).retryThread(id, flags));
    });
  about('reset-to', 'go back to the state of an earlier version', help.reset)
    .argument('<thread>')
    .requiredOption('--version <n>', 'the version, as `show` lists it')
    .action(async (id: string, flags: ResetFlags) => {
      exit(await (await load()).resetThread(id, flags));
    });
}
