/** CPU time of processes, as the kernel counts it. Linux only: elsewhere it is not a number, and the table shows a dash. */
import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts in ticks of 10 ms (`getconf CLK_TCK` is 100 on every Linux that Node runs on). */
const tickMs = 10;

/** User and system time of the process, all its threads included. */
export const cpuMs = (pid: number): number => ticksIn(pid, 11, 13) * tickMs;

/** The same for a process and all that it has started, also what has ended since (PostgreSQL has a process per connection). */
export const treeCpuMs = (pid: number): number =>
  [pid, ...descendants(pid)].reduce((sum, each) => sum + ticksIn(each, 11, 15), 0) * tickMs;

/** The sum of `utime`, `stime` and, behind them, those of children that it has waited for. */
function ticksIn(pid: number, from: number, to: number): number {
  const fields = statFields(pid);
  if (fields === undefined) return NaN;
  return fields.slice(from, to).reduce((sum, ticks) => sum + Number(ticks), 0);
}

/** Children whose name is this. */
export const childrenNamed = (parent: number, name: string): readonly number[] =>
  processes()
    .filter((p) => p.parent === parent && p.name === name)
    .map((p) => p.pid);

function descendants(pid: number): readonly number[] {
  const all = processes();
  const below = (parent: number): number[] =>
    all.filter((p) => p.parent === parent).flatMap((p) => [p.pid, ...below(p.pid)]);
  return below(pid);
}

interface Process {
  readonly pid: number;
  readonly name: string;
  readonly parent: number;
}

function processes(): readonly Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const pid = Number(name);
      const fields = statFields(pid);
      return fields === undefined ? [] : [{ pid, name: nameOf(pid), parent: Number(fields[1]) }];
    });
}

const nameOf = (pid: number): string => read(`/proc/${pid}/comm`)?.trim() ?? '';

/** What follows the name in `stat`: state, parent, …; the name itself may hold spaces. */
function statFields(pid: number): readonly string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // it has ended, or there is no /proc
  }
}
