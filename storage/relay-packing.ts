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
    const read = parsed(payload);
    if (hasFrames(read)) return read.frames;
    if (!isPart(read)) return [];
    const { id, index, of, text } = read.part;
    const parts = unfinished.get(id) ?? [];
    parts[index] = text;
    unfinished.set(id, parts);
    if (unfinished.size > maxUnfinished) unfinished.delete(unfinished.keys().next().value ?? '');
    if (index !== of - 1) return [];
    unfinished.delete(id);
    if (parts.filter((part) => part !== undefined).length !== of) return [];
    const frame = parsed(Buffer.from(parts.join(''), 'base64').toString());
    return isFrame(frame) ? [frame] : [];
  };
}

/** Anybody who may use the database may NOTIFY: what is not ours is passed over, and ends nothing. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;
type Frames = Extract<Payload, { readonly frames: unknown }>;
type Part = Extract<Payload, { readonly part: unknown }>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

const isFrame = (value: unknown): value is Frame => typeof fieldsOf(value).turn === 'string';

function hasFrames(value: unknown): value is Frames {
  const { frames } = fieldsOf(value);
  return Array.isArray(frames) && frames.every(isFrame);
}

function isPart(value: unknown): value is Part {
  const { id, index, of, text } = fieldsOf(fieldsOf(value).part);
  return (
    typeof id === 'string' &&
    isCount(index) &&
    isCount(of) &&
    index < of &&
    typeof text === 'string'
  );
}

/** Parts of one frame: far more than the largest frame has, far fewer than would fill the memory. */
const maxParts = 100_000;

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxParts;
