import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * What tells a process from a later one that got the same pid: its start time (and, on Linux, the boot that the
 * time counts from). `undefined` when no such process runs, a zombie included, or when the platform cannot say.
 */
export function processIdentity(pid: number): string | undefined {
  try {
    return process.platform === 'linux' ? linuxIdentity(pid) : psIdentity(pid);
  } catch {
    return undefined;
  }
}

function linuxIdentity(pid: number): string | undefined {
  // The name, field 2, is in parentheses and may hold anything; what follows it starts with field 3.
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [fields[0], fields[22 - 3]];
  if (state === 'Z' || state === 'X' || started === undefined) return undefined;
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}:${started}`;
}

function psIdentity(pid: number): string | undefined {
  const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
  });
  const [state, ...started] = line.trim().split(/\s+/);
  return state === undefined || state.startsWith('Z') ? undefined : started.join(' ');
}
