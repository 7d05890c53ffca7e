import { describe, expect, test } from '@jest/globals';
import type { Checkpoint, CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { refuseNewer } from '../../engine/versions/older-reader.js';
import { traitsOf } from '../../engine/versions/traits.js';
import {
  keepsSendsBeside,
  sendsAsChannel,
  sendsBeside,
  withPendingSends,
} from '../../storage/saver/pending-sends.js';
import { modules } from './drive.js';

// The versions themselves run in `npm run projects`; here is what their adapters promise.

describe('a thread and another LangGraph than the one that wrote it', () => {
  test.each([
    ['1.7.3', '1.7.3'],
    ['1.7.4', '1.7.0'],
    ['0.2.74', '1.7.3'],
    ['0.4.9', '1.0.0'],
  ])('written by %s, it is opened by %s', (writer, reader) => {
    expect(() => refuseNewer(writer, reader)).not.toThrow();
  });

  test.each([
    ['1.7.3', '1.4.0'],
    ['1.0.0', '0.4.9'],
    ['0.3.0', '0.2.74'],
  ])('written by %s, it is refused by %s, which says both', (writer, reader) => {
    expect(() => refuseNewer(writer, reader)).toThrow(
      `with LangGraph ${writer} and this worker's project has ${reader}`,
    );
  });

  test('a new thread is nobody’s', () => {
    expect(() => refuseNewer(null, '0.2.5')).not.toThrow();
  });
});

describe('Sends of LangGraph before 0.4', () => {
  const sends = [{ node: 'work', args: { item: 'a' } }];
  const older = {
    ...{ v: 1, id: '1ef', ts: '', channel_values: { trace: ['plan'] } },
    ...{ channel_versions: { trace: 3 }, versions_seen: {}, pending_sends: sends },
  } as unknown as Checkpoint;
  const stored = sendsAsChannel(older, { trace: 3 });
  const tuple = (checkpoint: Checkpoint): CheckpointTuple => ({ config: {}, checkpoint });

  test('are stored as a channel, and come back beside the channels', () => {
    expect(stored.checkpoint).not.toHaveProperty('pending_sends');
    expect(stored.checkpoint.channel_values).toEqual({ trace: ['plan'], __pregel_tasks: sends });
    expect(Object.keys(stored.newVersions)).toContain('__pregel_tasks');
    expect(sendsBeside(tuple(stored.checkpoint)).checkpoint).toEqual(older);
  });

  test('reach a newer LangGraph as a channel of the newest version', async () => {
    const { checkpoint } = await withPendingSends(tuple(structuredClone(stored.checkpoint)), () =>
      Promise.reject(new Error('nothing is read')),
    );
    expect(checkpoint.channel_values.__pregel_tasks).toEqual(sends);
    expect(checkpoint.channel_versions).toEqual({ trace: 3, __pregel_tasks: 3 });
  });

  test('are told by the package that makes checkpoints', () => {
    expect(keepsSendsBeside(modules.checkpoint)).toBe(false);
    expect(keepsSendsBeside({ ...modules.checkpoint, emptyCheckpoint: () => older })).toBe(true);
  });
});

test.each([
  ['0.2.5', { savesPerCall: false, savesInStep: false, tellsInterrupts: false }],
  ['0.2.74', { savesPerCall: false, savesInStep: false, tellsInterrupts: false }],
  ['0.3.12', { savesPerCall: true, savesInStep: false, tellsInterrupts: true }],
  ['0.4.9', { savesPerCall: true, savesInStep: true, tellsInterrupts: true }],
  ['1.0.0', { savesPerCall: true, savesInStep: true, tellsInterrupts: true }],
  ['1.7.3', { savesPerCall: true, savesInStep: true, tellsInterrupts: true }],
])('LangGraph %s needs the adapters of its age', (langgraph, traits) => {
  const { versions } = modules;
  expect(traitsOf({ ...modules, versions: { ...versions, langgraph } })).toEqual(traits);
});
