import type { z } from 'zod';
import { valueOf } from './env.js';
import type { Environment, Variable } from './env.js';

/** One setting that cannot be used: which, why, and what would do. Never holds a secret's value. */
export interface ConfigProblem {
  readonly variable: Variable;
  readonly wrong: string;
  readonly allowed: string;
}

/** The settings cannot be used. Lists every problem at once, so that a person fixes them in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.map((p) => `  - ${p.variable} ${p.wrong}. Allowed: ${p.allowed}.`);
    super(['These settings cannot be used:', ...lines].join('\n'));
    this.problems = problems;
  }
}

/** What a value must look like, in words for a person, and whether the value may be shown. */
export interface Shape<T> {
  readonly schema: z.ZodType<T>;
  readonly allowed: string;
  readonly secret?: boolean;
}

/** Reads variables one by one and remembers what is wrong instead of stopping. */
export interface SettingReader {
  /** The value, or `fallback` when the variable is unset or wrong (then a problem is noted). */
  readonly read: <T, F>(variable: Variable, shape: Shape<T>, fallback: F) => T | F;
  readonly given: (variable: Variable) => boolean;
  readonly refuse: (problem: ConfigProblem) => void;
  readonly problems: readonly ConfigProblem[];
}

export function settingReader(env: Environment): SettingReader {
  const problems: ConfigProblem[] = [];
  return {
    problems,
    read(variable, { schema, allowed, secret }, fallback) {
      const value = valueOf(env, variable);
      if (value === undefined) return fallback;
      const parsed = schema.safeParse(value);
      if (parsed.success) return parsed.data;
      const wrong = secret === true ? 'is not valid (not shown: it may hold a secret)' : '';
      problems.push({ variable, wrong: wrong || `is ${JSON.stringify(value)}`, allowed });
      return fallback;
    },
    given: (variable) => valueOf(env, variable) !== undefined,
    refuse: (problem) => problems.push(problem),
  };
}
