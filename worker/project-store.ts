/** What langgraph.json says of the graphs' store: how long items live, and how they are found by likeness (M17). */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { z } from 'zod';
import { importGraphExport } from '../engine/project/graph-file.js';
import type { StoreTtl } from '../storage/graph-store/port.js';
import type { StoreIndex } from '../storage/graph-store/store-class.js';

export interface ProjectStore {
  readonly ttl: StoreTtl;
  /** Null when no item has a time of its own, so that there is nothing to sweep. */
  readonly sweepEveryMs: number | null;
  readonly index: StoreIndex | undefined;
}

/** Items that live until they are deleted, found by namespace, key and filter. */
export const plainStore: ProjectStore = {
  ttl: { defaultMs: null, refreshOnRead: false },
  sweepEveryMs: null,
  index: undefined,
};

const minuteMs = 60_000;
/** An item that is over is not read any more; sweeping only gives the room back. */
const defaultSweepMinutes = 5;

const storeSchema = z.looseObject({
  store: z
    .looseObject({
      ttl: z
        .looseObject({
          default_ttl: z.number().positive().nullish(),
          refresh_on_read: z.boolean().default(true),
          sweep_interval_minutes: z.number().positive().nullish(),
        })
        .optional(),
      index: z
        .looseObject({
          dims: z.int().positive(),
          embed: z.string().min(1),
          fields: z.array(z.string().min(1)).min(1).default(['$']),
        })
        .optional(),
    })
    .optional(),
});

/** @throws Error that names langgraph.json and what cannot be used of it */
export async function loadProjectStore(configPath: string): Promise<ProjectStore> {
  const file = path.resolve(configPath);
  const parsed = storeSchema.safeParse(JSON.parse(await readFile(file, 'utf8')));
  if (!parsed.success) {
    const problems = parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`);
    throw new Error(`The store of ${file} cannot be used. ${problems.join('; ')}`);
  }
  const { ttl, index } = parsed.data.store ?? {};
  const sweepMinutes = ttl?.sweep_interval_minutes ?? defaultSweepMinutes;
  return {
    ttl: {
      defaultMs: ttl?.default_ttl == null ? null : ttl.default_ttl * minuteMs,
      refreshOnRead: ttl?.refresh_on_read ?? false,
    },
    sweepEveryMs: ttl === undefined ? null : sweepMinutes * minuteMs,
    index: index && (await loadIndex(path.dirname(file), index)),
  };
}

interface IndexSettings {
  readonly dims: number;
  readonly embed: string;
  readonly fields: readonly string[];
}

async function loadIndex(folder: string, settings: IndexSettings): Promise<StoreIndex> {
  const { embed, dims, fields } = settings;
  try {
    const embeddings = await embeddingsOf(folder, settings);
    return {
      ...{ model: embed, dims, fields },
      embed: (texts) => embeddings.embedDocuments([...texts]),
      embedQuery: (text) => embeddings.embedQuery(text),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`store.index.embed of langgraph.json ("${embed}") cannot be used: ${reason}`, {
      cause: error,
    });
  }
}

/** `./src/embeddings.ts:embeddings`; a provider has no folder and no ending. */
const place = /^(?<file>.*(?:[/\\].*|\.[cm]?[jt]sx?)):(?<exportName>[^:/\\]+)$/;

async function embeddingsOf(
  folder: string,
  { embed, dims }: IndexSettings,
): Promise<EmbeddingsInterface> {
  const { file, exportName } = place.exec(embed)?.groups ?? {};
  if (file === undefined || exportName === undefined) {
    const { createEmbeddings } = await import('../llm/embeddings.js');
    return createEmbeddings(embed, dims);
  }
  const exported = await importGraphExport(folder, { name: 'store.index', file, exportName });
  return asEmbeddings(await exported);
}

/** LangChain's embeddings, or a function from texts to vectors. */
function asEmbeddings(exported: unknown): EmbeddingsInterface {
  if (typeof exported === 'object' && exported !== null && 'embedDocuments' in exported)
    return exported as EmbeddingsInterface;
  if (typeof exported !== 'function')
    throw new Error('the export is neither LangChain embeddings nor a function');
  const embed = exported as (texts: string[]) => Promise<number[][]>;
  return {
    embedDocuments: (texts) => embed(texts),
    embedQuery: async (text) => (await embed([text]))[0] ?? [],
  };
}
