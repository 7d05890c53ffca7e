-- Which build's worker claimed a turn last (V1); null: one without a build id, or one that does not know this column.

ALTER TABLE et_turns ADD COLUMN build_id TEXT;
