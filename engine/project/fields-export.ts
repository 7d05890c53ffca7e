import { fieldsChannel, isFieldsSchema, type FieldsSchema } from '../../contracts/fields.js';
import { isDelta } from './graph-export.js';
import { importGraphExport } from './graph-file.js';
import { readProjectConfig, type GraphSpec } from './project-config.js';
import type { PregelGraph } from './types.js';

/**
 * Imports the schema that a graph of langgraph.json names; undefined when it names none.
 * @param loading which loading of the project this is (loadings.ts)
 * @throws Error with the cause in words
 */
export async function loadFields(
  folder: string,
  { name, fields }: Pick<GraphSpec, 'name' | 'fields'>,
  loading = 0,
): Promise<FieldsSchema | undefined> {
  if (fields === undefined) return undefined;
  const exported = await importGraphExport(folder, { name, ...fields }, loading);
  if (!isFieldsSchema(exported)) {
    throw new Error(`its fields ("${fields.exportName}" of ${fields.file}) are no zod object`);
  }
  return exported;
}

/** @throws Error when the graph's state cannot hold fields */
export function checkFieldsChannel({ channels }: PregelGraph): void {
  const channel = channels[fieldsChannel];
  if (channel === undefined) {
    throw new Error(`it declares fields, and its state has no channel "${fieldsChannel}"`);
  }
  // Its value is rebuilt from writes of nodes, and a field is written by none.
  if (isDelta(channel)) {
    throw new Error(`its channel "${fieldsChannel}" is a DeltaChannel, which cannot hold fields`);
  }
}

/**
 * What a gateway needs to know of each graph's fields, without loading a graph: the schemas' own modules alone. Null where
 * one cannot be loaded here.
 */
export async function declaredFields(
  configPath: string,
  onTrouble: (what: string) => void,
): Promise<ReadonlyMap<string, FieldsSchema | null>> {
  const { folder, graphs } = await readProjectConfig(configPath);
  const declared = new Map<string, FieldsSchema | null>();
  for (const spec of Object.values(graphs).filter(({ fields }) => fields !== undefined)) {
    try {
      declared.set(spec.name, (await loadFields(folder, spec)) ?? null);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      onTrouble(
        `The fields of graph "${spec.name}" cannot be loaded here, so the worker alone checks them: ${reason}`,
      );
      declared.set(spec.name, null);
    }
  }
  return declared;
}
