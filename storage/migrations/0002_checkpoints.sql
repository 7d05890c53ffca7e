-- The saver's rows. Each carries the turn (seq) that wrote it.

CREATE TABLE et_checkpoints (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  ns {key},
  checkpoint_id {key},
  seq BIGINT NOT NULL,
  parent_id TEXT,
  pos BIGINT NOT NULL,
  body {bytes} NOT NULL,
  metadata {bytes} NOT NULL,
  PRIMARY KEY (tenant, thread_id, epoch, ns, checkpoint_id)
);
CREATE INDEX et_checkpoints_pos ON et_checkpoints (tenant, thread_id, epoch, ns, pos);

CREATE TABLE et_deltas (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  ns {key},
  channel {key},
  version {key},
  seq BIGINT NOT NULL,
  base TEXT,
  keep BIGINT NOT NULL,
  length BIGINT NOT NULL,
  type TEXT NOT NULL,
  rest {bytes} NOT NULL,
  PRIMARY KEY (tenant, thread_id, epoch, ns, channel, version)
);

CREATE TABLE et_writes (
  tenant {key},
  thread_id {key},
  epoch BIGINT NOT NULL,
  ns {key},
  checkpoint_id {key},
  task_id {key},
  idx BIGINT NOT NULL,
  -- A resume writes to the head's checkpoint, too: its writes stand beside those of the head until it settles.
  seq BIGINT NOT NULL,
  task_path TEXT NOT NULL,
  channel TEXT NOT NULL,
  type TEXT NOT NULL,
  value {bytes} NOT NULL,
  PRIMARY KEY (tenant, thread_id, epoch, ns, checkpoint_id, task_id, idx, seq)
);
