/** Which texts of a value get a vector: paths as LangGraph documents them for `index` and `fields`. */

/** A text, and the name of the field that it stands in. */
export interface FieldText {
  readonly field: string;
  readonly text: string;
}

/** `$` is the whole value. `a.b`, `list[*].c`, `list[0]`, `list[-1]`, `*` and `{a,b.c}` lead to parts of it. */
export const fieldTexts = (value: unknown, paths: readonly string[]): readonly FieldText[] =>
  paths.flatMap((path) => {
    const texts =
      path === '' || path === '$' ? [whole(value)] : at(value, tokensOf(path)).flatMap(textOf);
    return texts.map((text, i) => ({ field: texts.length === 1 ? path : `${path}.${i}`, text }));
  });

const tokensOf = (path: string): readonly string[] =>
  path.match(/\[[^\]]*\]|\{[^}]*\}|[^.[{]+/g) ?? [];

const whole = (value: unknown): string => JSON.stringify(value, null, 2);

function textOf(value: unknown): readonly string[] {
  if (value === null || value === undefined) return [];
  return [typeof value === 'string' ? value : whole(value)];
}

type Fields = Readonly<Record<string, unknown>>;

function at(value: unknown, [token, ...rest]: readonly string[]): readonly unknown[] {
  if (token === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  if (token.startsWith('['))
    return Array.isArray(value)
      ? elements(value, token.slice(1, -1)).flatMap((e) => at(e, rest))
      : [];
  if (token.startsWith('{'))
    return token
      .slice(1, -1)
      .split(',')
      .flatMap((path) => at(value, tokensOf(path.trim())));
  if (token === '*') return Object.values(value).flatMap((part) => at(part, rest));
  return Object.hasOwn(value, token) ? at((value as Fields)[token], rest) : [];
}

function elements(list: readonly unknown[], which: string): readonly unknown[] {
  if (which === '*') return list;
  const index = Number.parseInt(which, 10);
  const element = list.at(index);
  return Number.isNaN(index) || index >= list.length || element === undefined ? [] : [element];
}
