import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  catchUp,
  joining,
  moveTo,
  present,
  showFrame,
  type Shows,
  type Viewer,
} from '../../api/viewer.js';
import { noText, traced } from '../../contracts/text-trace.js';
import type { Frame, FrameBody, Shown } from '../../contracts/frames.js';

const token = (fence: number, seq: number, text: string, step = 0): Frame => ({
  ...{ turn: 't', fence, seq, step, kind: 'token' },
  data: { message_id: 'm', text },
});

/** Applies events as a client does. */
const client = (text: string, { events }: Shows): string =>
  events.reduce((shown, { event, data }) => {
    const { text: more = '' } = JSON.parse(data) as { text?: string };
    if (event === 'snapshot' || event === 'reset') return more;
    return event === 'token' ? shown + more : shown;
  }, text);

describe('P10 the viewer', () => {
  test('whatever is lost, late, doubled or held back, it shows a prefix of the live attempt, and all of it in the end', () => {
    const attempt = fc.array(
      fc.record({
        lost: fc.boolean(),
        doubled: fc.boolean(),
        hold: fc.boolean(),
        look: fc.boolean(),
      }),
      { minLength: 1, maxLength: 30 },
    );
    const attempts = fc.array(attempt, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(attempts, fc.boolean(), (runs, joins) => {
        let viewer = joins ? joining('t', 0) : present('t', 0);
        let shown = '';
        const ids: string[] = [];
        let known: Shown | undefined;
        const apply = (shows: Shows): void => {
          shown = client(shown, shows);
          ids.push(...shows.events.flatMap((e) => e.id ?? []));
          viewer = shows.viewer;
          expect(viewer.shows).toEqual(traced(noText, shown));
        };
        const look = (): void => {
          for (let before; before !== viewer;) {
            before = viewer;
            apply(catchUp(viewer, known));
          }
        };
        runs.forEach((frames, index) => {
          const fence = index + 1;
          let said = '';
          frames.forEach(({ lost, doubled, hold, look: looks }, i) => {
            const frame = token(fence, i + 1, `${fence}:${i} `);
            said += `${fence}:${i} `;
            known = { fence, step: 0, seq: i + 1, text: said };
            if (!lost) apply(showFrame(viewer, frame, hold));
            if (doubled) apply(showFrame(viewer, frame, hold));
            if (looks) look();
            if (viewer.fence === fence) expect(said.startsWith(shown)).toBe(true);
          });
          apply(moveTo(viewer, fence, 0));
          // A zombie's frame is not shown.
          if (fence > 1) apply(showFrame(viewer, token(fence - 1, 99, 'zombie'), false));
          apply(showFrame(viewer, token(fence, frames.length + 2, 'last'), false));
          known = { fence, step: 0, seq: frames.length + 2, text: `${said}?last` };
          look();
          expect(shown).toBe(`${said}?last`);
        });
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  test('a reset comes exactly when an unfinished frame of this step was shown under a lower fence', () => {
    const shown = showFrame(present('t', 1), token(1, 1, 'a', 2), false).viewer;
    const resets = ({ events }: Shows): boolean => events.some((e) => e.event === 'reset');
    expect(resets(moveTo(shown, 2, 2))).toBe(true);
    expect(resets(moveTo(shown, 2, 3))).toBe(false);
    expect(resets(moveTo(shown, 1, 2))).toBe(false);
    expect(resets(moveTo(present('t', 1), 2, 0))).toBe(false);
    expect(resets(moveTo(moveTo(shown, 2, 2).viewer, 3, 2))).toBe(false);
  });
});

const frame = (fence: number, seq: number, step: number, body: FrameBody): Frame => ({
  ...body,
  ...{ turn: 't', fence, seq, step },
});

describe('P10 the text of finished work', () => {
  const finished = frame(2, 1, 1, { kind: 'text', data: { text: 'kept ' } });
  const before = [
    token(1, 1, 'kept ', 0),
    frame(1, 2, 1, { kind: 'step', data: { nodes: ['a'], ms: 1 } }),
  ];
  const after = (viewer: Viewer, frames: readonly Frame[]): [string, Viewer] =>
    frames.reduce<[string, Viewer]>(
      ([text, seen], next) => {
        const shows = showFrame(seen, next, false);
        return [client(text, shows), shows.viewer];
      },
      ['', viewer],
    );

  test('comes as a snapshot behind a reset, and leaves a viewer as it is after a yield', () => {
    const lost = [...before, token(1, 3, 'lost', 1), finished, token(2, 2, 'found', 1)];
    expect(after(present('t', 1), lost)[0]).toBe('kept found');
    const yielded = [...before, finished, token(2, 2, 'more', 1)];
    expect(after(present('t', 1), yielded)[0]).toBe('kept more');
    const shows = showFrame(after(present('t', 1), before)[1], finished, false);
    expect(shows.events).toEqual([]);
  });

  test('is what a viewer starts from who showed nothing yet', () => {
    expect(after(present('t', 1), [finished, token(2, 2, 'more', 1)])[0]).toBe('kept more');
  });
});

describe('S4 what is kept for one viewer', () => {
  test('is bounded, however much waits for a gap to close or for a slow reader', () => {
    let gap = joining('t', 1);
    let slow = present('t', 1);
    for (let seq = 2; seq < 2_000; seq++) {
      gap = showFrame(gap, token(1, seq, 'x'.repeat(1_000)), false).viewer;
      slow = showFrame(slow, token(1, seq, 'x'.repeat(1_000)), true).viewer;
    }
    expect(JSON.stringify(gap).length).toBeLessThan(100_000);
    expect(JSON.stringify(slow).length).toBeLessThan(1_000);
  });
});
