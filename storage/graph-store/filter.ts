/** Filters of a search, with the meaning that LangGraph's own store gives them: fields of the value's first level. */

type Compare = (found: unknown, asked: unknown) => boolean;

const operators: Readonly<Record<string, Compare>> = {
  $eq: (found, asked) => found === asked,
  $ne: (found, asked) => found !== asked,
  $gt: (found, asked) => Number(found) > Number(asked),
  $gte: (found, asked) => Number(found) >= Number(asked),
  $lt: (found, asked) => Number(found) < Number(asked),
  $lte: (found, asked) => Number(found) <= Number(asked),
  $in: (found, asked) => Array.isArray(asked) && asked.includes(found),
  $nin: (found, asked) => !Array.isArray(asked) || !asked.includes(found),
};

export function matches(value: unknown, filter: Readonly<Record<string, unknown>>): boolean {
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.entries(filter).every(([field, asked]) => fits(fields[field], asked));
}

/** An object of operators alone compares; anything else must be the same. */
function fits(found: unknown, asked: unknown): boolean {
  if (typeof asked !== 'object' || asked === null) return found === asked;
  const comparisons = Object.entries(asked);
  if (!comparisons.every(([name]) => Object.hasOwn(operators, name))) return found === asked;
  return comparisons.every(([name, bound]) => operators[name]?.(found, bound));
}
