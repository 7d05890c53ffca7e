/** Runs `work` at once, or once more when the run under way has ended. Many calls in between count as one. */
export function oneAtATime(
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): () => void {
  let state: 'idle' | 'running' | 'again' = 'idle';
  const stateNow = (): typeof state => state;
  const run = async (): Promise<void> => {
    state = 'running';
    await work().catch(onError);
    const repeat = stateNow() === 'again';
    state = 'idle';
    if (repeat) void run();
  };
  return () => {
    if (state === 'idle') void run();
    else state = 'again';
  };
}
