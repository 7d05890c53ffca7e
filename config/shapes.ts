import { isIP, isIPv4 } from 'node:net';
import ms from 'ms';
import { z } from 'zod';
import type { Shape } from './problems.js';

/** `0` lets the system pick a free port; the one it picked is printed. */
export const port: Shape<number> = {
  schema: z
    .string()
    .regex(/^\d{1,5}$/)
    .transform(Number)
    .refine((n) => n <= 65_535),
  allowed: 'a port, 0-65535 (0 picks a free one)',
};

export const flag: Shape<boolean> = {
  schema: z
    .enum(['true', 'false', '1', '0'])
    .transform((text): boolean => text === 'true' || text === '1'),
  allowed: 'true or false',
};

export const count = (least: number, most: number): Shape<number> => ({
  schema: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .refine((n) => n >= least && n <= most),
  allowed: `a whole number from ${least} to ${most}`,
});

/** A sum of money, in whatever currency the prices are. */
export const amount: Shape<number> = {
  schema: z
    .string()
    .regex(/^\d{1,9}(\.\d{1,6})?$/)
    .transform(Number)
    .refine((n) => n > 0),
  allowed: 'an amount such as 0.05, in the currency of EVERTHREAD_MODEL_PRICES',
};

export const prices: Shape<{ readonly input: number; readonly output: number }> = {
  schema: z
    .string()
    .regex(/^\d{1,6}(\.\d{1,6})?\/\d{1,6}(\.\d{1,6})?$/)
    .transform((text) => {
      const [input = 0, output = 0] = text.split('/').map(Number);
      return { input, output };
    }),
  allowed: 'prices of a million tokens, input/output, such as 0.25/2',
};

export const oneOf = <const T extends string>(...values: [T, ...T[]]): Shape<T> => ({
  schema: z.enum(values),
  allowed: values.join(', '),
});

export const word = (pattern: RegExp, allowed: string): Shape<string> => ({
  schema: z.string().regex(pattern),
  allowed,
});

export const path: Shape<string> = {
  schema: z.string().refine((text) => !text.includes('\0')),
  allowed: 'a path',
};

/** Temporal keeps no timer of more than years sensibly, and a shorter time than this is a missing unit. */
const leastMs = 100;
const hourMs = 3_600_000;

/** A time with its unit: a bare number would leave open whether it counts seconds or milliseconds. */
export function duration(mostHours: number): Shape<number> {
  const most = mostHours * hourMs;
  return {
    schema: z.string().transform(parseMs).pipe(z.number().min(leastMs).max(most)),
    allowed: `a time with its unit such as 30s, 10m or 2h, from ${ms(leastMs)} to ${ms(most)}`,
  };
}

export function durationOrNever(mostHours: number): Shape<number | null> {
  const timed = duration(mostHours);
  return {
    schema: z.union([z.literal('never').transform(() => null), timed.schema]),
    allowed: `${timed.allowed}, or never`,
  };
}

/** `ms` gives undefined for a unit that it does not know, which its types do not say. */
const parseMs = (text: string): unknown =>
  /^\d+(\.\d+)?\s*[a-z]+$/i.test(text) ? ms(text as ms.StringValue) : undefined;

export const host: Shape<string> = {
  schema: z
    .string()
    .refine((text) => isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)),
  allowed: 'a host name or an IP address (IPv6 without brackets)',
};

/** An address that only this machine can reach. */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'));

export const postgresUrl: Shape<string> = {
  schema: z.string().refine((text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text)),
  allowed: 'postgresql://user:password@host:port/database',
  secret: true,
};

export const httpUrl: Shape<string> = {
  schema: z.string().refine((text) => /^https?:\/\//.test(text) && URL.canParse(text)),
  allowed: 'http://host:port or https://host:port',
  secret: true,
};

export const hostAndPort: Shape<string> = {
  schema: z.string().regex(/^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+)(:\d{1,5})?$/i),
  allowed: 'host:port of a Temporal server, without a scheme',
};

/** Providers that LangChain's `initChatModel` knows; a test compares them with its list. */
export const modelProviders: ReadonlySet<string> = new Set(
  (
    'openai anthropic azure_openai langsmith cohere google google-vertexai google-vertexai-web google-genai ollama mistralai ' +
    'mistral groq bedrock aws deepseek xai cerebras fireworks together perplexity'
  ).split(' '),
);

/** Names such as `gpt-5-mini` and `amazon.nova-pro-v1:0` have a provider that LangChain infers; a plain word has none. */
export const model: Shape<string> = {
  schema: z.string().refine((text) => {
    const [, first = '', rest] = /^([^\s:]+)(?::(\S*))?$/.exec(text) ?? [];
    if (first === '' || rest === '') return false;
    return rest === undefined
      ? text === 'builtin' || !/^[a-z_]+$/i.test(text)
      : modelProviders.has(first) || /[.\d-]/.test(first);
  }),
  allowed: `builtin, or provider:model such as openai:gpt-5-mini (providers: ${[...modelProviders].join(', ')})`,
};
