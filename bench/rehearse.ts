/** `npm run rehearsal`: the services of docker-compose.yml on hosts of their own, real dialogues, and what happens meanwhile. */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { fromDialogues } from '../test/support/scripted-answers.js';
import { startScriptedModel } from '../test/support/scripted-model.js';
import { compareHistories, loadDialogues, turnCount } from './dialogues.js';
import * as real from './rehearsal/cast-real.js';
import { brokenPromises, fsckFindings, watchRows } from './rehearsal/checks.js';
import { PlayLog, playThrough } from './rehearsal/clients.js';
import { readCompose, startOrder } from './rehearsal/compose-file.js';
import type { Service } from './rehearsal/compose-file.js';
import { startFront } from './rehearsal/front.js';
import { makeHosts, whyNoHosts } from './rehearsal/hosts.js';
import * as play from './rehearsal/play.js';
import { scoreOf } from './rehearsal/score.js';
import type { Span } from './rehearsal/score.js';
import * as services from './rehearsal/services.js';
import type { Cast } from './rehearsal/services.js';
import { printed } from './table.js';

/** Dialogues at a time, each on a thread of its own. */
const atOnce = 8;
/** As a model that thinks: turns are running whenever something happens, and the dialogues last until all has happened. */
const modelDelayMs = 4_500;
/** When all has happened, the rest need not take as long. */
const hurriedDelayMs = 200;
/** The compose file has two: with a third, a lost one leaves two. */
const workers = 3;
/** Of each process, when the rehearsal breaks off. */
const lastWordsChars = 3_000;
/** What takes longer hangs: the whole takes five minutes on two cores that have nothing else to do. */
const limitMs = 570_000;

const dialogues = loadDialogues();
const turns = turnCount(dialogues);
const startedMs = performance.now();
const say = (line: string): void =>
  console.error(`${((performance.now() - startedMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`);

async function main(programs: real.Real): Promise<boolean> {
  const alone = whyNoHosts();
  if (alone !== undefined) say(`no hosts, so no partitions: ${alone}; plain processes instead`);
  const cast = services.emptyCast(alone === undefined ? makeHosts() : undefined);
  const answers = fromDialogues(dialogues);
  let delayMs = modelDelayMs;
  const model = await startScriptedModel(
    (call, nth) => ({ ...answers(call, nth), delayMs }),
    0,
    cast.hosts?.self.address,
  );
  cast.stops.push(() => model.close());
  try {
    const file = readCompose(await readFile('docker-compose.yml', 'utf8'), {
      EVERTHREAD_MODEL: 'openai:scripted',
      OPENAI_API_KEY: 'rehearsal',
      OPENAI_BASE_URL: model.url,
      LOG_LEVEL: 'info',
    });
    const stage = await startAll(cast, file, programs);
    return await perform(stage, () => (delayMs = hurriedDelayMs));
  } catch (error) {
    for (const { name, proc } of cast.replicas)
      console.error(`--- ${name}\n${proc()?.log().slice(-lastWordsChars) ?? 'never started'}`);
    throw error;
  } finally {
    await services.stopCast(cast);
  }
}

interface Stage extends play.Stage {
  /** Where a client's next request goes. */
  readonly url: () => string;
  readonly databaseUrl: string;
  readonly environment: Record<string, string>;
  readonly programs: real.Real;
}

async function startAll(cast: Cast, file: readonly Service[], programs: real.Real): Promise<Stage> {
  let database: Awaited<ReturnType<typeof services.castPostgres>> | undefined;
  let temporal: play.Stage['temporal'] | undefined;
  let url: (() => string) | undefined;
  const environment: Record<string, string> = {};
  for (const service of startOrder(file.filter(({ profiles }) => profiles.length === 0))) {
    say(`starting ${service.name}`);
    if (service.name === 'postgres') database = await services.castPostgres(cast, service);
    else if (service.name === 'temporal')
      temporal = await real.castTemporal(cast, service, programs, database?.url ?? '');
    else if (service.name === 'temporal-schema')
      continue; // comes with the server
    else if (service.name === 'temporal-ui') await real.castUi(cast, service, programs);
    else if (service.name === 'prometheus') await real.castPrometheus(cast, service, programs);
    else if (service.name === 'nginx') url = await front(cast);
    else if (!service.ours) cast.notes.push(`${service.name}: not started, only its image has it`);
    else if (service.name === 'worker') {
      await services.addReplicas(cast, service, workers, play.firstBuild);
      await play.sendTurnsTo(cast, play.firstBuild);
      Object.assign(environment, services.temporalOf(cast, service));
    } else if (service.command[0] === 'gateway')
      await services.addReplicas(cast, service, service.deploy?.replicas ?? 1);
    else await services.runToEnd(cast, service);
  }
  if (url === undefined || database === undefined || temporal === undefined)
    throw new Error('the compose file has no nginx, no postgres or no temporal');
  const { url: databaseUrl, host } = database;
  return {
    cast,
    log: new PlayLog(),
    database: host,
    temporal,
    url,
    databaseUrl,
    environment,
    programs,
  };
}

