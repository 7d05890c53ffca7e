/** What a turn costs now against the last packed build, in turns on one machine: did it become slower? */
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { extract } from 'tar';
import { cpuMs } from '../cpu-time.js';
import { chatTurns } from '../http-turns.js';
import { median, runLoad } from '../load.js';
import { fixtureEnv, startProduct } from '../product.js';
import type { Product } from '../product.js';
import { userMessage } from '../prose.js';
import type { Stage } from '../stage.js';
import { figure, ratio } from '../table.js';
import type { Table } from '../table.js';

/** The build that deploy tests run beside the present one. */
const packed = 'test/fixtures/builds/v1.tar.gz';
/** Builds take turns, so that what else the machine does meets both. */
const rounds = 5;
const threads = 16;

export async function buildsTables(stage: Stage): Promise<readonly Table[]> {
  const temporal = await stage.temporal();
  const start = async (name: string, bin?: string): Promise<Product> => {
    const env = fixtureEnv(stage);
    const temporalAddress = temporal.address;
    return startProduct(stage, { name, env, temporalAddress, ...(bin !== undefined && { bin }) });
  };
  const old = { label: 'packed build', product: await start('old', await unpacked(stage)) };
  const now = { label: 'this build', product: await start('now') };
  const costs = new Map([old, now].map(({ label }) => [label, [] as number[]]));
  const rates = new Map([old, now].map(({ label }) => [label, [] as number[]]));
  const plan = { threads, ...lengths(stage) };
  for (let round = 0; round < (stage.quick ? 1 : rounds); round += 1) {
    for (const { label, product } of round % 2 === 0 ? [old, now] : [now, old]) {
      stage.say(`round ${round + 1}: ${label}`);
      const load = await runLoad(plan, {
        turn: chatTurns(product.client, { prefix: `r${round}`, graph: 'chat' }, userMessage),
        cpu: () => ({ all: cpuMs(product.pid) + cpuMs(temporal.pid) }),
      });
      costs.get(label)?.push(load.cpuMsPerTurn.all ?? NaN);
      rates.get(label)?.push(load.perSecond);
    }
  }
  for (const { product } of [old, now]) await product.end();
  const before = median(costs.get(old.label) ?? []);
  return [
    {
      title: `CPU of a one-node turn at ${threads} threads, Temporal included: this build against the packed one (medians of the rounds)`,
      columns: ['', 'CPU ms/turn', 'of packed', 'turns/s', 'all rounds'],
      rows: [...costs].map(([label, all]) => [
        label,
        figure(median(all)),
        ratio(median(all) / before),
        figure(median(rates.get(label) ?? [])),
        all.map(figure).join(' '),
      ]),
    },
  ];
}

const lengths = ({ quick }: Stage): { readonly warmUpMs: number; readonly measureMs: number } =>
  quick ? { warmUpMs: 500, measureMs: 1_500 } : { warmUpMs: 3_000, measureMs: 8_000 };

async function unpacked(stage: Stage): Promise<string> {
  const folder = path.join(stage.folder('packed'), 'everthread');
  mkdirSync(folder);
  await extract({ file: packed, cwd: folder });
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  return path.join(folder, 'bin', 'everthread.js');
}
