/** What a run tells of itself as it goes, for traces and metrics: names and numbers, never content. Plain data, since it crosses threads. */
export type RunEvent =
  | {
      readonly kind: 'began';
      readonly id: string;
      /** Of the wall clock, with parts of a millisecond. */
      readonly atMs: number;
      readonly part: RunPart;
      /** Id of the told part that this one is within; absent in those of the run itself. */
      readonly within?: string;
    }
  | {
      readonly kind: 'ended';
      readonly id: string;
      readonly atMs: number;
      /** The class of what was thrown; absent when all went well. */
      readonly error?: string;
      /** Of a model call whose provider tells them. */
      readonly tokens?: { readonly input: number; readonly output: number };
    };

export type RunPart =
  | { readonly what: 'node'; readonly name: string; readonly step: number }
  | { readonly what: 'model'; readonly provider: string; readonly model: string }
  | { readonly what: 'tool'; readonly name: string };

/** Hears one run. Must not throw. */
export type RunListener = (event: RunEvent) => void;
/** Asked once for each run; undefined when nobody wants to hear it. */
export type ListenToRuns = (turn: { readonly graph: string }) => RunListener | undefined;

/** One listener for several; undefined when there is none, so that a run that nobody hears costs nothing. */
export function allListening(
  ...listeners: readonly (ListenToRuns | undefined)[]
): ListenToRuns | undefined {
  const wanted = listeners.filter((listen) => listen !== undefined);
  if (wanted.length === 0) return undefined;
  return (turn) => {
    const heard = wanted.map((listen) => listen(turn)).filter((hear) => hear !== undefined);
    if (heard.length === 0) return undefined;
    return (event) => {
      for (const hear of heard) hear(event);
    };
  };
}
