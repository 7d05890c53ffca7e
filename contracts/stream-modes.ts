/**
 * What those who listen to a turn want to see besides its text: LangGraph's stream modes, as bits of one number, so that
 * whoever joins adds theirs. Bit 0 is not used: it says in the turn's row that somebody listens at all.
 */
export const streamModes = ['values', 'updates', 'messages', 'custom', 'tasks', 'debug'] as const;
export type StreamMode = (typeof streamModes)[number];

/** A set of stream modes; `subgraphs` asks for those of subgraphs too. */
export type ModeSet = number;

export const noModes: ModeSet = 0;
const subgraphsBit = 1 << 7;
const bitOf = (mode: StreamMode): number => 2 << streamModes.indexOf(mode);

export const modeSet = (modes: readonly StreamMode[], subgraphs: boolean): ModeSet =>
  modes.reduce((set, mode) => set | bitOf(mode), subgraphs && modes.length > 0 ? subgraphsBit : 0);

export const hasMode = (set: ModeSet, mode: StreamMode): boolean => (set & bitOf(mode)) !== 0;
export const hasSubgraphs = (set: ModeSet): boolean => (set & subgraphsBit) !== 0;
export const modesOf = (set: ModeSet): readonly StreamMode[] =>
  streamModes.filter((mode) => hasMode(set, mode));

/** Whether a viewer of these modes is shown an event of this name: `updates`, or `updates|<namespace>` from a subgraph. */
export function showsEvent(set: ModeSet, event: string): boolean {
  const [mode, ...namespace] = event.split('|');
  const known = streamModes.find((name) => name === mode);
  return (
    known !== undefined && hasMode(set, known) && (namespace.length === 0 || hasSubgraphs(set))
  );
}
