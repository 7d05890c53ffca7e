/** What a caller hands to the graph beside the input of a turn, as LangGraph names it. It stands in the turn's row as JSON. */
export interface CallConfig {
  /** Keys of the caller, headers `x-*` among them; what the platform sets wins. */
  readonly configurable?: Readonly<Record<string, unknown>>;
  /** Reaches nodes as `runtime.context` (LangGraph 0.4 and later). */
  readonly context?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly tags?: readonly string[];
  readonly recursionLimit?: number;
  /** In the place of the breakpoints that the graph was compiled with. */
  readonly interruptBefore?: Breakpoints;
  readonly interruptAfter?: Breakpoints;
  /** Goes with a resume, or stands alone in the place of an input. */
  readonly command?: GraphCommand;
}

export type Breakpoints = '*' | readonly string[];

/** LangGraph's `Command` without its `resume`. */
export interface GraphCommand {
  readonly update?: unknown;
  readonly goto?: readonly (string | { readonly node: string; readonly input?: unknown })[];
}
