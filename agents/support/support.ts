/** The support graph: a vague message is asked back, every other one is answered from the documents or not at all (U1-U4). */
import { AIMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import { END, START, StateGraph } from '@langchain/langgraph';
import { speakerOf, textOf } from '../../memory/context/message.js';
import type { MemoryStore } from '../../memory/store.js';
import { memoryNodes } from '../user-memory.js';
import type { AreaShown } from './answer.js';
import { decide, type Decision } from './decide.js';
import type { Library, Passage } from './library.js';
import { phrases } from './phrases.js';
import { SupportInput, SupportOutput, SupportState } from './state.js';
import { createWriter, type Writer, type WriterDeps } from './writer.js';

export interface SupportDeps extends WriterDeps {
  readonly library: Library;
  /** Long-term memory of users; without it, and in turns that name no user, nothing is kept. */
  readonly memory?: MemoryStore;
  readonly now?: () => Date;
}

/** Areas that fit into one question. */
const offeredAreas = 12;

/** The shipped graph. What it decides follows from the thread's state and the documents alone. */
export function createSupport(deps: SupportDeps) {
  const { library } = deps;
  const writer = createWriter(deps);
  const memory = memoryNodes(deps.memory, deps.now);
  const whenAnswered = (_: State, config: RunnableConfig) =>
    memory.isFor(config) ? 'remember' : END;

  return new StateGraph({ state: SupportState, input: SupportInput, output: SupportOutput })
    .addNode('summarise', async (state, config) => {
      const context = await writer.contextOf(state);
      const done = await context.compact(state, await writer.summariser(config), config.signal);
      // A summary that could not be made changes nothing: old messages are left out, the next turn tries again (M7).
      return done?.kind === 'summarised' ? { summary: done.summary } : {};
    })
    .addNode('understand', (state) => ({ ...freshTurn, decision: decisionFor(state, library) }))
    .addNode('reply', ({ decision }) => fixedReply(decision, library))
    .addNode('search', ({ decision, sources }) => ({
      passages: found(decision, library, {
        limit: writer.mostPassages,
        shown: sources.map(({ id }) => id),
      }),
    }))
    .addNode('answer', (state, config) => answer(state, { writer, library }, config))
    .addNode('remember', memory.remember)
    .addConditionalEdges(
      START,
      async (state) => {
        const context = await writer.contextOf(state);
        return context.plan(state).kind === 'summarise' ? 'summarise' : 'understand';
      },
      ['summarise', 'understand'],
    )
    .addEdge('summarise', 'understand')
    .addConditionalEdges(
      'understand',
      ({ decision }) => (decision?.kind === 'look_up' ? 'search' : 'reply'),
      ['search', 'reply'],
    )
    .addEdge('search', 'answer')
    .addConditionalEdges('answer', whenAnswered, ['remember', END])
    .addConditionalEdges('reply', whenAnswered, ['remember', END])
    .addEdge('remember', END)
    .compile({ name: 'support' });
}

type State = typeof SupportState.State;

/** What the turn before said of itself is not said of this one. */
const freshTurn = {
  ...{ clarification_needed: false, memory_updated: false, is_completed: false },
  asked_area: null,
};

const offered = (library: Library) => library.areas().slice(0, offeredAreas);
const titles = (library: Library): string[] => offered(library).map(({ title }) => title);

function decisionFor({ messages, asked_area, category }: State, library: Library): Decision {
  const said = messages.filter((m) => speakerOf(m) === 'user').map(textOf);
  const areas = library.areas();
  return decide({
    message: said.at(-1) ?? '',
    earlier: said.slice(0, -1),
    asked: asked_area,
    answered: areas.some(({ id }) => id === category) ? category : null,
    areas,
  });
}

/** What is said without a look at the documents' text. */
function fixedReply(decision: Decision | null, library: Library) {
  const { whichArea, whatThereIs, ...say } = phrases[decision?.language ?? 'en'];
  if (decision?.kind === 'clarify')
    return {
      messages: [new AIMessage(whichArea(titles(library)))],
      ...{ category: 'unclear', clarification_needed: true, sources: [] },
      asked_area: { offered: offered(library).map(({ id }) => id) },
    };
  const what = decision?.kind === 'say' ? decision.what : 'areas';
  return {
    messages: [new AIMessage(what === 'areas' ? whatThereIs(titles(library)) : say[what])],
    ...{ category: 'other', sources: [], is_completed: true },
  };
}

/** The answer from what was found, or that nothing was. */
async function answer(
  state: State,
  { writer, library }: { readonly writer: Writer; readonly library: Library },
  config: RunnableConfig,
) {
  const { passages } = state;
  const [best] = passages;
  const reply =
    best === undefined
      ? notKnown(state, library)
      : await writer.write(state, areaIn(state, library), config);
  return {
    messages: [reply],
    category: best?.area ?? 'other',
    sources: passages.map(({ id, source, heading }) => ({ id, source, heading })),
    passages: [],
    is_completed: true,
  };
}

/** The passages that the answer is made from; what was shown just before is not "more". */
function found(
  decision: Decision | null,
  library: Library,
  { limit, shown }: { readonly limit: number; readonly shown: readonly number[] },
): readonly Passage[] {
  if (decision?.kind !== 'look_up') return [];
  switch (decision.for) {
    case 'area':
      return library.overview(decision.area).passages.slice(0, 1);
    case 'more': {
      const { terms, area } = decision;
      const wanted = {
        terms,
        english: [],
        englishShare: 0,
        area,
        anyFit: true,
        skip: shown,
      } as const;
      const next = library.search(wanted, limit);
      const all = library.overview(area).passages;
      return next.length > 0 ? next : all.filter(({ id }) => !shown.includes(id)).slice(0, 1);
    }
    case 'question': {
      const { area, mostlyArea, terms, english, englishShare } = decision;
      const wanted = { terms, english, englishShare };
      const near = area === null ? [] : library.search({ ...wanted, area }, limit);
      const passages = near.length > 0 ? near : library.search(wanted, limit);
      if (passages.length > 0) return passages;
      return area !== null && mostlyArea ? library.overview(area).passages.slice(0, 1) : [];
    }
  }
}

/** The area that was asked for as a whole. */
function areaIn({ decision }: State, library: Library): AreaShown | undefined {
  if (decision?.kind !== 'look_up' || decision.for !== 'area') return undefined;
  const area = library.areas().find(({ id }) => id === decision.area);
  return area && { title: area.title, headings: library.overview(area.id).headings };
}

const notKnown = ({ decision }: State, library: Library): AIMessage =>
  new AIMessage(phrases[decision?.language ?? 'en'].notKnown(titles(library)));
