/** Facts as rows: a body that never changes, and beside it the three fields that end a fact. */
import type { Fact } from '../../memory/facts/fact.js';
import type { FactChange } from '../../memory/facts/record.js';
import type { MemoryOwner } from '../../memory/store.js';
import { query, run, type Tx } from '../tx.js';
import { keyOf, ofOwner } from './owner-row.js';

type Ending = Pick<Fact, 'validTo' | 'retiredAt' | 'supersededBy'>;

interface FactRow {
  readonly body: string;
  readonly valid_to: string | null;
  readonly retired_at: string | null;
  readonly superseded_by: string | null;
}

const columns = 'body, valid_to, retired_at, superseded_by';

/** Facts that nothing has ended, in the order in which they were recorded; `all` gives the ended ones too. */
export function* readFacts(owner: MemoryOwner, which: 'standing' | 'all'): Tx<readonly Fact[]> {
  const rows = yield* query<FactRow>(
    `SELECT ${columns} FROM et_facts
     WHERE ${ofOwner} ${which === 'standing' ? 'AND retired_at IS NULL' : ''} ORDER BY pos`,
    ...keyOf(owner),
  );
  return rows.map((row) => ({
    ...(JSON.parse(row.body) as Omit<Fact, keyof Ending>),
    validTo: row.valid_to,
    retiredAt: row.retired_at,
    supersededBy: row.superseded_by,
  }));
}

/** @param pos of a fact that is added. The caller holds the owner's lock. */
export function* writeChange(owner: MemoryOwner, change: FactChange, pos: number): Tx<void> {
  switch (change.kind) {
    case 'add': {
      const { validTo, retiredAt, supersededBy, ...body } = change.fact;
      yield* run(
        `INSERT INTO et_facts (tenant, user_id, fact_id, pos, ${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        ...[...keyOf(owner), body.id, pos, JSON.stringify(body), validTo, retiredAt, supersededBy],
      );
      return;
    }
    case 'end':
      yield* run(
        `UPDATE et_facts SET valid_to = $4, retired_at = $5, superseded_by = $6
         WHERE ${ofOwner} AND fact_id = $3 AND retired_at IS NULL`,
        ...[...keyOf(owner), change.id, change.validTo, change.retiredAt, change.supersededBy],
      );
  }
}
