/** Values as bytes, by the project's own serde, which alone encodes and decodes what a graph made (DESIGN 4). */
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { Unstorable } from '../port.js';

export type Serde = BaseCheckpointSaver['serde'];

/** `json` and `bytes` are the serde's types; `shared` is ours: JSON whose lists begin with a stored list (sharing.ts). */
export interface Packed {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** The serde reads the value before this returns, so a later edit does not change what is written. */
export async function pack(serde: Serde, value: unknown): Promise<Packed> {
  const [type, bytes] = await serde.dumpsTyped(value);
  if (isNotWritten(type, bytes)) throw unstorable();
  return { type, bytes };
}

/** What LangGraph's serde writes in the place of a value that JSON cannot hold (a BigInt, a `toJSON` that throws). */
const notWritten = '"[unable to serialize, circular reference is too complex to analyze]"';

/** JSON has no word for a function or a symbol: the serde then writes nothing, which nobody can read again. */
const isNotWritten = (type: string, bytes: Uint8Array): boolean =>
  type === 'json' &&
  (bytes.length === 0 ||
    (bytes.length === undefinedText.length && toText(bytes) === undefinedText) ||
    (bytes.length === notWritten.length && toText(bytes) === notWritten));
const undefinedText = 'undefined';

const unstorable = (): Error =>
  new Unstorable(
    'the state holds a value that cannot be serialised, such as a BigInt or a function',
  );

/** One element as it stands between the commas of a JSON array. */
export async function packElement(serde: Serde, element: unknown): Promise<Uint8Array> {
  const [type, bytes] = await serde.dumpsTyped([element]);
  if (type !== 'json') throw new Error(`the project's serde wrote an array as "${type}"`);
  if (isNotWritten(type, bytes)) throw unstorable();
  return bytes.subarray(1, bytes.length - 1);
}

const encoder = new TextEncoder();
const [open, comma, close] = ['[', ',', ']'].map((mark) => encoder.encode(mark)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];

/** A JSON array of elements packed one by one. */
export function joinElements(elements: readonly Uint8Array[]): Uint8Array {
  const parts = elements.flatMap((bytes, i) => (i === 0 ? [bytes] : [comma, bytes]));
  return Buffer.concat([open, ...parts, close]);
}

/** One JSON array of the elements of several, each as `joinElements` writes it. */
export const joinLists = (lists: readonly Uint8Array[]): Uint8Array =>
  joinElements(
    lists.filter((bytes) => bytes.length > empty.length).map((bytes) => bytes.subarray(1, -1)),
  );
const empty = '[]';

export const toBytes = (text: string): Uint8Array => encoder.encode(text);
export const toText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
