/** Keeps frames small, whatever a model or a node gives: they pass through every process that shows the turn. Pure. */
import type { FrameBody } from '../contracts/frames.js';
import { maxShownChars } from '../contracts/shown.js';

/** Longer text is split: a frame of ASCII then fits into one NOTIFY payload. */
const tokenChars = 4_000;
/** What a slow reader may leave unsent. */
export const maxDataChars = 64 << 10;

/** The same in one frame or several. */
export function bounded(body: FrameBody, threadId: string): readonly FrameBody[] {
  switch (body.kind) {
    case 'token':
      return split(body.data.text).map((text) => ({
        kind: 'token',
        data: { message_id: body.data.message_id, text },
      }));
    case 'custom':
      return [{ kind: 'custom', data: boundedData(body.data, threadId) }];
    case 'mode': {
      const { event, data } = body.data;
      return [{ kind: 'mode', data: { event, data: boundedData(data, threadId) } }];
    }
    case 'text':
      // The viewers of so long a turn are shown what comes from here on, and in the end all.
      return (body.data.text?.length ?? 0) > maxShownChars
        ? [{ kind: 'text', data: { text: null } }]
        : [body];
    case 'step':
    case 'wake':
      return [body];
  }
}

/** In place of data that is too long to be shown. */
export interface Truncated {
  readonly truncated: {
    readonly chars: number;
    readonly limit: number;
    /** Where the state can be read once the turn has committed. */
    readonly see: string;
  };
}

function boundedData(data: unknown, threadId: string): unknown {
  const chars = charsOf(data);
  if (chars === undefined || chars <= maxDataChars) return data;
  const see = `/v1/threads/${threadId}/state`;
  return { truncated: { chars, limit: maxDataChars, see } } satisfies Truncated;
}

/** Undefined for what is no JSON: nobody will be shown it. */
function charsOf(data: unknown): number | undefined {
  try {
    return (JSON.stringify(data) as string | undefined)?.length;
  } catch {
    return undefined;
  }
}

function split(text: string): readonly string[] {
  if (text.length <= tokenChars) return [text];
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + tokenChars;
    // Not between the halves of one character.
    const cut = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
    parts.push(text.slice(at, cut));
    at = cut;
  }
  return parts;
}
