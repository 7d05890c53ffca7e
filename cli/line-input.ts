/** Lines that a person types, or that come through a pipe. */
import { createInterface } from 'node:readline';

export type Line =
  | { readonly kind: 'line'; readonly text: string }
  /** Ctrl-D, or the end of the pipe. */
  | { readonly kind: 'end' }
  /** Ctrl-C while a line was awaited. */
  | { readonly kind: 'interrupt' };

export interface CtrlC {
  /** Calls `onInterrupt` at Ctrl-C, until the function that it gives is called. */
  whileBusy(onInterrupt: () => void): () => void;
}

export interface LineInput extends CtrlC {
  /** The next line; what was typed ahead comes first. A prompt is shown to a person only. */
  next(prompt: string): Promise<Line>;
  close(): void;
}

/** Ctrl-C without reading anything. */
export const ctrlC = (): CtrlC => ({
  whileBusy(onInterrupt) {
    process.on('SIGINT', onInterrupt);
    return () => process.off('SIGINT', onInterrupt);
  },
});

export interface LineInputOptions {
  readonly input: NodeJS.ReadStream;
  /** Prompt and echo go here: standard error, so that standard output holds replies only. */
  readonly output: NodeJS.WriteStream;
}

export function lineInput({ input, output }: LineInputOptions): LineInput {
  const typed = input.isTTY && output.isTTY;
  const lines = createInterface({ input, ...(typed && { output }), terminal: typed });
  const waiting: Line[] = [];
  let take: ((line: Line) => void) | undefined;
  let busy: (() => void) | undefined;
  const give = (line: Line): void => {
    if (take === undefined) waiting.push(line);
    else take(line);
    take = undefined;
  };
  const onInterrupt = (): void => {
    if (busy !== undefined) busy();
    else give({ kind: 'interrupt' });
  };
  lines.on('line', (text) => give({ kind: 'line', text }));
  lines.on('close', () => give({ kind: 'end' }));
  // In raw mode Ctrl-C is a key; otherwise it is a signal.
  lines.on('SIGINT', onInterrupt);
  process.on('SIGINT', onInterrupt);

  return {
    next(prompt) {
      const line = waiting[0];
      if (line !== undefined) {
        if (line.kind !== 'end') waiting.shift(); // the end stays the end
        return Promise.resolve(line);
      }
      if (typed) {
        lines.setPrompt(prompt);
        lines.prompt();
      }
      return new Promise((resolve) => (take = resolve));
    },
    whileBusy(onBusyInterrupt) {
      busy = onBusyInterrupt;
      return () => (busy = undefined);
    },
    close() {
      process.off('SIGINT', onInterrupt);
      lines.close();
    },
  };
}
