/** `npm run rehearsal`: the services of docker-compose.yml as processes, real dialogues, and what an operator does meanwhile. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fromDialogues } from '../test/support/scripted-answers.js';
import { startScriptedModel } from '../test/support/scripted-model.js';
import { compareHistories, loadDialogues, playDialogues, turnCount } from './dialogues.js';
import { readCompose, startOrder } from './rehearsal/compose-file.js';
import type { Service } from './rehearsal/compose-file.js';
import { startFront } from './rehearsal/front.js';
import * as play from './rehearsal/play.js';
import * as services from './rehearsal/services.js';
import type { Cast } from './rehearsal/services.js';
import { printed } from './table.js';

/** Dialogues at a time, each on a thread of its own. */
const atOnce = 8;
/** Long enough for turns to be running whenever something happens. */
const modelDelayMs = 800;
/** What takes longer hangs: the whole takes two minutes on two cores that have nothing else to do. */
const limitMs = 420_000;

interface Moment extends play.Happening {
  readonly seconds: number;
  readonly turns: string;
}

const dialogues = loadDialogues();
const turns = turnCount(dialogues);
const startedMs = performance.now();
const say = (line: string): void =>
  console.error(`${((performance.now() - startedMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`);

async function main(): Promise<boolean> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everthread-rehearsal-'));
  const cast = services.emptyCast();
  const answers = fromDialogues(dialogues);
  const model = await startScriptedModel((call, nth) => ({
    ...answers(call, nth),
    delayMs: modelDelayMs,
  }));
  cast.stops.push(
    () => model.close(),
    () => rm(folder, { recursive: true, force: true }),
  );
  try {
    const file = readCompose(await readFile('docker-compose.yml', 'utf8'), {
      EVERTHREAD_MODEL: 'openai:scripted',
      OPENAI_API_KEY: 'rehearsal',
      OPENAI_BASE_URL: model.url,
      LOG_LEVEL: 'info',
    });
    const stage = await startAll(cast, file, folder);
    return await perform(cast, stage);
  } finally {
    await services.stopCast(cast);
  }
}

interface Stage {
  /** Where a client's next request goes. */
  readonly url: () => string;
  readonly databaseUrl: string;
  readonly temporal: Record<string, string>;
}

async function startAll(cast: Cast, file: readonly Service[], folder: string): Promise<Stage> {
  let databaseUrl = '';
  let url: (() => string) | undefined;
  const temporal: Record<string, string> = {};
  for (const service of startOrder(file.filter(({ profiles }) => profiles.length === 0))) {
    say(`starting ${service.name}`);
    if (service.name === 'postgres') databaseUrl = await services.castPostgres(cast, service);
    else if (service.name === 'temporal') await services.castTemporal(cast, service);
    else if (service.name === 'nginx') url = await front(cast, folder);
    else if (!service.ours) cast.notes.push(`${service.name}: not started, only its image has it`);
    else if (staysUp(service))
      await services.addReplicas(cast, service, service.deploy?.replicas ?? 1);
    else await services.runToEnd(cast, service);
    if (service.name === 'worker') Object.assign(temporal, services.temporalOf(cast, service));
  }
  if (url === undefined) throw new Error('the compose file has no nginx');
  return { url, databaseUrl, temporal };
}

const staysUp = ({ command }: Service): boolean =>
  command[0] === 'gateway' || command[0] === 'worker';

/** nginx, or where there is none a client that goes from gateway to gateway. */
async function front(cast: Cast, folder: string): Promise<() => string> {
  const ports = play.replicasOf(cast, 'gateway').map(({ port }) => port);
  const nginx = await startFront(folder, ports);
  if (nginx !== undefined) {
    cast.stops.push(() => nginx.stop());
    cast.notes.push(`nginx: the machine's own at ${nginx.url}, with deploy/nginx/default.conf`);
    return () => nginx.url;
  }
  cast.notes.push('nginx: none on this machine; the client goes from gateway to gateway');
  let next = 0;
  return () => `http://127.0.0.1:${ports[next++ % ports.length] ?? 0}`;
}

async function perform(cast: Cast, stage: Stage): Promise<boolean> {
  const moments: Moment[] = [];
  const wrong: string[] = [];
  let answered = 0;
  let happening = Promise.resolve();
  const waiting = new Set(play.happenings);
  const onTurn = (done: number): void => {
    answered = done;
    if (done % 60 === 0) say(`${done} of ${turns} turns`);
    for (const next of waiting) {
      if (done < next.afterShare * turns) continue;
      waiting.delete(next);
      happening = happening.then(async () => {
        say(next.what);
        const [from, fromMs] = [answered, performance.now()];
        wrong.push(...(await next.happen(cast)));
        const seconds = (performance.now() - fromMs) / 1_000;
        moments.push({ ...next, seconds, turns: `${from}-${answered}` });
      });
    }
  };
  const played = await playDialogues({ url: stage.url, dialogues, atOnce, onTurn });
  await happening;
  if (moments.length < play.happenings.length) wrong.push('not everything happened');
  wrong.push(...(await compareHistories(stage.url(), dialogues)));
  wrong.push(...(await play.brokenTurns(stage.databaseUrl, turns)));
  wrong.push(...(await play.fsckFindings(stage.databaseUrl, stage.temporal)));
  report(cast, moments, [
    ['turns answered', `${played.turns} of ${turns}`],
    ['time', `${(played.ms / 1_000).toFixed(1)} s`],
    ['requests sent again', String(played.repeats)],
    ['violations', String(wrong.length)],
  ]);
  for (const line of wrong) console.log(`VIOLATION ${line}`);
  return wrong.length === 0 && played.turns === turns;
}

function report(cast: Cast, moments: readonly Moment[], totals: readonly string[][]): void {
  const happened = moments.map(({ what, seconds, turns: during }) => [
    what,
    `${seconds.toFixed(1)} s`,
    during,
  ]);
  const columns = ['while the dialogues ran', 'took', 'turns'];
  for (const note of cast.notes) console.log(note);
  console.log(`\n${printed({ title: 'Rehearsal', columns, rows: happened })}`);
  console.log(printed({ title: 'Afterwards', columns: ['what', 'result'], rows: totals }));
}

// What this one started ends with it (each has an exit handler), also when it is told to stop.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const late = setTimeout(() => {
  console.error(`VIOLATION not over after ${limitMs / 1_000} s`);
  process.exit(1); // every process here ends with this one
}, limitMs);
try {
  process.exitCode = (await main()) ? 0 : 1;
} finally {
  clearTimeout(late);
}
