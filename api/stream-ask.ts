/** Which of LangGraph's stream modes a request asks for, in its body or in its query. */
import type { Request } from 'express';
import { z } from 'zod';
import { streamOptions } from '../contracts/http.schema.js';
import { type ModeSet, modeSet, type StreamMode } from '../contracts/stream-modes.js';
import { parseValue } from './body.js';

export interface StreamAsk {
  readonly stream_mode?: StreamMode | readonly StreamMode[] | undefined;
  readonly stream_subgraphs?: boolean | undefined;
}

export function modesAsked({ stream_mode: asked = [], stream_subgraphs }: StreamAsk = {}): ModeSet {
  const modes = typeof asked === 'string' ? [asked] : asked;
  return modeSet(modes, stream_subgraphs === true);
}

const querySchema = z.object(streamOptions);

/** `?stream_mode=updates&stream_mode=values`, or with commas. @throws Problem */
export function streamAskOf(query: Request['query']): StreamAsk {
  const { stream_mode: given, stream_subgraphs: subgraphs } = query;
  const modes = [given ?? []]
    .flat()
    .flatMap((text) => (typeof text === 'string' ? text.split(',') : ['']));
  return parseValue(querySchema, {
    ...(modes.length > 0 && { stream_mode: modes }),
    ...(subgraphs !== undefined && { stream_subgraphs: subgraphs === 'true' || subgraphs === '1' }),
  });
}
