-- The version that a turn goes on from, where that is not the newest: it leaves those between behind.

ALTER TABLE et_turns ADD COLUMN from_version BIGINT;
CREATE INDEX et_turns_branched ON et_turns (tenant, thread_id, epoch, version) WHERE from_version IS NOT NULL;
