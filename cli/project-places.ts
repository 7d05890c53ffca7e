/** Where the graphs of a project live, without loading any. */

/** Short name of the task queue of each graph that does not live on the main one. */
export async function placesIn(graphConfig: string | null): Promise<ReadonlyMap<string, string>> {
  if (graphConfig === null) return new Map();
  const { readProjectConfig } = await import('../engine/project/project-config.js');
  const { graphs } = await readProjectConfig(graphConfig);
  return new Map(
    Object.values(graphs).flatMap(({ name, taskQueue: queue }) => (queue ? [[name, queue]] : [])),
  );
}
