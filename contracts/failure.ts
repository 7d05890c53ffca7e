/**
 * Why a turn failed, and which HTTP problem says so. The only names an error may have on the wire,
 * in a row, in a log or in Temporal: codes and ids, since a provider's own words may quote a prompt.
 */

/** A settled `failed` turn carries one of these. */
export type FailureCode =
  | 'model_unauthorized' // 401, 403
  | 'model_rejected' // 400, 404, 422: the request itself is refused
  | 'context_too_long'
  | 'content_filtered'
  | 'quota_exceeded'
  | 'model_rate_limited' // 429 beyond the limit of tries
  | 'model_unavailable' // 5xx, network, cut streams beyond the limit of tries
  | 'model_garbage' // an answer that no client can read
  | 'node_error' // the graph's own code threw
  | 'recursion_limit'
  | 'turn_deadline'
  | 'step_deadline'
  | 'poison' // worker lost 10 times within one superstep
  | 'graph_missing'
  | 'graph_changed'
  | 'unstorable' // SQLSTATE 22/23: the state cannot be written
  | 'loop_detected' // the agent's guards (M8): the same calls with the same results
  | 'max_steps'
  | 'token_limit'
  | 'cost_limit'
  | 'context_too_small' // the budget has no room for what every request holds
  | 'state_shape' // a channel refuses the value (M14)
  | 'resume_stale'
  | 'base_changed'
  | 'invalid_field' // the field's own schema refuses the value
  | 'unknown_field'
  | 'invalid_input' // the graph takes objects, or nothing of this one
  | 'unknown_node' // a goto to, or an update as a node that the graph does not have
  | 'invalid_update' // the graph's own reducers or edges refuse the values
  | 'thread_interrupted'; // a field was written while the thread waits for an answer

/** What a person reads beside the code: ours alone, never a provider's text. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
}

export const problemStatus = {
  invalid_request: 400,
  thread_id_mismatch: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_reused: 409,
  idempotency_unsupported: 409,
  turn_in_progress: 409,
  graph_mismatch: 409,
  user_mismatch: 409,
  resume_stale: 409,
  base_changed: 409,
  invalid_field: 400,
  unknown_field: 404,
  invalid_input: 422,
  unknown_node: 422,
  invalid_update: 422,
  thread_interrupted: 409,
  turn_cancelled: 409,
  turn_settled: 409,
  thread_exists: 409,
  thread_deleted: 410,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  turn_failed: 502,
  unavailable: 503,
} as const;

export type ProblemCode = keyof typeof problemStatus;
