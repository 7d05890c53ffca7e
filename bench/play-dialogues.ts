/** `npm run dialogues`: plays real dialogues against a whole system and says whether every history equals its dialogue. */
import { parseArgs } from 'node:util';
import { startTestTemporal } from '../test/support/temporal-server.js';
import { atOnce, dialoguesOnPostgres, dialoguesOnSqlite } from './dialogue-runs.js';
import type { DialogueRun, DialogueRunOptions } from './dialogue-runs.js';
import { loadDialogues, turnCount } from './dialogues.js';
import { startPostgres } from './postgres.js';

const help = `npm run dialogues -- [--storage sqlite|postgres] [--kill]

  --storage   sqlite (default): one process; postgres: a gateway and two workers
  --kill      kill -9 and restart a process (sqlite: the only one; postgres: a worker) after every 60 turns`;

const killEvery = 60;
/** Progress after so many turns. */
const sayEvery = 40;

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      storage: { type: 'string', default: 'sqlite' },
      kill: { type: 'boolean', default: false },
    },
  });
  if (values.help === true) {
    console.log(help);
    return true;
  }
  const { storage } = values;
  if (storage !== 'sqlite' && storage !== 'postgres')
    throw new Error(`--storage is sqlite or postgres, not ${storage}.`);
  const dialogues = loadDialogues();
  const turns = turnCount(dialogues);
  console.error(`${dialogues.length} dialogues, ${turns} turns, ${atOnce} at a time, ${storage}`);
  const temporal = await startTestTemporal();
  try {
    const run = await play(storage, {
      dialogues,
      temporalAddress: temporal.address,
      ...(values.kill && { killEvery }),
      onTurn: (done) => {
        if (done % sayEvery === 0) console.error(`${done} turns`);
      },
    });
    const seconds = run.ms / 1_000;
    console.log(
      [
        `turns          ${run.turns} of ${turns}`,
        `time           ${seconds.toFixed(1)} s, ${(run.turns / seconds).toFixed(1)} turns/s`,
        `repeats        ${run.repeats}`,
        `kills          ${run.kills}`,
        `model calls    ${run.modelCalls}`,
        `histories      ${run.wrong.length === 0 ? 'all equal their dialogues' : run.wrong.join('; ')}`,
      ].join('\n'),
    );
    return run.turns === turns && run.wrong.length === 0;
  } finally {
    await temporal.stop();
  }
}

async function play(
  storage: 'sqlite' | 'postgres',
  options: DialogueRunOptions,
): Promise<DialogueRun> {
  if (storage === 'sqlite') return await dialoguesOnSqlite(options);
  const postgres = await startPostgres();
  try {
    return await dialoguesOnPostgres({ ...options, postgresUrl: `${postgres.url}/postgres` });
  } finally {
    await postgres.stop();
  }
}

process.exitCode = (await main()) ? 0 : 1;
