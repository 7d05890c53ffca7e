import { tool } from '@langchain/core/tools';
import { z } from 'zod';

/** The time in a zone as ISO 8601 with its offset. @throws RangeError on an unknown zone */
export function isoTimeIn(zone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
    timeZoneName: 'longOffset',
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes): string =>
    parts.find((p) => p.type === type)?.value ?? '';
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
}

export const createClock = (now: () => Date = () => new Date()) =>
  tool(({ zone }) => isoTimeIn(zone, now()), {
    name: 'clock',
    description: 'The current date and time in a time zone, as ISO 8601.',
    schema: z.object({
      zone: z.string().max(64).default('UTC').describe('IANA time zone, such as Europe/Berlin'),
    }),
  });
