/** How frames travel as NOTIFY payloads: many in one, a long one in several. Pure. */
import type { Frame } from '../contracts/frames.js';

/** PostgreSQL refuses payloads of 8,000 bytes and more. */
export const maxPayloadBytes = 7_900;

/** A payload: whole frames, or one part of a frame that does not fit into one. */
type Payload =
  | { readonly frames: readonly Frame[] }
  | {
      readonly part: {
        readonly id: string;
        readonly index: number;
        readonly of: number;
        readonly text: string;
      };
    };

/** Room that JSON needs around a part's text. */
const partOverheadBytes = 300;

/** A frame and its JSON. */
export interface WrittenFrame {
  readonly frame: Frame;
  readonly text: string;
}

/** Packs frames into as few payloads as fit, in order. */
export function packFrames(frames: readonly WrittenFrame[]): readonly string[] {
  const payloads: string[] = [];
  let open: string[] = [];
  let openBytes = 0;
  const close = (): void => {
    if (open.length > 0) payloads.push(`{"frames":[${open.join(',')}]}`);
    open = [];
    openBytes = 0;
  };
  for (const { frame, text } of frames) {
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > maxPayloadBytes - 20) {
      close();
      payloads.push(...partsOf(frame, text));
      continue;
    }
    if (openBytes + bytes > maxPayloadBytes - 20) close();
    open.push(text);
    openBytes += bytes;
  }
  close();
  return payloads;
}

function partsOf(frame: Frame, text: string): readonly string[] {
  // Base64 has one byte a character and needs no escapes, so the size of a part is known.
  const encoded = Buffer.from(text).toString('base64');
  const size = maxPayloadBytes - partOverheadBytes;
  const of = Math.ceil(encoded.length / size);
  const id = `${frame.turn}.${frame.fence}.${frame.seq}`;
  return Array.from({ length: of }, (_, index) =>
    JSON.stringify({
      part: { id, index, of, text: encoded.slice(index * size, (index + 1) * size) },
    }),
  );
}

/** Most unfinished long frames that are kept: parts of one come together, so more are leftovers of lost connections. */
const maxUnfinished = 64;

/** Unpacks payloads of one connection, in order; parts are joined when the last has come. */
export function frameReader(): (payload: string) => readonly Frame[] {
  const unfinished = new Map<string, (string | undefined)[]>();
  return (payload) => {
    const read = parsePayload(payload);
    if (read === undefined) return [];
    if ('frames' in read) return read.frames;
    const { id, index, of, text } = read.part;
    const parts = unfinished.get(id) ?? [];
    parts[index] = text;
    unfinished.set(id, parts);
    if (unfinished.size > maxUnfinished) unfinished.delete(unfinished.keys().next().value ?? '');
    if (index !== of - 1) return [];
    unfinished.delete(id);
    if (parts.filter((part) => part !== undefined).length !== of) return [];
    return [JSON.parse(Buffer.from(parts.join(''), 'base64').toString()) as Frame];
  };
}

/** Anybody who may use the database may NOTIFY: what is not ours is passed over. */
function parsePayload(payload: string): Payload | undefined {
  try {
    return JSON.parse(payload) as Payload;
  } catch {
    return undefined;
  }
}
