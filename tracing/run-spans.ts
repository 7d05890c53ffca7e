/** Spans of what runs within a turn, below the span of its activity. Names after the conventions for generative AI where there are any. */
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import type { ListenToRuns, RunEvent } from '../contracts/run-event.js';

type Began = Extract<RunEvent, { kind: 'began' }>;

export const runSpans =
  (tracer: Tracer): ListenToRuns =>
  ({ graph }) => {
    const activity = context.active();
    // Not sampled: nobody will see what the callbacks would cost.
    if (trace.getSpan(activity)?.isRecording() !== true) return undefined;
    const open = new Map<string, Span>();
    return (event) => {
      switch (event.kind) {
        case 'began':
          open.set(event.id, begin(tracer, event, parentOf(event, open, activity), graph));
          return;
        case 'ended': {
          const span = open.get(event.id);
          open.delete(event.id);
          if (span !== undefined) end(span, event);
        }
      }
    };
  };

function parentOf({ within }: Began, open: ReadonlyMap<string, Span>, otherwise: Context): Context {
  const span = within === undefined ? undefined : open.get(within);
  return span === undefined ? otherwise : trace.setSpan(otherwise, span);
}

function begin(
  tracer: Tracer,
  { part, atMs: startTime }: Began,
  parent: Context,
  graph: string,
): Span {
  switch (part.what) {
    case 'node': {
      const attributes = {
        'everthread.graph': graph,
        'everthread.node': part.name,
        'everthread.step': part.step,
      };
      return tracer.startSpan(`node ${part.name}`, { attributes, startTime }, parent);
    }
    case 'tool': {
      const attributes = operation('execute_tool', { 'gen_ai.tool.name': part.name });
      return tracer.startSpan(`execute_tool ${part.name}`, { attributes, startTime }, parent);
    }
    case 'model': {
      const { provider, model } = part;
      const named = { 'gen_ai.provider.name': provider, 'gen_ai.request.model': model };
      const options = { kind: SpanKind.CLIENT, attributes: operation('chat', named), startTime };
      return tracer.startSpan(`chat ${model}`, options, parent);
    }
  }
}

const operation = (name: string, attributes: Attributes): Attributes => ({
  'gen_ai.operation.name': name,
  ...attributes,
});

function end(span: Span, { atMs, error, tokens }: Extract<RunEvent, { kind: 'ended' }>): void {
  if (tokens !== undefined) {
    span.setAttribute('gen_ai.usage.input_tokens', tokens.input);
    span.setAttribute('gen_ai.usage.output_tokens', tokens.output);
  }
  if (error !== undefined) {
    span.setAttribute('error.type', error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(atMs);
}
