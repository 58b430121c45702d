import { describe, expect, test } from 'vitest';
import { hoursFrom, withinHours } from '../../../coordinator/notifications/policy.ts';

const at = (text: string): number => Temporal.ZonedDateTime.from(`${text}[Europe/Berlin]`).epochMilliseconds;
const office = { zone: 'Europe/Berlin', spans: [{ days: [1, 2, 3, 4, 5], from: '09:00', to: '17:00' }] };
const night = { zone: 'Europe/Berlin', spans: [{ days: [5], from: '22:00', to: '06:00' }] };

describe('rule 36: the hours of a channel', () => {
  test.each([
    ['within them at once', office, '2026-11-23T10:00', '2026-11-23T10:00'], // A Monday.
    ['before them when they begin', office, '2026-11-23T08:59', '2026-11-23T09:00'],
    ['their end is outside', office, '2026-11-23T17:00', '2026-11-24T09:00'],
    ['over the weekend on Monday', office, '2026-11-27T18:00', '2026-11-30T09:00'],
    ['past midnight still within', night, '2026-11-28T05:00', '2026-11-28T05:00'], // A Saturday.
    ['after the night a week later', night, '2026-11-28T06:00', '2026-12-04T22:00'],
    ['by the local clock when summer ends', office, '2026-10-23T18:00', '2026-10-26T09:00'],
  ] as const)('rule 36: %s', (_, hours, now, expected) => {
    expect(withinHours(hours, at(now))).toBe(at(expected));
  });

  test('rule 36: what says no hours is refused in words; without spans it is any hour, and a zone is judged all the same', () => {
    const span = { days: [1], from: '09:00', to: '17:00' };
    expect(hoursFrom({ zone: null, spans: [] }, 'UTC')).toBe(null);
    expect(() => hoursFrom({ zone: 'Mars', spans: [] }, 'UTC')).toThrow('Mars');
    expect(() => hoursFrom({ zone: null, spans: Array.from({ length: 22 }, () => span) }, 'UTC')).toThrow('give at most 21 spans');
    expect(() => hoursFrom({ zone: null, spans: [{ days: [8], from: '09:00', to: '17:00' }] }, 'UTC')).toThrow('1 (Monday) to 7 (Sunday)');
    expect(() => hoursFrom({ zone: null, spans: [{ days: [1], from: '9', to: '17:00' }] }, 'UTC')).toThrow('09:00');
    expect(() => hoursFrom({ zone: 'Mars', spans: [{ days: [1], from: '09:00', to: '17:00' }] }, 'UTC')).toThrow('Mars');
    expect(hoursFrom({ zone: null, spans: [{ days: [2, 1, 2], from: '00:00', to: '24:00' }] }, 'UTC')).toEqual({
      zone: 'UTC',
      spans: [{ days: [1, 2], from: '00:00', to: '24:00' }],
    });
  });
});
