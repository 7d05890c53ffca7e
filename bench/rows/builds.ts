/** What a turn costs now against the last packed build: did it become slower? */
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { extract } from 'tar';
import { inTurns, threadsInTurns } from '../in-turns.js';
import { fixtureEnv, startProduct } from '../product.js';
import type { Product } from '../product.js';
import type { Stage } from '../stage.js';
import type { Table } from '../table.js';

/** The build that deploy tests run beside the present one. */
const packed = 'test/fixtures/builds/v1.tar.gz';

export async function buildsTables(stage: Stage): Promise<readonly Table[]> {
  const { address: temporalAddress } = await stage.temporal();
  const start = async (name: string, bin?: string): Promise<Product> => {
    const env = fixtureEnv(stage);
    return startProduct(stage, { name, env, temporalAddress, ...(bin !== undefined && { bin }) });
  };
  const title = `CPU of a one-node turn at ${threadsInTurns} threads, Temporal included: this build against the packed one (medians of the rounds)`;
  return [
    await inTurns(stage, title, [
      { label: 'packed build', product: await start('old', await unpacked(stage)) },
      { label: 'this build', product: await start('now') },
    ]),
  ];
}

async function unpacked(stage: Stage): Promise<string> {
  const folder = path.join(stage.folder('packed'), 'everthread');
  mkdirSync(folder);
  await extract({ file: packed, cwd: folder });
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  return path.join(folder, 'bin', 'everthread.js');
}
