import { expect, test } from '@jest/globals';
import { setImmediate as nextRound } from 'node:timers/promises';
import path from 'node:path';
import { pino } from 'pino';
import { resolveConfig } from '../../config/config.js';
import { loadGraphs } from '../../worker/graphs.js';

test.each([
  ['the shipped graphs', null],
  ['a project', path.resolve('examples/parcel-bot/langgraph.json')],
])('a database that does not open is no promise that %s forgot', async (_, graphConfig) => {
  const forgotten: unknown[] = [];
  const note = (reason: unknown): void => void forgotten.push(reason);
  process.on('unhandledRejection', note);
  const config = { ...resolveConfig({}, { command: 'dev' }), graphConfig };
  const memory = Promise.reject(new Error('the database does not open'));
  const log = pino({ level: 'silent' });
  await loadGraphs(config, { log, memory }).catch(() => undefined);
  await nextRound();
  process.off('unhandledRejection', note);
  expect(forgotten).toEqual([]);
});
