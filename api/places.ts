/** Few at once hold something large; the others wait in line. */
export interface Places {
  /** @returns a function that gives the place back; may be called again without effect */
  take(): Promise<() => void>;
}

export function places(count: number): Places {
  const line: (() => void)[] = [];
  let free = count;
  return {
    async take() {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => line.push(resolve));
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        const next = line.shift();
        if (next === undefined) free += 1;
        else next();
      };
    },
  };
}
