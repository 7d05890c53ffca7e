/**
 * List elements from their JSON. A chat's list is messages: the project's own serde revives one of each class, and its
 * constructor makes the others, in a seventh of the time. Everything else goes through the serde.
 */
import { isPlain } from './deltas.js';
import { type Serde, toBytes } from './pack.js';

/** How an element comes back: as it is, by a message class, or by the serde. */
export interface RawElement {
  readonly value: unknown;
  readonly by: 'itself' | 'class' | 'serde';
}

/** A message as the serde writes it. */
interface Serialised {
  readonly id: readonly string[];
  readonly kwargs: Record<string, unknown>;
}

type MessageClass = new (fields: Record<string, unknown>) => object;

/** What marks a value that plain JSON cannot hold; inside a string the quotes would be escaped. */
const mark = '"lc":';

/** Fields that a message class takes under the name they are stored by. */
const fields = new Set(
  `content id name type role status artifact example additional_kwargs response_metadata usage_metadata
   tool_calls invalid_tool_calls tool_call_chunks tool_call_id`.split(/\s+/),
);

/** The elements of one stored JSON array. */
export function parseElements(text: string): RawElement[] {
  const values = JSON.parse(text) as unknown[];
  const marks = countMarks(text);
  if (marks === 0) return values.map((value) => ({ value, by: 'itself' }));
  // With one mark per message, no value inside a message needs the serde.
  const by = marks === values.length && values.every(isMessage) ? 'class' : 'serde';
  return values.map((value) => ({ value, by }));
}

function countMarks(text: string): number {
  let count = 0;
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length))
    count += 1;
  return count;
}

export function isMessage(value: unknown): value is Serialised {
  if (!isPlain(value) || value.lc !== 1 || value.type !== 'constructor') return false;
  const { id, kwargs } = value;
  if (!Array.isArray(id) || id[1] !== 'messages' || !isPlain(kwargs)) return false;
  return Object.keys(kwargs).every((key) => fields.has(key));
}

export async function reviveElements(serde: Serde, raw: readonly RawElement[]): Promise<unknown[]> {
  const classes = await classesFor(serde, raw);
  const revived: unknown[] = [];
  for (const { value, by } of raw) {
    const found = by === 'class' ? classes.get(classIdOf(value as Serialised)) : undefined;
    if (by === 'itself') revived.push(value);
    else if (found) revived.push(new found((value as Serialised).kwargs));
    else revived.push(await byReviver(serde, value));
  }
  return revived;
}

const classIdOf = ({ id }: Serialised): string => id.join('/');

const byReviver = (serde: Serde, value: unknown): Promise<unknown> =>
  Promise.resolve(serde.loadsTyped('json', toBytes(JSON.stringify(value))) as unknown);

/** Per serde class, hence per copy of the project's packages; null for a class that only the serde can make. */
const learned = new WeakMap<object, Map<string, MessageClass | null>>();

async function classesFor(
  serde: Serde,
  raw: readonly RawElement[],
): Promise<ReadonlyMap<string, MessageClass | null>> {
  const owner: object = serde.constructor;
  const classes = learned.get(owner) ?? new Map<string, MessageClass | null>();
  learned.set(owner, classes);
  for (const { value, by } of raw) {
    if (by !== 'class') continue;
    const id = classIdOf(value as Serialised);
    if (!classes.has(id)) classes.set(id, await learn(serde, value as Serialised));
  }
  return classes;
}

/** The class is used only if it makes the same message from the same fields. */
async function learn(serde: Serde, sample: Serialised): Promise<MessageClass | null> {
  const revived = await byReviver(serde, sample);
  if (typeof revived !== 'object' || revived === null || isPlain(revived)) return null;
  const made = revived.constructor as MessageClass;
  const twin = new made(structuredClone(sample.kwargs));
  return JSON.stringify(twin) === JSON.stringify(revived) ? made : null;
}
