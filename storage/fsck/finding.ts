/** What a check of the store can find (DESIGN 6, SPEC O1-O4). Findings are values: a person reads `what`, a machine `code`. */
import type { ThreadKey } from '../../contracts/protocol.js';

export type FindingCode =
  // the thread's row
  | 'next_seq_low'
  | 'settled_seq_wrong'
  | 'tombstone_not_empty'
  | 'head_wrong'
  | 'versions_not_dense'
  | 'run_not_recorded'
  // its turns
  | 'turn_status_torn'
  | 'turn_incomplete'
  | 'turn_of_unborn_epoch'
  | 'dead_turn_open'
  | 'dead_turn_content'
  // what hangs on turns
  | 'key_astray'
  | 'rows_left_over'
  | 'draft_left_over'
  | 'run_left_over'
  | 'position_twice'
  | 'state_broken'
  // the store as a whole
  | 'rows_without_thread'
  | 'memory_without_owner'
  | 'file_damaged'
  // turns that nobody works on
  | 'turn_quiet'
  | 'turn_not_running';

export interface Finding {
  readonly code: FindingCode;
  /** A warning heals by itself or harms nobody; only errors count for the exit code. */
  readonly severity: 'error' | 'warning';
  /** Null when the finding is about the store as a whole. */
  readonly thread: ThreadKey | null;
  readonly epoch: number | null;
  readonly seq: number | null;
  readonly turnId: string | null;
  /** One sentence, with ids and numbers, never content. */
  readonly what: string;
  /** What `--repair` does about it; null when only a person can (`advice`). */
  readonly repair: string | null;
  readonly advice: string | null;
}

/** Where in the store, and what is known of it. */
export interface About {
  readonly thread?: ThreadKey;
  readonly epoch?: number;
  readonly seq?: number;
  readonly turnId?: string;
}

type Remedy =
  | { readonly repair: string; readonly advice?: never }
  | { readonly advice: string; readonly repair?: never };

type Make = (code: FindingCode, about: About, what: string, remedy: Remedy) => Finding;

const findingOf =
  (severity: Finding['severity']): Make =>
  (code, about, what, remedy) => ({
    code,
    severity,
    thread: about.thread ?? null,
    epoch: about.epoch ?? null,
    seq: about.seq ?? null,
    turnId: about.turnId ?? null,
    what,
    repair: remedy.repair ?? null,
    advice: remedy.advice ?? null,
  });

/** An invariant that does not hold. */
export const broken = findingOf('error');
export const warning = findingOf('warning');

/** What nobody can compute from what is left. */
export const onlyBackup = {
  advice: 'Restore a backup, or delete the thread: what is missing cannot be made again.',
} as const;
