/** Episodes: what was asked, which tools were called, how it ended. Those that went well are shown again as examples (M13). */
import { z } from 'zod';
import { headOf } from '../context/cut-text.js';
import { callsOf, speakerOf, textOf, type MessageLike } from '../context/message.js';
import { jsonOf } from '../context/tokens.js';
import type { Exchange } from '../context/view.js';
import { suspicionsOf } from '../facts/suspicion.js';
import { maskVersion, type Mask } from '../pii/mask.js';

const stepSchema = z.strictObject({
  tool: z.string().max(200),
  /** Masked JSON of the arguments, cut. */
  args: z.string().max(400),
  ok: z.boolean(),
});

/** One task and how it went. All text is masked. */
export const episodeSchema = z.strictObject({
  id: z.string().min(1),
  threadId: z.string(),
  task: z.string().min(1).max(600),
  steps: z.array(stepSchema).max(20),
  outcome: z.enum(['succeeded', 'failed']),
  /** The answer of a success; what went wrong of a failure. */
  result: z.string().max(600),
  recordedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  maskVersion: z.int(),
});
/** One task and how it went. */
export type Episode = z.output<typeof episodeSchema>;

/** Ways of doing things age: tools and rules change. */
const episodeLifeMs = 180 * 24 * 60 * 60 * 1_000;
const taskChars = 600;
const argsChars = 400;
const mostSteps = 20;

/** What a caller adds: pure code has no clock and no ids. */
export interface EpisodeFrom {
  readonly id: string;
  readonly now: string;
  readonly threadId: string;
  readonly mask: Mask;
}

/**
 * The episode of a finished exchange; undefined when no tool was called (there is nothing to learn), when it has not ended,
 * or when the task itself gives orders that must not be repeated to a model.
 */
export function episodeOf(
  { steps }: Exchange<MessageLike>,
  { id, now, threadId, mask }: EpisodeFrom,
): Episode | undefined {
  const messages = steps.flat().map(({ message }) => message);
  const [first] = messages;
  const last = messages.at(-1);
  if (first === undefined || last === undefined || speakerOf(first) !== 'user') return undefined;
  const clean = (text: string, chars: number) => headOf(mask(text).text, chars);
  const task = clean(textOf(first), taskChars);
  const taken = steps.flatMap((step) =>
    stepsTaken(
      step.map((s) => s.message),
      clean,
    ),
  );
  if (task.trim() === '' || taken.length === 0 || suspicionsOf(task).includes('instruction'))
    return undefined;
  const answered = speakerOf(last) === 'assistant' && callsOf(last).length === 0;
  if (!answered && taken.at(-1)?.ok !== false) return undefined;
  const succeeded = answered && taken.at(-1)?.ok === true;
  return {
    id,
    threadId,
    task,
    steps: taken.slice(-mostSteps),
    outcome: succeeded ? 'succeeded' : 'failed',
    result: clean(textOf(last), taskChars),
    recordedAt: now,
    expiresAt: new Date(Date.parse(now) + episodeLifeMs).toISOString(),
    maskVersion,
  };
}

function stepsTaken(
  messages: readonly MessageLike[],
  clean: (text: string, chars: number) => string,
): Episode['steps'] {
  return messages.flatMap((message) =>
    callsOf(message).map(({ id, name, args }) => {
      const result = messages.find((m) => m.tool_call_id === id);
      return {
        tool: name.slice(0, 200),
        args: clean(jsonOf(args), argsChars),
        ok: result !== undefined && !hasFailed(result),
      };
    }),
  );
}

const hasFailed = (result: MessageLike): boolean =>
  ('status' in result && result.status === 'error') ||
  /^\s*(error|exception)\b/i.test(textOf(result));

/** Two examples show a way; more only take room. */
const mostExamples = 2;

/** Successes as quoted examples; failures with what went wrong are for people, not for prompts. */
export function examplesText(episodes: readonly Episode[]): string {
  return episodes
    .filter((e) => e.outcome === 'succeeded')
    .slice(0, mostExamples)
    .map(({ task, steps, result }) =>
      JSON.stringify({ task, tools: steps.map(({ tool, args }) => `${tool}(${args})`), result }),
    )
    .map((json) => `Example of an earlier task: ${json}`)
    .join('\n');
}
