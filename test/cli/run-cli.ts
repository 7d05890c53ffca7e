// Runs the built command line as a child process, as a person's shell does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const bin = path.resolve('bin/everthread.js');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input, at once and whole. */
  readonly input?: string;
  readonly cwd?: string;
  /** Looks at standard output as it grows; may signal the process. */
  readonly onStdout?: (text: string, signal: (name: NodeJS.Signals) => void) => void;
}

export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, input = '', cwd, onStdout } = options;
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    ...(cwd !== undefined && { cwd }),
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    onStdout?.(stdout, (name) => void child.kill(name));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined); // a command that reads nothing may be gone already
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}
