/** The command line: which commands there are. What a command does is in a file of its own, loaded when it is asked for. */
import { Command, CommanderError } from 'commander';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { deployCommands } from './deploy-command.js';
import { describeFailure } from './failure.js';
import * as help from './help.js';
import type { SetupFlags } from './setup.js';
import { threadsCommands } from './threads-command.js';
import type { WorkerFlags } from './worker-command.js';

/** As of a command that was called wrongly; 1 is a command that failed. */
const usageExitCode = 2;

// Whoever read our output (`| head`) has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
process.exit(await runCli(process.argv));

/** Runs one command line and gives the exit code of the process. */
async function runCli(argv: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = commands((code) => (exitCode = code));
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode;
    process.stderr.write(`${describeFailure(error)}\n`);
    return 1;
  }
}

interface ServeFlags {
  readonly allowRemote?: true;
}

/** @param exit told the exit code of the command that ran */
function commands(exit: (code: number) => void): Command {
  const program = new Command('everthread')
    .description(help.summary)
    .version(packageVersion(), '-V, --version')
    .showHelpAfterError('(everthread --help tells what there is)')
    .exitOverride()
    // `threads reset-to --version 7` has an option of that name, too; the other commands get ours below.
    .enablePositionalOptions()
    .addHelpText('after', help.everthread);

  program
    .command('dev')
    .description('run everything in this process: Temporal dev server, gateway, worker')
    .option('--allow-remote', help.allowRemote)
    .addHelpText('after', help.dev)
    .action(async (flags: ServeFlags) => {
      const { dev } = await import('./dev-command.js');
      exit(await dev(flags));
    });
  program
    .command('gateway')
    .description('run the HTTP gateway, beside workers in other processes')
    .option('--allow-remote', help.allowRemote)
    .addHelpText('after', help.gateway)
    .action(async (flags: ServeFlags) => {
      const { gateway } = await import('./gateway-command.js');
      exit(await gateway(flags));
    });
  program
    .command('worker')
    .description('run a worker, beside gateways in other processes')
    .option('--build-id <id>', help.buildId)
    .option('--deployment <name>', help.deployment)
    .option('--task-queue <names...>', help.taskQueue)
    .addHelpText('after', help.worker)
    .action(async (flags: WorkerFlags) => {
      const { worker } = await import('./worker-command.js');
      exit(await worker(flags));
    });
  clusterCommands(program, exit);
  projectCommands(program, exit);
  operatorCommands(program, exit);
  threadsCommands(program, exit);
  deployCommands(program, exit);
  program
    .command('chat')
    .description('chat on a thread in the terminal')
    .argument('[message...]', 'say this, print the reply and exit')
    .option('--thread <id>', 'go on with this thread (default: a new one)')
    .option('--url <url>', 'the gateway (default: the one that HOST and PORT name)')
    .option('--graph <name>', 'the graph of a new thread (default: the first one served)')
    .option('--json', 'print the events of the stream as JSON, one per line')
    .addHelpText('after', help.chat)
    .action(async (words: string[], flags: ChatFlags) => {
      const { chat } = await import('./chat.js');
      exit(await chat({ ...flags, ...(words.length > 0 && { message: words.join(' ') }) }));
    });
  temporalCommands(program.command('temporal').description('about the Temporal CLI'));
  for (const command of program.commands)
    if (command.name() !== 'threads') command.version(packageVersion(), '-V, --version');
  return program;
}

interface ChatFlags {
  readonly thread?: string;
  readonly url?: string;
  readonly graph?: string;
  readonly json?: true;
}

/** What is done once, before gateways and workers start. */
function clusterCommands(program: Command, exit: (code: number) => void): void {
  program
    .command('migrate')
    .description("bring the database's schema up to this version")
    .addHelpText('after', help.migrate)
    .action(async () => {
      const { migrate } = await import('./migrate.js');
      exit(await migrate());
    });
  program
    .command('setup')
    .description('make namespace, retention and search attributes in a Temporal cluster')
    .option('--retention <time>', 'how long it keeps the histories of closed runs (3d)')
    .option('--queue-rate <queue=number...>', help.queueRate)
    .option('--tenant-weight <tenant=number...>', help.tenantWeight)
    .addHelpText('after', help.setup)
    .action(async (flags: SetupFlags) => {
      const { setup } = await import('./setup.js');
      exit(await setup(flags));
    });
}

function projectCommands(program: Command, exit: (code: number) => void): void {
  program
    .command('init')
    .description('make a new project')
    .argument('<folder>', 'where to; must not exist, or be empty')
    .option('--from <source>', 'where it gets everthread: a version or a packed file')
    .addHelpText('after', help.init)
    .action(async (folder: string, flags: { readonly from?: string }) => {
      const { init } = await import('./init.js');
      exit(await init(folder, { from: flags.from ?? ownSource() }));
    });
  program
    .command('doctor')
    .description('say what of a project works here')
    .argument('[folder]', 'of the project, or its langgraph.json (default: this one)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help.doctor)
    .action(async (folder: string | undefined, flags: { readonly json?: true }) => {
      const { doctor } = await import('./doctor.js');
      exit(await doctor(folder, flags));
    });
}

interface FsckFlags {
  readonly json?: true;
  readonly repair?: true;
}

function operatorCommands(program: Command, exit: (code: number) => void): void {
  program
    .command('fsck')
    .description('check a store, live or stopped, and repair what can be')
    .option('--repair', 'mend counters, fences and leftovers, and signal forgotten threads')
    .option('--json', 'print one JSON document')
    .addHelpText('after', help.fsck)
    .action(async (flags: FsckFlags) => {
      const { fsck } = await import('./fsck.js');
      exit(await fsck(flags));
    });
  program
    .command('backup')
    .description('copy a SQLite store, also while it runs')
    .argument('<file>', 'where to; must not exist')
    .addHelpText('after', help.backup)
    .action(async (file: string) => {
      const { backup } = await import('./backup.js');
      exit(await backup(file));
    });
  program
    .command('restore')
    .description('put a backup in the place of a store')
    .argument('[file]', 'a file that "everthread backup" made')
    .option('--in-place', 'the database has been restored by other means, as with pg_restore')
    .addHelpText('after', help.restore)
    .action(async (file: string | undefined, flags: { readonly inPlace?: true }) => {
      const { restore } = await import('./restore.js');
      exit(await restore(file, flags));
    });
}

function temporalCommands(temporal: Command): void {
  temporal
    .command('path')
    .description('print the path of the Temporal CLI in use, fetching it when there is none')
    .addHelpText('after', help.temporalPath)
    .action(async () => {
      const { printTemporalPath } = await import('./temporal.js');
      await printTemporalPath();
    });
}

/** Holds `bin/`, `dist/` and `package.json`. */
function packageFolder(): string {
  return path.dirname(fileURLToPath(new URL('../../package.json', import.meta.url)));
}

function packageVersion(): string {
  const text = readFileSync(path.join(packageFolder(), 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A checkout is a source itself; what npm installed, it finds again by its version. */
function ownSource(): string {
  const folder = packageFolder();
  return folder.split(path.sep).includes('node_modules') ? `^${packageVersion()}` : folder;
}
