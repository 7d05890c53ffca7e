/** `everthread deploy`: which commands there are. What they do is loaded when one is asked for. */
import type { Command } from 'commander';
import * as help from './deploy-help.js';

export interface DeployFlags {
  readonly deployment?: string;
  readonly json?: true;
}
export interface RouteFlags extends DeployFlags {
  readonly buildId?: string;
  /** How long to wait for the build's workers. */
  readonly wait: string;
  readonly allowNoWorkers?: true;
  readonly allowMissingQueues?: true;
}
export interface CurrentFlags extends RouteFlags {
  readonly unversioned?: true;
}
export interface RampFlags extends RouteFlags {
  readonly percent: string;
}
export interface WaitFlags extends DeployFlags {
  readonly buildId?: string;
  readonly timeout: string;
}

/** @param exit told the exit code of the command that ran */
export function deployCommands(program: Command, exit: (code: number) => void): void {
  const deploy = program
    .command('deploy')
    .description('say which build of the workers takes the turns: ls, current, ramp, wait')
    .addHelpText('after', help.deploy);
  const about = (name: string, description: string, text: string): Command =>
    deploy
      .command(name)
      .description(description)
      .option('--deployment <name>', help.deployment)
      .option('--json', 'print JSON')
      .addHelpText('after', text);
  const routing = (name: string, description: string, text: string): Command =>
    about(name, description, text)
      .option('--build-id <id>', help.buildId)
      .option('--wait <time>', "how long to wait for the build's workers", '10s')
      .option('--allow-no-workers', 'also a build that no worker runs: its turns wait')
      .option('--allow-missing-queues', 'also one whose workers lack a task queue that is in use');

  about('ls', 'list the builds: current, ramping, draining, drained', help.ls).action(
    async (flags: DeployFlags) => exit(await (await import('./deploy-list.js')).listBuilds(flags)),
  );
  routing('current', 'send all turns to a build', help.current)
    .option('--unversioned', 'to workers without a build id, instead')
    .action(async (flags: CurrentFlags) => {
      exit(await (await import('./deploy.js')).setCurrent(flags));
    });
  routing('ramp', 'send a share of the threads to a build', help.ramp)
    .requiredOption('--percent <n>', 'from 0 to 100; 0 ends it')
    .action(async (flags: RampFlags) => {
      exit(await (await import('./deploy.js')).setRamp(flags));
    });
  about('wait', 'wait until a build is drained', help.wait)
    .option('--build-id <id>', help.buildId)
    .option('--timeout <time>', 'give up after this', '10m')
    .action(async (flags: WaitFlags) => {
      exit(await (await import('./deploy-list.js')).waitUntilDrained(flags));
    });
}
