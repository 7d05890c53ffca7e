-- Threads, their turns, and what belongs to a turn beside its checkpoints.

CREATE TABLE et_threads (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  deleted INTEGER NOT NULL,
  version BIGINT NOT NULL,
  next_seq BIGINT NOT NULL,
  -- Every turn up to here is settled, and the next one, if it exists, is not.
  settled_seq BIGINT NOT NULL,
  graph TEXT,
  metadata TEXT NOT NULL,
  head_checkpoint TEXT,
  head_seq BIGINT,
  -- How the turn that left the head has settled.
  head_status TEXT,
  interrupts TEXT,
  next_nodes TEXT,
  -- The last run that is in et_runs for this epoch: one row per run, not one statement per claim.
  run_id TEXT,
  swept_at_ms BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, thread_id)
);

CREATE TABLE et_turns (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  turn_id {key},
  status TEXT NOT NULL,
  graph TEXT NOT NULL,
  stream INTEGER NOT NULL,
  if_version BIGINT,
  -- What a resume answers: version and interrupt ids of the head it saw.
  resume_version BIGINT,
  resume_interrupts TEXT,
  fence BIGINT NOT NULL,
  run_id TEXT,
  activity_id BIGINT,
  attempt BIGINT,
  -- The holder gave the claim back: its end is not a loss.
  released INTEGER NOT NULL,
  step BIGINT NOT NULL,
  step_checkpoint TEXT,
  step_pos BIGINT,
  has_rows INTEGER NOT NULL,
  has_draft INTEGER NOT NULL,
  tries BIGINT NOT NULL,
  losses BIGINT NOT NULL,
  spent_ms BIGINT NOT NULL,
  claimed_at_ms BIGINT,
  alive_at_ms BIGINT NOT NULL,
  base_version BIGINT,
  version BIGINT,
  checkpoint_id TEXT,
  failure_code TEXT,
  failure_message TEXT,
  accepted_at_ms BIGINT NOT NULL,
  settled_at_ms BIGINT,
  pending_nodes TEXT,
  ran_nodes TEXT,
  interrupts TEXT,
  usage_json TEXT,
  input TEXT NOT NULL,
  response TEXT NOT NULL,
  messages TEXT,
  values_json TEXT,
  PRIMARY KEY (tenant, thread_id, epoch, seq)
);
CREATE UNIQUE INDEX et_turns_id ON et_turns (turn_id);
CREATE INDEX et_turns_open ON et_turns (accepted_at_ms) WHERE settled_at_ms IS NULL;

CREATE TABLE et_keys (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  idempotency_key {key},
  seq BIGINT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (tenant, thread_id, epoch, idempotency_key)
);

CREATE TABLE et_runs (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  run_id {key},
  seen_at_ms BIGINT NOT NULL,
  PRIMARY KEY (tenant, thread_id, epoch, run_id)
);

CREATE TABLE et_drafts (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  fence BIGINT NOT NULL,
  step BIGINT NOT NULL,
  frame_seq BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (tenant, thread_id, epoch, seq)
);
