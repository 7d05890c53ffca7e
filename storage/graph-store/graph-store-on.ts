/** The items of graphs' stores over a driver (M17). */
import type { Driver, Tx } from '../tx.js';
import { deleteItem, keepAlive, readItem, sweepItems, writeItem } from './item-rows.js';
import { listNamespaces } from './namespaces.js';
import type { GraphStoreRows, StoreAnswer, StoredItem, StoreOp, StoreTtl } from './port.js';
import { searchItems } from './search.js';

export const graphStoreOn = (driver: Driver): GraphStoreRows => ({
  batch: (tenant, ops, ttl) => {
    const body = (): Tx<readonly StoreAnswer[]> => batch(tenant, ops, ttl);
    return writes(ops, ttl) ? driver.write(body) : driver.read(body);
  },
  sweep: (limit) => driver.write(() => sweepItems(limit)),
});

const isWrite = ({ kind }: StoreOp): boolean => kind === 'put' || kind === 'delete';

const writes = (ops: readonly StoreOp[], { defaultMs, refreshOnRead }: StoreTtl): boolean =>
  ops.some(
    (op) => isWrite(op) || (op.kind !== 'namespaces' && defaultMs !== null && refreshOnRead),
  );

function* batch(
  tenant: string,
  ops: readonly StoreOp[],
  ttl: StoreTtl,
): Tx<readonly StoreAnswer[]> {
  const answers: StoreAnswer[] = [];
  for (const op of ops) answers.push(yield* read(tenant, op));
  if (ttl.defaultMs !== null && ttl.refreshOnRead) {
    for (const item of answers.flatMap(itemsOf)) yield* keepAlive(tenant, item, ttl.defaultMs);
  }
  for (const op of ops) {
    if (op.kind === 'put') yield* writeItem(tenant, op, ttl);
    else if (op.kind === 'delete') yield* deleteItem(tenant, op.ns, op.key);
  }
  return answers;
}

function* read(tenant: string, op: StoreOp): Tx<StoreAnswer> {
  switch (op.kind) {
    case 'get':
      return { kind: 'item', item: yield* readItem(tenant, op.ns, op.key) };
    case 'search':
      return { kind: 'items', items: yield* searchItems(tenant, op) };
    case 'namespaces':
      return { kind: 'namespaces', namespaces: yield* listNamespaces(tenant, op) };
    case 'put':
    case 'delete':
      return { kind: 'done' };
  }
}

function itemsOf(answer: StoreAnswer): readonly StoredItem[] {
  switch (answer.kind) {
    case 'item':
      return answer.item === null ? [] : [answer.item];
    case 'items':
      return answer.items;
    case 'namespaces':
    case 'done':
      return [];
  }
}
