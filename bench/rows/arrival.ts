/** Whether tokens of a node that blocks arrive one by one, and what such a node costs its neighbours (examples/parcel-bot). */
import path from 'node:path';
import { freePort } from '../../temporal/ports.js';
import {
  arrivals,
  delaysMs,
  gapsMs,
  type Arrival,
  type Wire,
} from '../../test/support/arrivals.js';
import { startCluster } from '../../test/support/processes.js';
import { percentiles } from '../load.js';
import { plainSite, startNginx } from '../nginx.js';
import { startPostgres } from '../postgres.js';
import { quietEnv, startProduct } from '../product.js';
import type { Stage } from '../stage.js';
import { figure, type Table } from '../table.js';

/** The producer makes a token each 300 ms; a gap outside these was made by us. */
const gapBounds = { leastMs: 200, mostMs: 450 };
const parcelBot = { EVERTHREAD_CONFIG: path.resolve('examples/parcel-bot/langgraph.json') };

const wires: readonly Wire[] = ['chunked', 'unchunked'];

interface Place {
  readonly name: string;
  readonly url: string;
}

export async function arrivalTables(stage: Stage): Promise<readonly Table[]> {
  const places = [...(await onePlaces(stage)), ...(await clusterPlaces(stage))];
  const rows: string[][] = [];
  for (const place of places) {
    stage.say(`tokens ${place.name}`);
    for (const graph of ['blocking', 'async'])
      for (const wire of wires) rows.push(await gapRow(stage, place, { graph, wire }));
  }
  const neighbours: string[][] = [];
  for (const place of places.filter(({ name }) => !name.includes('nginx'))) {
    stage.say(`neighbours ${place.name}`);
    neighbours.push(await neighbourRow(stage, place));
  }
  return [
    { title: 'Tokens each 300 ms at a plain HTTP client', columns: gapColumns, rows },
    {
      title: 'Delay of another thread’s tokens, made to arrived, p50 ms',
      columns: ['', 'alone', 'beside a node that blocks', 'difference', 'budget'],
      rows: neighbours,
    },
  ];
}

async function onePlaces(stage: Stage): Promise<Place[]> {
  const { address } = await stage.temporal();
  const product = await startProduct(stage, {
    ...{ name: 'arrival', env: parcelBot, temporalAddress: address },
  });
  return await behindNginx(stage, { name: 'one process', url: product.url });
}

async function clusterPlaces(stage: Stage): Promise<Place[]> {
  const postgres = await startPostgres();
  stage.parts.add(postgres, () => postgres.stop());
  const cluster = await startCluster({
    port: await freePort(),
    workers: 1,
    postgresUrl: `${postgres.url}/postgres`,
    temporalAddress: (await stage.temporal()).address,
    env: { ...quietEnv, ...parcelBot, EVERTHREAD_TASK_QUEUE: 'bench-arrival-cluster' },
  });
  stage.parts.add(cluster, () => cluster.stop());
  return await behindNginx(stage, { name: 'gateway, worker', url: cluster.url });
}

async function behindNginx(stage: Stage, place: Place): Promise<Place[]> {
  const nginx = await startNginx(stage.folder('nginx'), plainSite(place.url));
  if (nginx === undefined) {
    stage.say('no nginx on this machine: its rows are left out');
    return [place];
  }
  stage.parts.add(nginx, () => nginx.stop());
  return [place, { name: `${place.name}, nginx`, url: nginx.url }];
}

const gapColumns = [
  ...['', 'graph', 'wire', 'tokens', 'gap p50 ms', 'least', 'most'],
  ...['gaps in 200-450', 'budget', 'in one lump', 'delay p50 ms', 'p99'],
];

let turns = 0;
const read = (place: Place, graph: string, wire?: Wire): Promise<Arrival[]> =>
  arrivals(place.url, `arrival-${(turns += 1)}`, graph, wire);

async function gapRow(
  stage: Stage,
  place: Place,
  { graph, wire }: { readonly graph: string; readonly wire: Wire },
): Promise<string[]> {
  await read(place, graph, wire); // the first turn of a process loads and compiles
  const all: Arrival[][] = [];
  for (let n = 0; n < (stage.quick ? 1 : 4); n += 1) all.push(await read(place, graph, wire));
  const gaps = all.flatMap(gapsMs);
  const good = gaps.filter((ms) => ms >= gapBounds.leastMs && ms <= gapBounds.mostMs);
  const lumps = all.flatMap((one) => one.filter((a, i) => a.piece === one[i + 1]?.piece));
  const delays = percentiles(all.flatMap(delaysMs));
  return [
    ...[place.name, graph, wire, String(all.flat().length), figure(percentiles(gaps).p50Ms)],
    ...[figure(Math.min(...gaps)), figure(Math.max(...gaps))],
    ...[`${figure((100 * good.length) / gaps.length)} %`, '>= 95 %', String(lumps.length)],
    ...[figure(delays.p50Ms), figure(delays.p99Ms)],
  ];
}

async function neighbourRow(stage: Stage, place: Place): Promise<string[]> {
  const rounds = stage.quick ? 1 : 4;
  const alone: number[] = [];
  const beside: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    alone.push(...delaysMs(await read(place, 'async')));
    const [, neighbour] = await Promise.all([read(place, 'blocking'), read(place, 'async')]);
    beside.push(...delaysMs(neighbour));
  }
  const [without, having] = [percentiles(alone).p50Ms, percentiles(beside).p50Ms];
  return [place.name, figure(without), figure(having), figure(having - without), '< 50 ms'];
}
