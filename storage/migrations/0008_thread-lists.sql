-- Lists of threads, newest first. No turn changes a column of these indexes, so only creating and deleting a thread pays.

CREATE INDEX et_threads_listed ON et_threads (tenant, created_at_ms, thread_id) WHERE deleted = 0;
CREATE INDEX et_threads_of_graph ON et_threads (tenant, graph, created_at_ms, thread_id) WHERE deleted = 0;
CREATE INDEX et_threads_waiting ON et_threads (tenant, created_at_ms, thread_id)
  WHERE deleted = 0 AND head_status = 'interrupted';
