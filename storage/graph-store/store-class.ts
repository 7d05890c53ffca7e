/** The store that LangGraph calls: a subclass of the project's own base class, with rows of ours behind it (M17). */
import type {
  BaseStore,
  Item,
  Operation,
  OperationResults,
  SearchItem,
} from '@langchain/langgraph-checkpoint';
import { decodeNamespace, encodeNamespace } from './namespace.js';
import type { StoreAnswer, StoredItem, StoreOp } from './port.js';
import { fieldTexts, type FieldText } from './texts.js';

/** The project's own checkpoint module. Before langgraph-checkpoint 0.0.13 it has no store. */
export interface StoreModule {
  readonly BaseStore?: typeof BaseStore;
  readonly validateNamespace?: (
    labels: string[],
    options?: { readonly allowReservedRoot: boolean },
  ) => void;
}

/** How items are found by likeness: `store.index` of langgraph.json. */
export interface StoreIndex {
  /** Names what makes the vectors: those of two models are never compared. */
  readonly model: string;
  readonly dims: number;
  /** Paths in a value; the whole value is one text unless given. */
  readonly fields: readonly string[];
  readonly embed: (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;
  readonly embedQuery: (text: string) => Promise<readonly number[]>;
}

export interface GraphStoreParts {
  /** The rows of the run's tenant. */
  readonly batch: (ops: readonly StoreOp[]) => Promise<readonly StoreAnswer[]>;
  readonly index: StoreIndex | undefined;
}

/** @returns undefined when the project's LangGraph has no stores */
export function makeGraphStore(module: StoreModule, parts: GraphStoreParts): BaseStore | undefined {
  const { BaseStore } = module;
  if (BaseStore === undefined) return undefined;
  class NamespaceStore extends BaseStore {
    override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
      const asked = operations.map((operation) => askedOf(module, operation));
      const answers = await parts.batch(await opsOf(lastPuts(asked), parts.index));
      const reads = answers.filter(({ kind }) => kind !== 'done').values();
      return asked.map((ask) =>
        isPut(ask) ? null : answerOf(reads.next().value),
      ) as OperationResults<Op>;
    }
  }
  return new NamespaceStore();
}

type Put = Extract<Operation, { value: unknown }>;
type Search = Extract<Operation, { namespacePrefix: unknown }>;
/** An operation with its namespace as text. */
type Asked =
  | { readonly kind: 'get'; readonly ns: string; readonly key: string }
  | { readonly kind: 'search'; readonly prefix: string; readonly operation: Search }
  | { readonly kind: 'put'; readonly ns: string; readonly key: string; readonly operation: Put }
  | { readonly kind: 'namespaces'; readonly op: StoreOp };

const isPut = (ask: Asked): boolean => ask.kind === 'put';

/** Told apart by their members, as LangGraph's own store does. @throws Error when a namespace cannot be one */
function askedOf(module: StoreModule, operation: Operation): Asked {
  const named = (labels: string[]): string => {
    module.validateNamespace?.(labels, { allowReservedRoot: true });
    return encodeNamespace(labels);
  };
  if ('namespacePrefix' in operation) {
    const { namespacePrefix: labels } = operation;
    return { kind: 'search', prefix: labels.length === 0 ? '' : named(labels), operation };
  }
  if ('namespace' in operation) {
    const { namespace, key } = operation;
    if (namespace.length === 0) throw new Error('A namespace cannot be empty.');
    const place = { ns: named(namespace), key };
    refuseLong(place);
    return 'value' in operation ? { kind: 'put', ...place, operation } : { kind: 'get', ...place };
  }
  // What comes by `batch` itself may lack what the methods of the class always give.
  const { matchConditions = [], maxDepth, limit, offset } = operation as Partial<typeof operation>;
  return {
    kind: 'namespaces',
    op: {
      kind: 'namespaces',
      conditions: matchConditions,
      maxDepth: maxDepth ?? null,
      limit: limit === undefined ? null : count(limit),
      offset: count(offset ?? 0),
    },
  };
}

/** An index of PostgreSQL takes rows of 2,700 bytes. */
const longestPlace = 2_000;

function refuseLong({ ns, key }: { readonly ns: string; readonly key: string }): void {
  if (typeof key !== 'string' || Buffer.byteLength(ns + key) > longestPlace)
    throw new Error(`A key is a text, and takes at most ${longestPlace} bytes with its namespace.`);
}

