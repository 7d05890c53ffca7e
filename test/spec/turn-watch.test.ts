import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { turnWatch } from '../../api/wait.js';
import { localRelay } from '../../storage/relay-local.js';
import type { TurnStore } from '../../storage/port.js';
import { until } from '../support/until.js';

const log = pino({ enabled: false });
const pollMs = 5;
const turn = { turnId: 't', fence: 1, step: 0 };

/** A database that answers when it is told to, and the polls that wait for it. */
function heldTurns() {
  const waiting: (() => void)[] = [];
  const turns: Pick<TurnStore, 'peek'> = {
    peek: () => new Promise((resolve) => waiting.push(() => resolve(new Map()))),
  };
  return { waiting, turns };
}

/** Time that is long enough for another poll, were there one. */
async function manyPolls(): Promise<void> {
  let polls = 0;
  const peek = () => {
    polls += 1;
    return Promise.resolve(new Map());
  };
  const end = turnWatch({ turns: { peek }, relay: localRelay(), pollMs, log }).watch(
    turn,
    () => undefined,
  );
  await until('other polls', () => polls >= 5 || undefined);
  end();
}

describe('the poll that all who wait share', () => {
  test.each([
    ['another reader of the same turn comes', false],
    ['the last one who waits leaves and another comes', true],
  ])('P10 is one, also when %s while it is under way', async (_, leaves) => {
    const { waiting, turns } = heldTurns();
    const watch = turnWatch({ turns, relay: localRelay(), pollMs, log });
    const first = watch.watch(turn, () => undefined);
    await until('a poll', () => waiting.length > 0 || undefined);
    if (leaves) first();
    const second = watch.watch(turn, () => undefined);
    await manyPolls();
    expect(waiting).toHaveLength(1);
    waiting.pop()?.();
    await until('the next poll', () => waiting.length > 0 || undefined);
    await manyPolls();
    expect(waiting).toHaveLength(1);
    first();
    second();
    waiting.pop()?.();
  });
});
