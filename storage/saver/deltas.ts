/**
 * What two versions of a list have in common (DESIGN 8). Pure.
 * Elements that a reducer keeps are the same objects, so identity finds the shared prefix; a fingerprint of each
 * element finds an edit in place.
 */

/** The parts of an element that an edit in place would change; null for an element that shows none. */
export type Print = readonly unknown[] | null;

/** One version of a list as this process knows it. */
export interface KnownList {
  readonly elements: readonly unknown[];
  readonly prints: readonly Print[];
}

/** Element → property → item → field → its fields: reaches the text of a content block and the arguments of a tool call. */
const printDepth = 4;

export function printOf(element: unknown): Print {
  if (typeof element !== 'object' || element === null) return [];
  if (isOpaque(element)) return null;
  const parts: unknown[] = [];
  eachPart(element, printDepth, (part) => {
    parts.push(part);
    return true;
  });
  return parts;
}

/** How many first elements both have, unchanged. */
export function sharedPrefix(known: KnownList, next: readonly unknown[]): number {
  const most = Math.min(known.elements.length, next.length);
  for (let i = 0; i < most; i += 1) {
    if (!Object.is(known.elements[i], next[i]) || !unchanged(next[i], known.prints[i])) return i;
  }
  return most;
}

function unchanged(element: unknown, print: Print | undefined): boolean {
  if (typeof element !== 'object' || element === null) return true;
  if (print === undefined || print === null) return false;
  let at = 0;
  return (
    eachPart(element, printDepth, (part) => Object.is(part, print[at++])) && at === print.length
  );
}

/** Shows `see` each part in a fixed order until it says no. */
function eachPart(value: object, depth: number, see: (part: unknown) => boolean): boolean {
  const keys = Object.keys(value);
  if (!see(keys.length)) return false;
  for (const key of keys) {
    const part = (value as Record<string, unknown>)[key];
    if (!see(part)) return false;
    if (typeof part !== 'object' || part === null || depth === 1) continue;
    // What a message was made from: its values stand in the message's own properties too.
    if (!eachPart(part, key === 'lc_kwargs' ? 1 : depth - 1, see)) return false;
  }
  return true;
}

/** A Map, a Date, a Buffer…: an edit in place leaves no mark on its properties. */
const isOpaque = (value: object): boolean =>
  ArrayBuffer.isView(value) ||
  (Object.keys(value).length === 0 && !Array.isArray(value) && !isPlain(value));

export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
