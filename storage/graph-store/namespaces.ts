/** Which namespaces hold something. */
import { query, type Tx } from '../tx.js';
import { alive } from './item-rows.js';
import { decodeNamespace, encodeNamespace, rangeOf } from './namespace.js';
import type { NamespaceCondition, StoreOp } from './port.js';

type Ask = Extract<StoreOp, { kind: 'namespaces' }>;

export function* listNamespaces(
  tenant: string,
  { conditions, maxDepth, limit, offset }: Ask,
): Tx<readonly (readonly string[])[]> {
  const range = rangeOf(sharedPrefix(conditions));
  const rows = yield* query<{ ns: string }>(
    `SELECT DISTINCT ns FROM et_store_items
     WHERE tenant = $1 AND ${alive} ${range === undefined ? '' : 'AND ns >= $2 AND ns < $3'}`,
    tenant,
    ...(range ?? []),
  );
  const found = rows
    .map(({ ns }) => decodeNamespace(ns))
    .filter((labels) => conditions.every((condition) => meets(labels, condition)))
    .map((labels) => labels.slice(0, maxDepth ?? undefined));
  const distinct = new Map(found.map((labels) => [labels.join(':'), labels]));
  const sorted = [...distinct].sort(([a], [b]) => a.localeCompare(b)).map(([, labels]) => labels);
  return sorted.slice(offset, limit === null ? undefined : offset + limit);
}

/** Up to its first wildcard, a prefix saves reading the others. */
function sharedPrefix(conditions: readonly NamespaceCondition[]): string {
  const path = conditions.find(({ matchType }) => matchType === 'prefix')?.path ?? [];
  const wild = path.indexOf('*');
  return encodeNamespace(wild === -1 ? path : path.slice(0, wild));
}

function meets(labels: readonly string[], { matchType, path }: NamespaceCondition): boolean {
  if (matchType !== 'prefix' && matchType !== 'suffix')
    throw new Error(`There is no condition "${matchType}" on namespaces.`);
  const from = matchType === 'prefix' ? 0 : labels.length - path.length;
  return (
    path.length <= labels.length &&
    path.every((label, i) => label === '*' || label === labels[from + i])
  );
}
