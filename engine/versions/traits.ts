/** What a project's copy of LangGraph lacks; the adapters beside this file make up for it. */
import type { LangGraphModules } from '../project/types.js';

export interface Traits {
  /** The saver of a call counts, whatever the graph was compiled with. */
  readonly savesPerCall: boolean;
  /** `durability: 'sync'` holds the next superstep until the one before is saved. */
  readonly savesInStep: boolean;
  /** The stream of values ends with `__interrupt__`. */
  readonly tellsInterrupts: boolean;
}

export const traitsOf = ({ versions: { langgraph } }: LangGraphModules): Traits => ({
  savesPerCall: isAtLeast(langgraph, 0, 3),
  savesInStep: isAtLeast(langgraph, 0, 4),
  tellsInterrupts: isAtLeast(langgraph, 0, 3),
});

/** A version that cannot be read counts as new. */
export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [foundMajor = Infinity, foundMinor = Infinity] = numbersOf(version);
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

/** Major and minor: releases that differ in the patch alone read each other's threads. */
export const numbersOf = (version: string): readonly number[] =>
  /^(\d+)\.(\d+)\./.exec(version)?.slice(1).map(Number) ?? [];
