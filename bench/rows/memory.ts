/** What a very long thread costs within its budget: 300 turns with tools, once by summary alone, once with long-term memory. */
import { loadTokenizer } from '../../memory/context/tokens.js';
import { startScriptedModel } from '../../test/support/scripted-model.js';
import { median } from '../load.js';
import { longThread, type LongThread } from '../long-thread.js';
import { agentEnv, startProduct } from '../product.js';
import type { Stage } from '../stage.js';
import { figure, type Table } from '../table.js';

const turns = 300;
const quickTurns = 60;
const windowTurns = 50;
const budgetTokens = 4_000;

export async function memoryTables(stage: Stage): Promise<readonly Table[]> {
  return [
    await play(stage, 'summary alone', {}),
    await play(stage, 'with memory', { user_id: 'u' }),
  ];
}

interface Turn {
  readonly ms: number;
  /** Of all its requests, summaries too. */
  readonly tokens: number;
  readonly requests: number;
}

async function play(stage: Stage, name: string, more: object): Promise<Table> {
  stage.say(`a long thread, ${name}`);
  const script = longThread(await loadTokenizer());
  const model = await startScriptedModel(script.answer);
  stage.parts.add(model, () => model.close());
  const { address } = await stage.temporal();
  const env = { ...agentEnv(model.url), EVERTHREAD_CONTEXT_BUDGET: String(budgetTokens) };
  const product = await startProduct(stage, {
    ...{ name: `memory-${Object.keys(more).length}`, env, temporalAddress: address },
  });
  const played: Turn[] = [];
  for (let n = 1; n <= (stage.quick ? quickTurns : turns); n += 1) {
    const [before, started] = [script.sent.length, performance.now()];
    await product.client.post('/v1/threads/long/turns', { message: script.message(n), ...more });
    const own = script.sent.slice(before);
    played.push({
      ms: performance.now() - started,
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      requests: own.length,
    });
  }
  await product.end();
  return {
    title: `One thread of ${played.length} turns with tools, budget ${budgetTokens} tokens, ${name}: ${outcome(script)}`,
    columns: ['turns', 'ms p50', 'tokens sent, mean', 'requests a turn'],
    rows: windowsOf(played),
  };
}

function windowsOf(played: readonly Turn[]): string[][] {
  const rows: string[][] = [];
  for (let from = 0; from < played.length; from += windowTurns) {
    const some = played.slice(from, from + windowTurns);
    const mean = (of: (turn: Turn) => number): number =>
      some.reduce((sum, turn) => sum + of(turn), 0) / some.length;
    rows.push([
      `${from + 1}-${from + some.length}`,
      figure(median(some.map(({ ms }) => ms))),
      figure(mean(({ tokens }) => tokens)),
      figure(mean(({ requests }) => requests)),
    ]);
  }
  return rows;
}

function outcome({ sent }: LongThread): string {
  const most = Math.max(...sent.map(({ tokens }) => tokens));
  const asked = sent.filter(({ knew }) => knew !== undefined);
  const summaries = sent.filter(({ kind }) => kind === 'summary');
  return [
    `largest request ${most}`,
    `over the budget ${sent.filter(({ tokens }) => tokens > budgetTokens).length} of ${sent.length}`,
    `answered from turn 3 ${asked.filter(({ knew }) => knew).length} of ${asked.length}`,
    `summaries ${summaries.length}`,
  ].join(', ');
}
