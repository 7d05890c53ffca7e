/** The files of a new project. Pure. */

export interface ProjectNames {
  readonly name: string;
  /** Where npm finds everthread: a version or `file:…`. */
  readonly everthread: string;
}

export const projectFiles = ({ name, everthread }: ProjectNames): Record<string, string> => ({
  'package.json': json({
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: {
      dev: 'everthread dev',
      test: 'node --import tsx --test test/agent.test.ts',
    },
    dependencies: {
      '@langchain/core': '^1.4.0',
      '@langchain/langgraph': '^1.7.3',
      everthread,
      zod: '^4.3.6',
    },
    // npm 11 asks before it runs what a package wants to run: SQLite is built, esbuild is checked. It knows a file or a
    // folder by its place alone.
    allowScripts: {
      'better-sqlite3': true,
      esbuild: true,
      [everthread.startsWith('file:') ? everthread : 'everthread']: false,
    },
    devDependencies: { '@types/node': '^20.19.0', tsx: '^4.20.0', typescript: '^5.9.0' },
  }),
  'langgraph.json': json({
    graphs: { agent: { path: './src/agent.ts:graph', description: 'Books rooms, after asking' } },
    env: '.env',
  }),
  'tsconfig.json': json({
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
    },
    include: ['src', 'test'],
  }),
  '.gitignore': 'node_modules/\n.everthread/\n.env\n',
  '.env': '# Variables of the graphs, such as OPENAI_API_KEY. Not in git.\n',
  'src/agent.ts': agent,
  'test/agent.test.ts': test,
});

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const agent = `import { AIMessage } from '@langchain/core/messages';
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

type State = typeof MessagesAnnotation.State;

const wish = ({ messages }: State): string => messages.at(-1)?.text ?? '';

/** Where a model goes: it sees the whole conversation, and returns the messages that it adds. */
function answer(state: State) {
  return { messages: [new AIMessage(\`You said: \${wish(state)}\`)] };
}

/** Waits for a person. The process may stop meanwhile; the answer may come from another one. */
function book(state: State) {
  const approved = interrupt<unknown, boolean>({ question: \`Shall I do it: \${wish(state)}?\` });
  return { messages: [new AIMessage(approved ? 'It is booked.' : 'I have not booked anything.')] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addNode('book', book)
  .addConditionalEdges(START, (state) => (wish(state).startsWith('book') ? 'book' : 'answer'), [
    'answer',
    'book',
  ])
  .addEdge('answer', END)
  .addEdge('book', END)
  .compile();
`;

const test = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command, MemorySaver } from '@langchain/langgraph';
import { graph } from '../src/agent.js';

const human = (content: string) => ({ messages: [{ role: 'user', content }] });

test('it answers', async () => {
  const { messages } = await graph.invoke(human('hello'));
  assert.equal(messages.at(-1)?.text, 'You said: hello');
});

test('it asks before it books', async () => {
  // everthread gives the graph a checkpointer of its own; a test needs one.
  graph.checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: 'test' } };
  await graph.invoke(human('book a room'), config);
  assert.deepEqual((await graph.getState(config)).next, ['book']);
  const { messages } = await graph.invoke(new Command({ resume: true }), config);
  assert.equal(messages.at(-1)?.text, 'It is booked.');
});
`;
