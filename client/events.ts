/** The events of a turn, as the gateway names them, and the text that they make. */
import type { Problem, TurnReply } from '../contracts/http.schema.js';
import { type StreamMode, streamModes } from '../contracts/stream-modes.js';

export type TurnEvent =
  | {
      readonly event: 'accepted';
      readonly data: { readonly thread_id: string; readonly turn_id: string };
    }
  /** All text of the turn so far: it replaces what was shown. */
  | { readonly event: 'snapshot'; readonly data: { readonly text: string } }
  | {
      readonly event: 'token';
      readonly data: { readonly message_id?: string; readonly text: string };
    }
  | { readonly event: 'custom'; readonly data: unknown }
  | { readonly event: 'step'; readonly data: unknown }
  /** What was shown of this superstep is void. */
  | { readonly event: 'reset'; readonly data: unknown }
  | { readonly event: 'done'; readonly data: TurnReply }
  | { readonly event: 'error'; readonly data: Problem }
  | ModeEvent;

/** As it came: with the id that `Last-Event-ID` takes. */
export type SeenEvent = TurnEvent & { readonly id?: string };

/** What a stream mode gave that was asked for; from a subgraph under `<mode>|<namespace>`. */
export interface ModeEvent {
  readonly event: Exclude<StreamMode, 'custom'> | `${StreamMode}|${string}`;
  readonly data: unknown;
}

const ownNames = [
  'accepted',
  'snapshot',
  'token',
  'custom',
  'step',
  'reset',
  'done',
  'error',
] as const satisfies readonly TurnEvent['event'][];
const names = new Set<string>([...ownNames, ...streamModes]);

/** Of one server-sent event; undefined for those of a newer gateway. @throws SyntaxError when the data is no JSON */
export function eventOf(name: string | undefined, data: string): TurnEvent | undefined {
  const [mode = ''] = (name ?? '').split('|');
  if (!names.has(mode)) return undefined;
  return { event: name, data: JSON.parse(data) as unknown } as TurnEvent;
}

/** The text that a reader shows, one event later. */
export function textAfter(text: string, event: TurnEvent): string {
  if (event.event === 'snapshot') return event.data.text;
  if (event.event === 'reset') return '';
  return event.event === 'token' ? text + event.data.text : text;
}
