// Loads a project with the built product, as plain Node does, and says what it found. Run as a child: it changes the process.
import { pathToFileURL } from 'node:url';

const [dist, configPath] = process.argv.slice(2);
const { loadProject } = await import(pathToFileURL(`${dist}/engine/project/load-project.js`).href);
const { ownModules } = await import(pathToFileURL(`${dist}/engine/project/modules.js`).href);
const ours = await ownModules();
try {
  const project = await loadProject(configPath, { env: process.env });
  const graphs = {};
  for (const [name, { graph, modules, description, factory }] of project.graphs) {
    const input = { messages: [new modules.messages.HumanMessage('hi')] };
    const saver = new modules.checkpoint.MemorySaver();
    const configurable = { thread_id: 't', __pregel_checkpointer: saver };
    const { messages } = await graph.invoke(input, { configurable });
    const reply = messages.at(-1);
    graphs[name] = {
      text: reply.text,
      description,
      factory: factory !== undefined,
      ownMessage: reply instanceof modules.messages.AIMessage,
      ourCopy: modules.langgraph.StateGraph === ours.langgraph.StateGraph,
      ownBuilder:
        graph.builder === undefined || graph.builder instanceof modules.langgraph.StateGraph,
      ownSaver: modules.langgraph.BaseCheckpointSaver === modules.checkpoint.BaseCheckpointSaver,
    };
  }
  const { failures, warnings, workingDirectory, defaultGraph, modules } = project;
  const report = { graphs, warnings, workingDirectory, defaultGraph: defaultGraph?.name };
  console.log(
    JSON.stringify({
      ...report,
      failures: failures.map((f) => f.message),
      versions: modules.versions,
    }),
  );
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
