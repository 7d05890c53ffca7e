/** How values become text in a row: repaired, and canonical, so that a replay is the same bytes. */

/** PostgreSQL stores no NUL and no lone surrogate; a model's output may hold both, and a reply must not be lost for it. */
export const repairText = (text: string): string =>
  text.toWellFormed().replaceAll('\u0000', '\ufffd');

/** JSON text with sorted keys and repaired strings. Undefined members are left out, as in `JSON.stringify`. */
export function canonicalJson(value: unknown): string {
  return write(value) ?? 'null';
}

/** The same for text that is JSON already. */
export const canonicalText = (json: string): string => canonicalJson(JSON.parse(json));

function write(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(repairText(value));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item) ?? 'null').join(',')}]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    return write((value.toJSON as () => unknown)());
  }
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, member]) => {
      const text = write(member);
      return text === undefined ? [] : [`${JSON.stringify(repairText(name))}:${text}`];
    });
  return `{${members.join(',')}}`;
}
