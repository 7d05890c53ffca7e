/** A committed turn with rows that a reader can decode, as a graph of one list channel would leave them. */
import type { AcceptTurn, TurnRecord } from '../../storage/port.js';
import type { FlushRows } from '../../storage/saver/port.js';
import type { Scenario } from '../support/storage-scenario.js';

const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

export async function committedState(
  s: Scenario,
  text: string,
  more: Partial<AcceptTurn> = {},
): Promise<TurnRecord> {
  const { turnId } = await s.turn({ input: { kind: 'message', text }, ...more });
  const { claim, baseVersion } = await s.claimed();
  const rows = rowsOf(claim.seq, baseVersion, text);
  const checkpointId = rows.checkpoints[0]?.checkpointId ?? '';
  const settled = await s.commit(claim, { checkpointId, response: `reply to ${text}` }, rows);
  if (settled.kind !== 'settled') throw new Error(`not settled: ${settled.kind}`);
  return await s.get(turnId);
}

/** What one turn flushes: a checkpoint, its list, a write. */
export function rowsOf(seq: number, baseVersion: number, text: string): FlushRows {
  const version = String(baseVersion + 1);
  const checkpointId = `cp-${seq}`;
  const frame = {
    v: 4,
    id: checkpointId,
    ts: '',
    channel_versions: { messages: version },
    versions_seen: {},
  };
  return {
    checkpoints: [
      {
        ...{ ns: '', checkpointId, parentId: null, pos: baseVersion + 1 },
        body: bytes({ writer: 'test', frame, inline: {}, rows: { messages: version } }),
        metadata: bytes({ text }),
      },
    ],
    deltas: [
      {
        ...{ ns: '', channel: 'messages', version, type: 'list', rest: bytes([text]) },
        ...{
          base: baseVersion === 0 ? null : String(baseVersion),
          keep: baseVersion,
          length: baseVersion + 1,
        },
      },
    ],
    writes: [
      {
        ...{ ns: '', checkpointId, taskId: 'task', taskPath: '', idx: 0 },
        ...{ channel: 'messages', type: 'json', value: bytes([text]) },
      },
    ],
    superstep: null,
  };
}
