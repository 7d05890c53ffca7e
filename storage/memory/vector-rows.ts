/** Vectors of facts: 32-bit floats, with the model that made them. */
import type { FactVectors, MemoryOwner } from '../../memory/store.js';
import { query, run, type Tx } from '../tx.js';
import { keyOf, lockOwner, ofOwner } from './owner-row.js';

type Vectors = Awaited<ReturnType<FactVectors['vectors']>>;

export function* readVectors(owner: MemoryOwner, model: string): Tx<Vectors> {
  const rows = yield* query<{ fact_id: string; vector: Uint8Array }>(
    `SELECT v.fact_id, v.vector FROM et_fact_vectors v
     JOIN et_facts f ON f.tenant = v.tenant AND f.user_id = v.user_id AND f.fact_id = v.fact_id
     WHERE v.tenant = $1 AND v.user_id = $2 AND v.model = $3 AND f.retired_at IS NULL`,
    ...keyOf(owner),
    model,
  );
  return new Map(rows.map(({ fact_id, vector }) => [fact_id, floatsOf(vector)]));
}

/** A fact that was erased while its vector was made gets none. */
export function* writeVectors(owner: MemoryOwner, model: string, vectors: Vectors): Tx<void> {
  if (!(yield* lockOwner(owner))) return;
  for (const [factId, vector] of vectors) {
    yield* run(
      `INSERT INTO et_fact_vectors (tenant, user_id, fact_id, model, dims, vector)
       SELECT tenant, user_id, fact_id, $4, $5, $6 FROM et_facts WHERE ${ofOwner} AND fact_id = $3
       ON CONFLICT (tenant, user_id, fact_id)
       DO UPDATE SET model = excluded.model, dims = excluded.dims, vector = excluded.vector`,
      ...[...keyOf(owner), factId, model, vector.length, bytesOf(vector)],
    );
  }
}

export const bytesOf = (floats: Float32Array): Uint8Array =>
  new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);

/** A copy: a driver's bytes may begin anywhere in a larger buffer, and floats may not. */
export const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(Uint8Array.from(bytes).buffer);