/** nginx, or where there is none a client that goes from gateway to gateway. */
async function front(cast: Cast): Promise<() => string> {
  const gateways = play
    .replicasOf(cast, 'gateway')
    .map(({ host, port }) => `${host.address}:${port}`);
  const folder = await services.folderOf(cast);
  const nginx = await startFront(folder, gateways, services.hostFor(cast, 'nginx'));
  if (nginx !== undefined) {
    cast.stops.push(() => nginx.stop());
    cast.notes.push(`nginx: the machine's own at ${nginx.url}, with deploy/nginx/default.conf`);
    return () => nginx.url;
  }
  cast.notes.push('nginx: none on this machine; the client goes from gateway to gateway');
  let next = 0;
  return () => `http://${gateways[next++ % gateways.length] ?? ''}`;
}

interface Played {
  readonly what: string;
  readonly span: Span;
  readonly outcome: play.Outcome;
}

async function perform(stage: Stage, hurry: () => void): Promise<boolean> {
  await watchRows(stage.databaseUrl);
  const { log, url } = stage;
  const onTurn = (done: number): void => {
    if (done % 40 === 0) say(`${done} of ${turns} turns`);
  };
  const fromMs = performance.now();
  const playing = playThrough({ url, dialogues, atOnce, log, onTurn });
  const played: Played[] = [];
  try {
    await Promise.all([playing, happenAll(stage, played).finally(hurry)]);
  } catch (error) {
    report(stage, played, ['it broke off here']);
    throw error;
  }
  const all = { what: 'all', span: { fromMs, toMs: performance.now() }, outcome: {} };
  say('checking what is left');
  const wrong = [
    ...played.flatMap(({ outcome }) => outcome.wrong ?? []),
    ...(await compareHistories(url(), dialogues)),
    ...(await brokenPromises(stage.databaseUrl, log.ops, turns)),
    ...(await fsckFindings(stage.databaseUrl, stage.environment)),
    ...(await real.missed(
      stage.programs,
      stage.environment.TEMPORAL_NAMESPACE ?? '',
      dialogues.length,
    )),
  ];
  report(stage, [...played, all], wrong);
  return wrong.length === 0;
}

/** One after the other, while turns run. @throws when the turns were over before */
async function happenAll(stage: Stage, played: Played[]): Promise<void> {
  for (const { what, partition, happen } of play.phases) {
    if (partition === true && stage.cast.hosts === undefined) continue;
    say(what);
    const fromMs = performance.now();
    const outcome = await happen(stage);
    played.push({ what, span: { fromMs, toMs: performance.now() }, outcome });
    if (stage.log.answered === turns) throw new Error(`no turns were left after "${what}"`);
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

function report({ cast, log }: Stage, played: readonly Played[], wrong: readonly string[]): void {
  for (const note of cast.notes) console.log(note);
  const rows = played.map(({ what, span, outcome: { healMs } }) => {
    const score = scoreOf(log.ops, span);
    const errors = Object.entries(score.errors).map(([kind, count]) => `${count} x ${kind}`);
    return [
      what,
      seconds(span.toMs - span.fromMs),
      String(score.turns),
      errors.join(', ') || '-',
      seconds(score.longestGapMs),
      seconds(score.p50Ms),
      seconds(score.p99Ms),
      healMs === undefined ? '-' : seconds(healMs),
    ];
  });
  const columns = ['phase', 'took s', 'turns', 'asked again after', 'longest gap s'];
  columns.push('p50 s', 'p99 s', 'healed after s');
  console.log(`\n${printed({ title: 'Rehearsal', columns, rows })}`);
  for (const { what, outcome } of played)
    if (outcome.told !== undefined) console.log(`${what}: ${outcome.told}`);
  console.log(`${log.answered} of ${turns} turns answered, ${wrong.length} violations`);
  for (const line of wrong) console.log(`VIOLATION ${line}`);
}

// What this one started ends with it (each has an exit handler), also when it is told to stop.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const usage = `npm run rehearsal [-- options]: the services of docker-compose.yml as processes, 120 dialogues, and what happens meanwhile
  --build temporal   builds the Temporal server once, if there is Go: many minutes, then it is in the cache (the default)
  --build all        the Web UI and Prometheus too
  --build none       takes what is in the cache, else the CLI's dev server`;
const { values: flags } = parseArgs({
  options: {
    build: { type: 'string', default: 'temporal' },
    help: { type: 'boolean', default: false },
  },
});
const built = real.buildings.find((name) => name === flags.build);
if (flags.help || built === undefined) {
  console.log(usage);
  process.exit(flags.help ? 0 : 2);
}
// Before the limit counts: a first build takes minutes, and may.
const images = readCompose(await readFile('docker-compose.yml', 'utf8'));
const programs = await real.realPrograms(images, built, say);
const late = setTimeout(() => {
  console.error(`VIOLATION not over after ${limitMs / 1_000} s`);
  process.exit(1); // every process here ends with this one
}, limitMs);
try {
  process.exitCode = (await main(programs)) ? 0 : 1;
} finally {
  clearTimeout(late);
}
