/** Products under the same load in turns, so that what else the machine does meets them all: what a turn costs each. */
import { cpuMs } from './cpu-time.js';
import { chatTurns } from './http-turns.js';
import { median, runLoad } from './load.js';
import type { Product } from './product.js';
import { userMessage } from './prose.js';
import type { Stage } from './stage.js';
import { figure, ratio } from './table.js';
import type { Table } from './table.js';

export interface Contender {
  readonly label: string;
  readonly product: Product;
}

const rounds = 5;
export const threadsInTurns = 16;

/** Ends the products. The first contender is the measure of the others. */
export async function inTurns(
  stage: Stage,
  title: string,
  contenders: readonly [Contender, ...Contender[]],
): Promise<Table> {
  const temporal = await stage.temporal();
  const measured = contenders.map((one) => ({
    ...one,
    costs: [] as number[],
    rates: [] as number[],
  }));
  const plan = { threads: threadsInTurns, ...lengths(stage) };
  for (let round = 0; round < (stage.quick ? 1 : rounds); round += 1) {
    for (const one of round % 2 === 0 ? measured : measured.toReversed()) {
      stage.say(`round ${round + 1}: ${one.label}`);
      const load = await runLoad(plan, {
        turn: chatTurns(one.product.client, { prefix: `r${round}`, graph: 'chat' }, userMessage),
        cpu: () => ({ all: cpuMs(one.product.pid) + cpuMs(temporal.pid) }),
      });
      one.costs.push(load.cpuMsPerTurn.all ?? NaN);
      one.rates.push(load.perSecond);
    }
  }
  for (const { product } of contenders) await product.end();
  const first = median(measured[0]?.costs ?? []);
  return {
    title,
    columns: ['', 'CPU ms/turn', 'of the first', 'turns/s', 'all rounds'],
    rows: measured.map(({ label, costs, rates }) => [
      label,
      figure(median(costs)),
      ratio(median(costs) / first),
      figure(median(rates)),
      costs.map(figure).join(' '),
    ]),
  };
}

const lengths = ({ quick }: Stage): { readonly warmUpMs: number; readonly measureMs: number } =>
  quick ? { warmUpMs: 500, measureMs: 1_500 } : { warmUpMs: 3_000, measureMs: 8_000 };
