/** What a turn asks of its thread. It stands in the turn's row as JSON, so builds of one fleet read each other's. */

import type { CallConfig } from './call-config.js';

/** Runs the graph. `message` becomes one human message whose id is the turn id. */
export type RunInput = (
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'input'; readonly value: unknown }
  | { readonly kind: 'resume'; readonly value: unknown }
) & {
  /** Whose long-term memory the run may use; part of what the request is (M19). */
  readonly userId?: string;
  /** What the caller hands to the graph beside the input. */
  readonly call?: CallConfig;
  /** A fork: runs on from an earlier version's state. Those after it stay in the history. */
  readonly fromVersion?: number;
};

/** A typed field (F1). */
export type FieldEdit =
  | { readonly kind: 'set_field'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'delete_field'; readonly name: string };

/** LangGraph's own `updateState`: through reducers, as if a node had returned the values (F5). */
export interface StateUpdate {
  readonly kind: 'update_state';
  readonly values: unknown;
  readonly asNode?: string;
}

/** The state that an earlier version left, as a new version (F6). */
export interface StateReset {
  readonly kind: 'reset';
  readonly toVersion: number;
}

/** Changes the thread's state in the order of its turns; no node runs and no model is called (F1). */
export type EditInput = FieldEdit | StateUpdate | StateReset;

export type TurnInput = RunInput | EditInput;

export function isEdit(input: TurnInput): input is EditInput {
  switch (input.kind) {
    case 'set_field':
    case 'delete_field':
    case 'update_state':
    case 'reset':
      return true;
    case 'message':
    case 'input':
    case 'resume':
      return false;
  }
}

/** The version whose state a turn stands on, where that is not the newest. */
export const startsAt = (input: TurnInput): number | undefined =>
  input.kind === 'reset' ? input.toVersion : isEdit(input) ? undefined : input.fromVersion;

/** A field's write takes a waiting question away, and is refused (F4); a state's keeps what waits (F5). */
export const isFieldEdit = ({ kind }: TurnInput): boolean =>
  kind === 'set_field' || kind === 'delete_field';
