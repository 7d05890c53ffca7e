/**
 * Items of graphs' own stores (LangGraph's `BaseStore`): per tenant, which no graph sees. They belong to their namespaces and
 * not to a thread: a run writes at once, whether or not its turn commits, and deleting a thread leaves them (M17).
 * Everything here is data: a graph in another thread asks for the same.
 */

/** What one call asks. Namespaces are text of `namespace.ts`, values JSON. */
export type StoreOp =
  | { readonly kind: 'get'; readonly ns: string; readonly key: string }
  | {
      readonly kind: 'search';
      /** Items of this namespace and of those below it. */
      readonly prefix: string;
      readonly filter: Readonly<Record<string, unknown>> | null;
      readonly limit: number;
      readonly offset: number;
      /** Ranks by likeness to it; null keeps the order of writing. */
      readonly near: StoreVector | null;
    }
  | {
      readonly kind: 'put';
      readonly ns: string;
      readonly key: string;
      readonly valueJson: string;
      readonly vectors: readonly (StoreVector & { readonly field: string })[];
    }
  | { readonly kind: 'delete'; readonly ns: string; readonly key: string }
  | {
      readonly kind: 'namespaces';
      readonly conditions: readonly NamespaceCondition[];
      readonly maxDepth: number | null;
      /** Null for all. */
      readonly limit: number | null;
      readonly offset: number;
    };

/** A vector and what made it: those of two models are never compared. */
export interface StoreVector {
  readonly model: string;
  readonly vector: Float32Array;
}

/** `*` stands for any label. */
export interface NamespaceCondition {
  readonly matchType: string;
  readonly path: readonly string[];
}

export interface StoredItem {
  readonly ns: string;
  readonly key: string;
  readonly valueJson: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Of a ranked search; undefined for an item without a vector. */
  readonly score?: number;
}

export type StoreAnswer =
  | { readonly kind: 'item'; readonly item: StoredItem | null }
  | { readonly kind: 'items'; readonly items: readonly StoredItem[] }
  | { readonly kind: 'namespaces'; readonly namespaces: readonly (readonly string[])[] }
  | { readonly kind: 'done' };

/** How long items live: `store.ttl` of langgraph.json. */
export interface StoreTtl {
  /** Of an item that is written from now on; null for ever. */
  readonly defaultMs: number | null;
  /** Being read counts as being written. */
  readonly refreshOnRead: boolean;
}

/** Items of all tenants. */
export interface GraphStoreRows {
  /**
   * Runs operations in one transaction: what reads sees the state before what writes, wherever it stands, as in LangGraph's
   * own store.
   * @returns an answer for each operation, in their order
   */
  batch(tenant: string, ops: readonly StoreOp[], ttl: StoreTtl): Promise<readonly StoreAnswer[]>;
  /** Removes items whose time is over, at most `limit`. @returns how many it removed */
  sweep(limit: number): Promise<number>;
}
