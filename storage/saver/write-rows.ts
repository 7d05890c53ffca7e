/** Turns what a flush takes into rows. Serialised before the transaction begins (P4). */
import type { BufferedWrite, Cut } from './buffer.js';
import type { Known } from './known.js';
import { joinElements, toBytes, toText } from './pack.js';
import type { CheckpointRow, DeltaRow, FlushRows, WriteRow } from './port.js';
import type { Body } from './rows.js';

/** A value up to this size is copied into each checkpoint: a row of its own costs about as much. */
const inlineBytes = 512;

/** @param writer version of the project's LangGraph, which made the bytes */
export async function rowsOf(cut: Cut, writer: string): Promise<Omit<FlushRows, 'superstep'>> {
  const deltas: DeltaRow[] = [];
  const checkpoints: CheckpointRow[] = [];
  for (const known of cut.checkpoints) checkpoints.push(await checkpointRow(known, writer, deltas));
  return { checkpoints, deltas, writes: await Promise.all(cut.writes.map(writeRow)) };
}

async function checkpointRow(
  known: Known,
  writer: string,
  deltas: DeltaRow[],
): Promise<CheckpointRow> {
  const inline: Record<string, [string, string]> = {};
  const rows: Record<string, string> = {};
  for (const [channel, entry] of known.entries) {
    const at = { ns: known.ns, channel, version: entry.version };
    if (entry.kind === 'list') {
      rows[channel] = entry.version;
      if (entry.emitted) continue;
      const rest = joinElements(await Promise.all(entry.rest));
      const { base, keep, elements } = entry;
      deltas.push({ ...at, base, keep, length: elements.length, type: 'list', rest });
    } else {
      const { type, bytes } = await entry.packed;
      if (type !== 'bytes' && bytes.length <= inlineBytes) {
        inline[channel] = [type, toText(bytes)];
        continue;
      }
      rows[channel] = entry.version;
      if (entry.emitted) continue;
      deltas.push({ ...at, base: null, keep: 0, length: 0, type, rest: bytes });
    }
    entry.emitted = true;
  }
  const body: Body = { writer, frame: known.frame, inline, rows };
  return {
    ...{ ns: known.ns, checkpointId: known.id, parentId: known.parentId, pos: known.pos },
    body: toBytes(JSON.stringify(body)),
    metadata: (await known.metadata).bytes,
  };
}

async function writeRow(write: BufferedWrite): Promise<WriteRow> {
  const { ns, checkpointId, taskId, taskPath, idx, channel } = write;
  const { type, bytes } = await write.packed;
  return { ns, checkpointId, taskId, taskPath, idx, channel, type, value: bytes };
}
