/** What a turn may hand to its graph beside the input, as the LangGraph server names it. */
import { z } from 'zod';
import type { Breakpoints, CallConfig, GraphCommand } from './call-config.js';

/** Names that LangGraph and Everthread set themselves. */
const reserved =
  /^(__|checkpoint_|langgraph_)|^(thread_id|run_id|graph_id|assistant_id|user_id|tenant)$/;

const values = z.record(z.string(), z.json());
const configurable = values.refine(
  (keys) => !Object.keys(keys).some((key) => reserved.test(key)),
  'names a key that the platform sets',
);
const nodeNames = z.array(z.string().min(1).max(256)).max(1_000);
const breakpoints = z.union([z.literal('*'), nodeNames]);
const target = z.union([
  z.string().min(1),
  z.strictObject({ node: z.string().min(1), input: z.json().optional() }),
]);

export const commandSchema = z
  .strictObject({
    resume: z.json().optional(),
    update: z.union([values, z.array(z.tuple([z.string(), z.json()]))]).optional(),
    goto: z.union([target, z.array(target).min(1)]).optional(),
  })
  .refine((command) => Object.keys(command).length > 0, 'is empty');

/** Larger numbers are a slip: LangGraph's default is 25. */
const maxRecursionLimit = 10_000;

export const callFields = {
  config: z
    .strictObject({
      configurable: configurable.optional(),
      metadata: values.optional(),
      tags: z.array(z.string().max(256)).max(100).optional(),
      recursion_limit: z.int().min(1).max(maxRecursionLimit).optional(),
    })
    .optional(),
  context: values.optional(),
  metadata: values.optional(),
  interrupt_before: breakpoints.optional(),
  interrupt_after: breakpoints.optional(),
};

export type CallFields = z.infer<z.ZodObject<typeof callFields>> & {
  readonly command?: z.infer<typeof commandSchema> | undefined;
};

/** Undefined when the request hands nothing over. */
export function callConfigOf(body: CallFields): CallConfig | undefined {
  const { config = {}, context, interrupt_before: before, interrupt_after: after } = body;
  const metadata = { ...config.metadata, ...body.metadata };
  const command = body.command && commandOf(body.command);
  const call: CallConfig = {
    ...(config.configurable !== undefined && { configurable: config.configurable }),
    ...(context !== undefined && { context }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(config.tags !== undefined && { tags: config.tags }),
    ...(config.recursion_limit !== undefined && { recursionLimit: config.recursion_limit }),
    ...(before !== undefined && { interruptBefore: before satisfies Breakpoints }),
    ...(after !== undefined && { interruptAfter: after satisfies Breakpoints }),
    ...(command !== undefined && { command }),
  };
  return Object.keys(call).length > 0 ? call : undefined;
}

/** What is beside the resume; undefined when that is all. */
function commandOf({ update, goto }: z.infer<typeof commandSchema>): GraphCommand | undefined {
  if (update === undefined && goto === undefined) return undefined;
  const targets = goto === undefined ? undefined : [goto].flat();
  return {
    ...(update !== undefined && { update }),
    ...(targets !== undefined && {
      goto: targets.map((one) =>
        typeof one === 'string'
          ? one
          : { node: one.node, ...(one.input !== undefined && { input: one.input }) },
      ),
    }),
  };
}
