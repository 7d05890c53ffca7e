/** Plain JSON of whatever a graph keeps in its state. Pure. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Turns an object of a known class into JSON; undefined leaves it to the general rules. */
export type Special = (value: object) => Json | undefined;

const none: Special = () => undefined;

/** Text that every database and JSON reader takes: well-formed and without NUL. */
export const cleanText = (text: string): string =>
  text.toWellFormed().replaceAll('\u0000', '\uFFFD');

/**
 * Keys sorted, so that equal states give equal bytes. Dates become ISO strings, Maps objects, Sets arrays, bytes base64;
 * functions and undefined disappear, as in `JSON.stringify`; what contains itself becomes null there.
 */
export function toJson(value: unknown, special: Special = none): Json {
  return convert(value, special, new Set()) ?? null;
}

export const canonicalJson = (value: unknown, special: Special = none): string =>
  JSON.stringify(toJson(value, special));

function convert(value: unknown, special: Special, above: Set<object>): Json | undefined {
  switch (typeof value) {
    case 'string':
      return cleanText(value);
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'bigint':
      return value.toString();
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined;
    case 'object':
      if (value === null || above.has(value)) return null;
      above.add(value);
      try {
        return special(value) ?? convertObject(value, special, above);
      } finally {
        above.delete(value);
      }
  }
}

function convertObject(value: object, special: Special, above: Set<object>): Json | undefined {
  const inner = (v: unknown): Json | undefined => convert(v, special, above);
  if (Array.isArray(value)) return value.map((v) => inner(v) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Map)
    return record(
      [...value].map(([k, v]) => [String(k), v]),
      inner,
    );
  if (value instanceof Set) return [...value].map((v) => inner(v) ?? null);
  if (value instanceof Error) return { name: value.name, message: cleanText(value.message) };
  if (value instanceof RegExp) return value.toString();
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const shown = (value as { toJSON: () => unknown }).toJSON();
    if (shown !== value) return inner(shown);
  }
  return record(Object.entries(value), inner);
}

function record(
  entries: readonly (readonly [string, unknown])[],
  inner: (v: unknown) => Json | undefined,
): Json {
  const kept: [string, Json][] = [];
  for (const [key, value] of entries) {
    const json = inner(value);
    if (json !== undefined) kept.push([cleanText(key), json]);
  }
  // fromEntries makes own properties, also of a key such as __proto__.
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
