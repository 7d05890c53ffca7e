/** A drain that is asked for before the engine listens is asked for again when it does. */
export function drainSwitch(): { request: () => void } {
  let asked = false;
  let act = (): void => undefined;
  return {
    get request() {
      return () => {
        asked = true;
        act();
      };
    },
    set request(listener) {
      act = listener;
      if (asked) listener();
    },
  };
}
