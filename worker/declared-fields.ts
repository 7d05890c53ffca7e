/** What a gateway needs to know of typed fields, without loading a graph. */
import type { FieldsSchema } from '../contracts/fields.js';

/** The shipped graph that has them. */
export const intakeName = 'intake';

type Declared = ReadonlyMap<string, FieldsSchema | null>;

/** By graph; null where a project's schema cannot be loaded here. */
export async function fieldsDeclaredBy(
  graphConfig: string | null,
  onTrouble: (what: string) => void,
): Promise<Declared> {
  if (graphConfig === null) {
    const { intakeFields } = await import('../agents/intake/fields.js');
    return new Map([[intakeName, intakeFields]]);
  }
  const { declaredFields } = await import('../engine/project/fields-export.js');
  return await declaredFields(graphConfig, onTrouble);
}

/** Of graphs that are loaded. */
export const fieldsOfGraphs = (
  graphs: ReadonlyMap<string, { readonly fields?: FieldsSchema }>,
): Declared =>
  new Map([...graphs].flatMap(([name, { fields }]) => (fields ? [[name, fields] as const] : [])));
