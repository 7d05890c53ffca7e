/** A committed state as plain JSON, for `GET /state` (DESIGN 10): no code of the project runs, and no class of it is needed. */
import type { ThreadKey } from '../../contracts/protocol.js';
import { transcriptMessage } from '../../engine/transcript.js';
import type { Driver } from '../tx.js';
import { isPlain } from './deltas.js';
import { otherKey } from './known.js';
import { replay, walkChain } from './load.js';
import { joinLists, toBytes, toText } from './pack.js';
import { readCheckpoint, type Stored, type StoredDelta } from './rows.js';

/** Channel values of a head. Channels that LangGraph keeps for itself are left out. */
export async function readState(
  driver: Driver,
  thread: ThreadKey & { readonly epoch: number },
  head: { readonly checkpointId: string; readonly seq: number },
): Promise<{ readonly values: Record<string, unknown> }> {
  const view = { thread, epoch: thread.epoch, headSeq: head.seq, ownSeq: -1 };
  const stored = await driver.read(() => readCheckpoint(view, '', head.checkpointId));
  return { values: stored === undefined ? {} : valuesOf(stored) };
}

/** Channel values as plain JSON. @throws Error when a row that they need is missing or is no JSON */
export function valuesOf(stored: Stored): Record<string, unknown> {
  const chains = new Map(stored.deltas.map((d) => [otherKey(d.channel, d.version), d]));
  const { inline, rows } = stored.body;
  const values: [string, unknown][] = [
    ...Object.entries(inline).map(([channel, [type, text]]): [string, unknown] => [
      channel,
      wholeValue(type, toBytes(text)),
    ]),
    ...Object.entries(rows).map(([channel, version]): [string, unknown] => [
      channel,
      rowValue(walkChain(chains, channel, version)),
    ]),
  ];
  return Object.fromEntries(values.filter(([channel]) => !isInternal(channel)));
}

/** `__start__`, `__pregel_tasks`, `branch:to:model`, `join:a+b:c`. */
const isInternal = (channel: string): boolean => /^(__|branch:|join:)/.test(channel);

function rowValue(walked: readonly StoredDelta[]): unknown {
  const [first] = walked;
  if (first !== undefined && first.type !== 'list') return wholeValue(first.type, first.rest);
  return elementsOf(walked).map(plainOf);
}

/** A list that has only grown, as a chat's has, is parsed at once: a new process takes three times as long for a thousand texts. */
function elementsOf(walked: readonly StoredDelta[]): unknown[] {
  const parse = (text: string): unknown[] => JSON.parse(text) as unknown[];
  const hasOnlyGrown = walked.every(({ keep }, n) => keep === (walked[n - 1]?.length ?? 0));
  return hasOnlyGrown
    ? parse(toText(joinLists(walked.map(({ rest }) => rest))))
    : replay(walked, parse);
}

const wholeValue = (type: string, bytes: Uint8Array): unknown =>
  type === 'bytes' ? Buffer.from(bytes).toString('base64') : plainOf(JSON.parse(toText(bytes)));

/** What LangGraph's serde has marked, as plain data: messages as the wire shows them, everything else by its content. */
function plainOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainOf);
  if (!isPlain(value)) return value;
  if (value.lc === 1 && value.type === 'constructor') return constructed(value);
  if (value.lc === 2) return marked(value);
  if (isPlain(value.__lc_escaped__)) return plainFields(value.__lc_escaped__);
  return plainFields(value);
}

const plainFields = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainOf(inner)]));

/** Message classes by the kind that their `getType()` answers. */
const kinds: Readonly<Record<string, string>> = {
  HumanMessage: 'human',
  AIMessage: 'ai',
  ToolMessage: 'tool',
  SystemMessage: 'system',
  FunctionMessage: 'function',
};

function constructed({ id, kwargs }: Record<string, unknown>): unknown {
  const fields = isPlain(kwargs) ? kwargs : {};
  const [, family, name] = Array.isArray(id) ? (id as unknown[]) : [];
  if (family !== 'messages' || typeof name !== 'string') return plainOf(fields);
  const kind = kinds[name.replace(/Chunk$/, '')];
  return transcriptMessage(kind === undefined ? fields : { ...fields, type: kind }, '');
}

function marked({ type, id, args, value }: Record<string, unknown>): unknown {
  if (type === 'undefined') return undefined;
  if (type === 'delta_snapshot') return plainOf(value);
  const [first, second] = Array.isArray(args) ? (args as unknown[]) : [];
  switch (Array.isArray(id) ? id[0] : undefined) {
    case 'Set':
      return plainOf(first);
    case 'Map':
      return Object.fromEntries(
        (first as [unknown, unknown][]).map(([k, v]) => [String(k), plainOf(v)]),
      );
    case 'RegExp':
      return `/${String(first)}/${String(second)}`;
    case 'Error':
      return { message: first };
    case 'Uint8Array':
      return Buffer.from(first as number[]).toString('base64');
    default:
      return null;
  }
}
