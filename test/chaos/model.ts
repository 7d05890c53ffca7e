/** The scripted model with a journal for the checker: which call, on which history. */
import type { ChatRequest } from '../support/chat-request.js';
import { byOptions } from '../support/scripted-answers.js';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';
import { canariesIn, digestOf, threadOfCanary, type ModelCall } from './history.js';

export interface JournaledModel extends ScriptedModel {
  readonly journal: readonly ModelCall[];
}

export async function startJournaledModel(): Promise<JournaledModel> {
  const journal: ModelCall[] = [];
  const model = await startScriptedModel((request, nth) => {
    journal.push(callOf(request));
    return byOptions(request, nth);
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
