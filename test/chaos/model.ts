/** The scripted model with a journal for the checker: which call, on which history. */
import type { ChatRequest } from '../support/chat-request.js';
import { byOptions } from '../support/scripted-answers.js';
import { random } from './random.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';
import { canariesIn, digestOf, threadOfCanary, type ModelCall } from './history.js';

export interface JournaledModel extends ScriptedModel {
  readonly journal: readonly ModelCall[];
}

/** How often the provider's connection breaks: before any answer, and in the middle of one. */
export interface ModelFaults {
  readonly drop: number;
  readonly cut: number;
}

export async function startJournaledModel(
  faults: ModelFaults = { drop: 0, cut: 0 },
  choices = random('model'),
): Promise<JournaledModel> {
  const journal: ModelCall[] = [];
  const model = await startScriptedModel((request, nth) => {
    journal.push(callOf(request));
    const script = byOptions(request, nth);
    const dice = choices.next();
    if (dice < faults.drop) return { kind: 'drop' };
    if (dice > faults.drop + faults.cut || script.kind !== 'reply') return script;
    return { ...script, cut: { afterTokens: 1, how: 'reset' } };
  });
  return { ...model, journal };
}

function callOf({ messages, users, last }: ChatRequest): ModelCall {
  const shown = users.flatMap(canariesIn);
  const all = messages.flatMap(({ text }) => canariesIn(text));
  return {
    atMs: performance.now(),
    step: messages.find(({ role }) => role === 'system')?.text ?? '',
    canary: canariesIn(last)[0] ?? '',
    users: users.length,
    digest: digestOf(shown),
    threads: [...new Set(all.map(threadOfCanary))],
  };
}
