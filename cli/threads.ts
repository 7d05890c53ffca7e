/** `everthread threads ls|show|cancel|delete|retry|reset-to`, over the gateway's HTTP API. Each gives the exit code. */
import { isProblem, type ThreadReply } from '../client/client.js';
import { linkGateway } from './gateway-link.js';
import { table, threadCells, threadColumns, threadLines } from './thread-view.js';
import type { DeleteFlags, GatewayFlags, ListFlags, ResetFlags } from './threads-command.js';

const exitCode = { done: 0, notDone: 1, usage: 2 } as const;
/** Newest entries of a thread's history that `show` prints. */
const shownVersions = 10;

export async function listThreads(flags: ListFlags): Promise<number> {
  const limit = Number(flags.limit);
  if (!/^\d{1,9}$/.test(flags.limit) || limit === 0) {
    complain('--limit takes a number above 0.');
    return exitCode.usage;
  }
  const { client, paint } = await linkGateway(flags.url);
  const { status, graph } = flags;
  const found: ThreadReply[] = [];
  let more = false;
  for await (const thread of client.threads({
    ...(status && { status }),
    ...(graph && { graph }),
  })) {
    more = found.length === limit;
    if (more) break;
    found.push(thread);
  }
  if (flags.json === true) {
    for (const thread of found) say(JSON.stringify(thread));
    return exitCode.done;
  }
  if (found.length === 0) {
    complain('No threads.');
    return exitCode.done;
  }
  const nowMs = Date.now();
  const rows = found.map((thread) => threadCells(thread, nowMs));
  for (const line of table(threadColumns, rows, paint)) say(line);
  if (more) complain(`There are more; --limit ${limit} ends the list here.`);
  return exitCode.done;
}

export async function showThread(id: string, flags: GatewayFlags): Promise<number> {
  const { client, paint } = await linkGateway(flags.url);
  const thread = await client.thread(id);
  if (thread === undefined) return unknown(id);
  const { history } = await client.history(id);
  const newest = history.slice(0, shownVersions);
  if (flags.json === true) say(JSON.stringify({ ...thread, history: newest }));
  else for (const line of threadLines(thread, newest, { paint, nowMs: Date.now() })) say(line);
  return exitCode.done;
}

export async function cancelTurn(
  id: string,
  turn: string | undefined,
  flags: GatewayFlags,
): Promise<number> {
  const { client } = await linkGateway(flags.url);
  let turnId = turn;
  if (turnId === undefined) {
    const thread = await client.thread(id);
    if (thread === undefined) return unknown(id);
    turnId = thread.turn?.turn_id;
  }
  if (turnId === undefined) {
    complain(`Nothing runs on thread ${id}.`);
    return exitCode.notDone;
  }
  try {
    const reply = await client.cancel(id, turnId);
    say(flags.json === true ? JSON.stringify(reply) : `Turn ${turnId} is cancelled.`);
    return exitCode.done;
  } catch (error) {
    if (isProblem(error, 'not_found')) complain(`Thread ${id} has no turn ${turnId}.`);
    else if (isProblem(error, 'turn_settled')) complain(`Turn ${turnId} is over already.`);
    else throw error;
    return exitCode.notDone;
  }
}

export async function deleteThread(id: string, flags: DeleteFlags): Promise<number> {
  const { client } = await linkGateway(flags.url);
  if ((await client.thread(id)) === undefined) return unknown(id);
  if (flags.yes !== true) {
    complain(`Nothing is deleted yet: this erases thread ${id} for good. Say so with --yes.`);
    return exitCode.notDone;
  }
  await client.delete(id);
  say(flags.json === true ? JSON.stringify({ thread_id: id, deleted: true }) : `Deleted ${id}.`);
  return exitCode.done;
}

export async function retryThread(id: string, flags: GatewayFlags): Promise<number> {
  const { client } = await linkGateway(flags.url);
  try {
    const reply = await client.wake(id);
    if (flags.json === true) say(JSON.stringify(reply));
    else if (reply.woken) say(`Thread ${id} is woken for turn ${reply.turn_id ?? ''}.`);
    else say(`Thread ${id} has nothing to run.`);
    return exitCode.done;
  } catch (error) {
    if (isProblem(error, 'not_found')) return unknown(id);
    throw error;
  }
}

export async function resetThread(id: string, flags: ResetFlags): Promise<number> {
  const version = Number(flags.version);
  if (!/^\d{1,15}$/.test(flags.version) || version === 0) {
    complain('--version takes a number above 0.');
    return exitCode.usage;
  }
  const { client } = await linkGateway(flags.url);
  if ((await client.thread(id)) === undefined) return unknown(id);
  try {
    const reply = await client.reset(id, version);
    if (flags.json === true) say(JSON.stringify(reply));
    else if (reply.status === 'pending' || reply.status === 'running') {
      say(`Turn ${reply.turn_id} resets thread ${id} to version ${version} in its place.`);
    } else if ('version' in reply) {
      say(`Thread ${id} is at version ${reply.version}, with the state of version ${version}.`);
    }
    return exitCode.done;
  } catch (error) {
    if (!isProblem(error, 'not_found')) throw error;
    complain(`Thread ${id} has no version ${version}.`);
    return exitCode.notDone;
  }
}

function unknown(id: string): number {
  complain(`There is no thread ${id}.`);
  return exitCode.notDone;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);