/** Of several puts to one place, the last one counts, where the first one stood. */
function lastPuts(asked: readonly Asked[]): readonly Asked[] {
  const puts = new Map<string, Asked>();
  for (const ask of asked) if (ask.kind === 'put') puts.set(`${ask.ns}\u0000${ask.key}`, ask);
  return [...asked.filter((ask) => !isPut(ask)), ...puts.values()];
}

async function opsOf(
  asked: readonly Asked[],
  index: StoreIndex | undefined,
): Promise<readonly StoreOp[]> {
  const vectors = index === undefined ? new Map() : await vectorsOf(asked, index);
  return asked.map((ask) => opOf(ask, index, vectors));
}

/** Vectors by text, of all that a call writes and looks for. */
type Vectors = ReadonlyMap<string, Float32Array>;

async function vectorsOf(asked: readonly Asked[], index: StoreIndex): Promise<Vectors> {
  const queries = new Set(asked.flatMap(queryOf));
  const texts = new Set(asked.flatMap((ask) => textsOf(ask, index).map(({ text }) => text)));
  const [near, made] = await Promise.all([
    Promise.all([...queries].map((query) => index.embedQuery(query))),
    texts.size === 0 ? [] : index.embed([...texts]),
  ]);
  return new Map([
    ...[...texts].map((text, i) => [text, vectorOf(made[i] ?? [], index)] as const),
    ...[...queries].map((query, i) => [queryId(query), vectorOf(near[i] ?? [], index)] as const),
  ]);
}

/** A model may treat a question otherwise than a text of the same words. */
const queryId = (query: string): string => `\u0000${query}`;

const queryOf = (ask: Asked): readonly string[] =>
  ask.kind === 'search' && ask.operation.query ? [ask.operation.query] : [];

function textsOf(ask: Asked, { fields }: StoreIndex): readonly FieldText[] {
  if (ask.kind !== 'put' || ask.operation.value === null) return [];
  const { value, index } = ask.operation;
  return index === false ? [] : fieldTexts(value, index ?? fields);
}

function opOf(ask: Asked, index: StoreIndex | undefined, vectors: Vectors): StoreOp {
  const vectorAt = (id: string) => ({
    model: index?.model ?? '',
    vector: vectors.get(id) ?? new Float32Array(),
  });
  switch (ask.kind) {
    case 'get':
      return ask;
    case 'namespaces':
      return ask.op;
    case 'search': {
      const { filter, limit, offset } = ask.operation;
      const [query] = queryOf(ask);
      const near = index === undefined || query === undefined ? null : vectorAt(queryId(query));
      const page = { limit: count(limit ?? 10), offset: count(offset ?? 0) };
      return { kind: 'search', prefix: ask.prefix, filter: filter ?? null, near, ...page };
    }
    case 'put': {
      const { ns, key, operation } = ask;
      if (operation.value === null) return { kind: 'delete', ns, key };
      if (typeof operation.value !== 'object')
        throw new Error('The value of an item is an object.');
      const texts = index === undefined ? [] : textsOf(ask, index);
      const vectorsOfItem = texts.map(({ field, text }) => ({ field, ...vectorAt(text) }));
      const valueJson = JSON.stringify(operation.value);
      return { kind: 'put', ns, key, valueJson, vectors: vectorsOfItem };
    }
  }
}

/** A provider that sends half of a vector must not go unnoticed: nothing would ever be found. */
function vectorOf(numbers: readonly number[], { model, dims }: StoreIndex): Float32Array {
  if (numbers.length === dims) return Float32Array.from(numbers);
  throw new Error(
    `The embeddings ${model} gave ${numbers.length} dimensions; store.index.dims of langgraph.json says ${dims}.`,
  );
}

const count = (n: number): number =>
  Number.isNaN(n) ? 0 : Math.trunc(Math.min(Math.max(n, 0), Number.MAX_SAFE_INTEGER));

function answerOf(answer: StoreAnswer | undefined): Item | SearchItem[] | string[][] | null {
  switch (answer?.kind) {
    case 'item':
      return answer.item === null ? null : itemOf(answer.item);
    case 'items':
      return answer.items.map((item) => ({
        ...itemOf(item),
        ...(item.score !== undefined && { score: item.score }),
      }));
    case 'namespaces':
      return answer.namespaces.map((labels) => [...labels]);
    case 'done':
    case undefined:
      return null;
  }
}

const itemOf = ({ ns, key, valueJson, createdAtMs, updatedAtMs }: StoredItem): Item => ({
  value: JSON.parse(valueJson) as Item['value'],
  key,
  namespace: decodeNamespace(ns),
  createdAt: new Date(createdAtMs),
  updatedAt: new Date(updatedAtMs),
});
