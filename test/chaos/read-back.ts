/** Reading a thread as a client: all pages of its messages, and its state. */
import { ask, type Answered, type OpLog } from './ask.js';
import type { Op } from './history.js';

interface Reader {
  readonly client: string;
  readonly thread: string;
  readonly final?: boolean;
}

/** Pages and epoch are read one after the other; the epoch counts only if it was the same before and after. */
export async function readThread(log: OpLog, gateway: string, reader: Reader): Promise<Op> {
  const url = `${gateway}/v1/threads/${reader.thread}`;
  const get = (path: string): Promise<Answered> =>
    ask({ kind: 'messages', ...reader, method: 'GET', url: `${url}${path}` });
  const before = await get('');
  const list: { role: string; text: string }[] = [];
  let last = before;
  for (let cursor: unknown = ''; last.result === 'ok' && typeof cursor === 'string';) {
    const after = cursor === '' ? '' : `&after=${encodeURIComponent(cursor)}`;
    last = await get(`/messages?limit=200${after}`);
    const messages = (last.json.messages ?? []) as readonly { role: string; content: string }[];
    list.push(...messages.map(({ role, content }) => ({ role, text: content })));
    cursor = last.json.next_cursor;
  }
  const after = await get('');
  const whole = [before, last, after].every(({ result }) => result === 'ok');
  const { epoch: _, ...end } = last;
  const op: Op = {
    ...end,
    startMs: before.startMs,
    endMs: after.endMs,
    ...(whole && { list }),
    ...(whole &&
      before.epoch !== undefined &&
      before.epoch === after.epoch && { epoch: before.epoch }),
  };
  log.add(op);
  return op;
}

/** The state's `messages` channel: what the next turn will stand on. */
export async function readState(log: OpLog, gateway: string, reader: Reader): Promise<void> {
  const url = `${gateway}/v1/threads/${reader.thread}/state`;
  const op = await ask({ kind: 'state', ...reader, method: 'GET', url });
  const values = op.json.values as
    { messages?: readonly { role: string; content: string }[] } | undefined;
  const list = (values?.messages ?? []).map(({ role, content }) => ({ role, text: content }));
  log.add({ ...op, ...(op.result === 'ok' && { list }) });
}
