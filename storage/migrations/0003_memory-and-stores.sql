-- Long-term memory of users, and the items of graphs' own stores. Neither belongs to a thread.

CREATE TABLE et_memory_owners (
  tenant {key},
  user_id {key},
  -- Rows recorded so far: the next one's place. Locked by whoever writes for this user.
  recorded BIGINT NOT NULL,
  PRIMARY KEY (tenant, user_id)
);

CREATE TABLE et_facts (
  tenant {key},
  user_id {key},
  fact_id {key},
  pos BIGINT NOT NULL,
  -- All but what ends it, which stands in the three columns below.
  body TEXT NOT NULL,
  valid_to TEXT,
  retired_at TEXT,
  superseded_by TEXT,
  PRIMARY KEY (tenant, user_id, fact_id)
);

CREATE TABLE et_fact_vectors (
  tenant {key},
  user_id {key},
  fact_id {key},
  model TEXT NOT NULL,
  dims BIGINT NOT NULL,
  vector {bytes} NOT NULL,
  PRIMARY KEY (tenant, user_id, fact_id)
);

CREATE TABLE et_episodes (
  tenant {key},
  user_id {key},
  episode_id {key},
  pos BIGINT NOT NULL,
  body TEXT NOT NULL,
  expires_at {key},
  PRIMARY KEY (tenant, user_id, episode_id)
);

CREATE TABLE et_memory_keys (
  tenant {key},
  user_id {key},
  batch_key {key},
  -- What the batch wrote, for a retry that did not hear it.
  written TEXT NOT NULL,
  -- How often each reason refused something, never what.
  refused TEXT NOT NULL,
  PRIMARY KEY (tenant, user_id, batch_key)
);

CREATE TABLE et_store_items (
  tenant {key},
  ns {key},
  item_key {key},
  -- Place of its namespace, and its own, in the order of first writing.
  ns_pos BIGINT NOT NULL,
  pos BIGINT NOT NULL,
  value TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL,
  expires_at_ms BIGINT,
  PRIMARY KEY (tenant, ns, item_key)
);
CREATE INDEX et_store_items_pos ON et_store_items (tenant, pos);
CREATE INDEX et_store_items_expiry ON et_store_items (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

CREATE TABLE et_store_vectors (
  tenant {key},
  ns {key},
  item_key {key},
  field {key},
  model TEXT NOT NULL,
  vector {bytes} NOT NULL,
  PRIMARY KEY (tenant, ns, item_key, field)
);
