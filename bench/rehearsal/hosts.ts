/**
 * Network namespaces as hosts: each has an address and one link to a router in the middle, which can drop what two of them
 * say to each other. Packets vanish there without a word: no RST, no ICMP, as with a switch that broke.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';

/** Where processes of a service run. */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** Stands in front of a command line, so that it runs there. Empty for this machine itself. */
  readonly inside: readonly string[];
}

export interface Hosts {
  /** This machine as the others see it: the client and the model provider. */
  readonly self: Host;
  /** One more host. Names are given once. */
  add(name: string): Host;
  /** Drops all packets between the two, until `heal`. */
  partition(a: Host, b: Host): void;
  heal(a: Host, b: Host): void;
  /** Cuts a host off from all others for ever and ends its processes: nobody hears their last words. */
  lose(host: Host): void;
  /** Ends what still runs in the hosts, and removes them. May be called again. */
  remove(): void;
}

/** What the hosts of a run are named by, so that two runs do not meet and a dead one's are known. */
const prefixOf = (pid: number): string => `et${pid}-`;

/** Why there can be no hosts here; undefined when there can. */
export function whyNoHosts(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need root rights';
  for (const [program, ...args] of [
    ['ip', '-V'],
    ['nsenter', '--version'],
    ['setpriv', '--version'],
  ] as const)
    if (!succeeds(program, args)) return `network namespaces need ${program}`;
  const probe = `${prefixOf(process.pid)}probe`;
  if (!succeeds('ip', ['netns', 'add', probe])) return 'this machine allows no network namespaces';
  const routes = succeeds('ip', [
    ...['-n', probe, 'rule', 'add', 'from', '10.0.0.1', 'to', '10.0.0.2', 'blackhole'],
  ]);
  ip('netns', 'del', probe);
  return routes ? undefined : 'the kernel of this machine has no policy routing';
}

export function makeHosts(): Hosts {
  removeLeftovers();
  const prefix = prefixOf(process.pid);
  const hub = `${prefix}hub`;
  const uplink = `et${process.pid}`;
  const made = new Map<string, Host>();
  const release = guard(prefix);
  ip('netns', 'add', hub);
  const remove = (): void => {
    for (const name of namespaces().filter((found) => found.startsWith(prefix))) removeHost(name);
    made.clear();
    release();
  };
  try {
    ip('link', 'add', uplink, 'type', 'veth', 'peer', 'name', 'self', 'netns', hub);
    ip('link', 'set', uplink, 'up');
    const net = takeNet(uplink);
    const [router, self] = [`${net}.1`, `${net}.254`];
    ip('-n', hub, 'link', 'set', 'lo', 'up');
    ip('-n', hub, 'addr', 'add', `${router}/32`, 'dev', 'lo');
    execFileSync('nsenter', [...enter(hub), 'sysctl', '-qw', 'net.ipv4.ip_forward=1']);
    ip('-n', hub, 'link', 'set', 'self', 'up');
    ip('-n', hub, 'route', 'add', `${self}/32`, 'dev', 'self');
    ip('addr', 'add', `${self}/32`, 'dev', uplink);
    ip('route', 'add', `${router}/32`, 'dev', uplink, 'src', self);
    ip('route', 'change', `${net}.0/24`, 'via', router, 'dev', uplink, 'src', self);
    const add = (name: string): Host => {
      const host = addHost({ namespace: `${prefix}${name}`, hub, router, n: made.size + 2, net });
      made.set(name, { name, ...host });
      return { name, ...host };
    };
    const both = (verb: 'add' | 'del', a: Host, b: Host): void => {
      for (const [from, to] of [
        [a, b],
        [b, a],
      ] as const)
        rule(hub, verb, ['from', from.address, 'to', to.address]);
    };
    return {
      self: { name: 'client', address: self, inside: [] },
      add,
      partition: (a, b) => both('add', a, b),
      heal: (a, b) => both('del', a, b),
      lose: (host) => {
        for (const side of ['from', 'to']) rule(hub, 'add', [side, host.address]);
        endProcesses(`${prefix}${host.name}`);
      },
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

interface Wiring {
  readonly namespace: string;
  readonly hub: string;
  readonly router: string;
  readonly net: string;
  readonly n: number;
}

function addHost({ namespace, hub, router, net, n }: Wiring): Omit<Host, 'name'> {
  const address = `${net}.${n}`;
  const port = `h${n}`;
  ip('netns', 'add', namespace);
  ip('-n', hub, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  ip('-n', hub, 'link', 'set', port, 'up');
  ip('-n', hub, 'route', 'add', `${address}/32`, 'dev', port);
  ip('-n', namespace, 'link', 'set', 'lo', 'up');
  ip('-n', namespace, 'addr', 'add', `${address}/32`, 'dev', 'eth0');
  ip('-n', namespace, 'link', 'set', 'eth0', 'up');
  ip('-n', namespace, 'route', 'add', `${router}/32`, 'dev', 'eth0');
  ip('-n', namespace, 'route', 'add', 'default', 'via', router);
  return { address, inside: ['nsenter', ...enter(namespace)] };
}

const enter = (namespace: string): string[] => [`--net=/run/netns/${namespace}`, '--'];

/**
 * Removes the hosts when this process has ended, however it did: a pipe closes then. In a session of its own, so that a
 * terminal's Ctrl-C does not reach it. @returns a function that ends it
 */
function guard(prefix: string): () => void {
  const script = `cat >/dev/null
    for name in $(ip netns list | cut -d' ' -f1 | grep '^${prefix}'); do
      ip netns pids "$name" | xargs -r kill -9
      ip netns del "$name"
    done`;
  const child = spawn('sh', ['-c', script], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  return () => child.stdin.end();
}

/** In the router, before any look at a route; a routing rule's `blackhole` drops in silence. */
const rule = (hub: string, verb: 'add' | 'del', which: readonly string[]): void =>
  ip('-n', hub, 'rule', verb, 'pref', '10', ...which, 'blackhole');

/** A subnet that no route leads to yet: the route itself is what two runs cannot both take. @returns its first three numbers */
function takeNet(uplink: string): string {
  for (let tries = 0; tries < 50; tries += 1) {
    const net = `10.213.${randomInt(1, 255)}`;
    if (succeeds('ip', ['route', 'add', `${net}.0/24`, 'dev', uplink])) return net;
  }
  throw new Error('no free subnet below 10.213.0.0/16 for the hosts');
}

function namespaces(): string[] {
  const listed = execFileSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  return listed
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '')
    .filter((name) => name !== '');
}

/** Of runs whose process is gone; another run's stay. */
function removeLeftovers(): void {
  for (const name of namespaces()) {
    const pid = /^et(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) removeHost(name);
  }
}

/** Its links go with it. */
function removeHost(namespace: string): void {
  endProcesses(namespace);
  succeeds('ip', ['netns', 'del', namespace]);
}

function endProcesses(namespace: string): void {
  const found = execFileSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  for (const pid of found.split('\n').filter((line) => line !== ''))
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** @throws with what `ip` said */
function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
}

function succeeds(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
