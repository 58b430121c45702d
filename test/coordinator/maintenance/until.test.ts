import { expect, test } from 'vitest';
import { instantOf, type Moment } from '../../../coordinator/maintenance/recurrence.ts';
import { draftWindow, occurrencesOf } from '../../../coordinator/maintenance/window.ts';

const day = 86_400_000;
const hour = 3_600_000;
const utc = (text: string): number => Date.parse(`${text}Z`);
const local = (text: string): Moment => ({ is: 'local', local: `${text}:00.000` });
const window = (starts_at: Moment, ends_at: Moment, rrule: string, zone: string) =>
  draftWindow({ name: null, starts_at, ends_at, rrule }, zone).schedule;

test('a rule may end with its first occurrence, in every zone, however UNTIL is written', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const [at, ends] = [utc('2026-06-03T02:00'), local('2026-06-03T03:00')];
    const starts = instantOf(at, zone);
    const zulu = (time: number): string => `${new Date(time).toISOString().replaceAll(/[-:]|\.000/g, '')}`;
    for (const [until, days] of [
      [zulu(starts), 1],
      [zulu(starts + hour), 1],
      [zulu(starts + day), 2],
      ['20260603T020000', 1],
    ] as const) {
      const schedule = window(local('2026-06-03T02:00'), ends, `FREQ=DAILY;UNTIL=${until}`, zone);
      const { occurrences, ended } = occurrencesOf(schedule, { from: starts, to: starts + 9 * day });
      expect([occurrences.length, ended], `${zone} ${until}`).toEqual([days, true]);
    }
  }
});

test('a rule is not taken to occur where only the margin of another clock would let it', () => {
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Niue', 'Europe/Berlin']) {
    const starts = new Date(instantOf(utc('2026-06-03T02:00'), zone) + 23 * hour);
    const until = starts.toISOString().replaceAll(/[-:]|\.000/g, '');
    const thursday = (text: string) => window(local('2026-06-03T02:00'), local('2026-06-03T03:00'), text, zone);
    expect(() => thursday(`FREQ=WEEKLY;BYDAY=TH;UNTIL=${until}`), zone).toThrow(/never occurs/);
    expect(() => thursday('FREQ=WEEKLY;BYDAY=TH;UNTIL=20260604T015959'), zone).toThrow(/never occurs/);
    expect(thursday('FREQ=WEEKLY;BYDAY=TH;UNTIL=20260604T020000').rrule, zone).toContain('TH');
  }
});
