import { rrulestr } from 'rrule';
import { describe, expect, test } from 'vitest';
import { ruleFrom } from '../../../coordinator/maintenance/recurrence.ts';
import {
  draftWindow,
  occurrencesAhead,
  type Schedule,
} from '../../../coordinator/maintenance/window.ts';
import { ruleWords } from '../../../coordinator/maintenance/words.ts';

describe('a rule in words', () => {
  // A Tuesday, the fourth of its month.
  const start = Date.parse('2026-11-24T02:00:00Z');
  const words = (rule: string, at = start): string => ruleWords(ruleFrom(rule), at);

  test.each([
    ['FREQ=DAILY', 'every day'],
    ['FREQ=DAILY;INTERVAL=3', 'every 3 days'],
    ['FREQ=WEEKLY', 'every week on Tuesday'],
    ['FREQ=WEEKLY;BYDAY=SU', 'every week on Sunday'],
    ['FREQ=WEEKLY;BYDAY=FR,MO', 'every week on Monday and Friday'],
    ['FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR', 'every weekday'],
    ['FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR', 'every weekday'],
    [
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR',
      'every 2 weeks on Monday, Tuesday, Wednesday, Thursday and Friday',
    ],
    [
      'FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO',
      'every 2 weeks on Monday, in weeks that begin on Sunday',
    ],
    ['FREQ=MONTHLY', 'every month on the 24th'],
    ['FREQ=MONTHLY;BYMONTHDAY=1,-1', 'every month on the 1st and the last day'],
    ['FREQ=MONTHLY;BYMONTHDAY=-2', 'every month on the 2nd to last day'],
    ['FREQ=MONTHLY;BYDAY=2TU', 'every month on the 2nd Tuesday'],
    ['FREQ=MONTHLY;BYDAY=-1FR', 'every month on the last Friday'],
    ['FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR', 'every month on the 13th where that is a Friday'],
    [
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
      'every month on Monday, Tuesday, Wednesday, Thursday and Friday, of these only the last in each month',
    ],
    ['FREQ=YEARLY', 'every year on 24 November'],
    ['FREQ=YEARLY;BYMONTH=3,9', 'every year in March and September on the 24th'],
    ['FREQ=YEARLY;BYMONTH=1;BYDAY=1SU', 'every year in January on the 1st Sunday'],
    ['FREQ=YEARLY;BYWEEKNO=20', 'every year in week 20 on Tuesday'],
    ['FREQ=YEARLY;BYYEARDAY=100,-1', 'every year on the last and 100th day of the year'],
    ['FREQ=DAILY;BYHOUR=2,14;BYMINUTE=30', 'every day at 02:30 and 14:30'],
    ['FREQ=DAILY;BYMINUTE=0,30', 'every day at 02:00 and 02:30'],
    ['FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6', 'every day at 7 times of the day'],
    ['FREQ=DAILY;BYDAY=MO', 'every day if it is a Monday'],
    ['FREQ=HOURLY;INTERVAL=6', 'every 6 hours'],
    ['FREQ=HOURLY;BYHOUR=1,2;BYMINUTE=15', 'every hour in hours 1 and 2 at minute 15'],
    ['FREQ=MINUTELY;INTERVAL=30;BYDAY=SA,SU', 'every 30 minutes if it is a Saturday or Sunday'],
    ['FREQ=DAILY;COUNT=1', 'every day, once'],
    ['FREQ=DAILY;COUNT=10', 'every day, 10 times'],
    ['FREQ=DAILY;UNTIL=20271231', 'every day, until 31 December 2027'],
    ['FREQ=DAILY;UNTIL=20271231T020000', 'every day, until 31 December 2027, 02:00'],
    ['FREQ=DAILY;UNTIL=20271231T020000Z', 'every day, until 31 December 2027, 02:00 UTC'],
  ])('%s is %s', (rule, expected) => {
    expect(words(rule)).toBe(expected);
  });

  test('says of the usual ones what the library that everybody knows says', () => {
    for (const rule of [
      'FREQ=DAILY',
      'FREQ=WEEKLY;BYDAY=SU',
      'FREQ=DAILY;INTERVAL=3',
      'FREQ=MONTHLY;BYDAY=2TU',
      'FREQ=MONTHLY;BYMONTHDAY=4',
    ])
      expect(words(rule)).toBe(rrulestr(rule).toText());
  });

  test('names the 11th, 12th and 13th as they are spoken', () => {
    expect(words('FREQ=MONTHLY;BYMONTHDAY=1,2,3,11,12,13,21,22,23')).toBe(
      'every month on the 1st, the 2nd, the 3rd, the 11th, the 12th, the 13th, the 21st, the 22nd and the 23rd',
    );
  });
});

describe('ahead', () => {
  const utc = (text: string): number => Date.parse(`${text}Z`);
  const window = (
    starts: string,
    ends: string,
    rrule: string | null,
    zone = 'Europe/Berlin',
  ): Schedule =>
    draftWindow(
      {
        name: null,
        starts_at: { is: 'local', local: `${starts}:00.000` },
        ends_at: { is: 'local', local: `${ends}:00.000` },
        rrule,
      },
      zone,
    ).schedule;
  const minute = (at: number): string => new Date(at).toISOString().slice(0, 16);

  describe('the next occurrences', () => {
    test('of a window that does not repeat are its one occurrence, until it is over', () => {
      const once = window('2026-11-24T02:00', '2026-11-24T04:00', null);
      const expected = { from: utc('2026-11-24T01:00'), to: utc('2026-11-24T03:00'), notes: [] };
      expect(occurrencesAhead(once, utc('2020-01-01T00:00'))).toMatchObject([expected]);
      expect(occurrencesAhead(once, utc('2026-11-24T02:59'))).toMatchObject([expected]);
      expect(occurrencesAhead(once, utc('2026-11-24T03:00'))).toEqual([]);
    });

    test('are ten, beginning with the active one, in both time zones', () => {
      const daily = window('2026-11-01T23:00', '2026-11-02T01:00', 'FREQ=DAILY');
      const ahead = occurrencesAhead(daily, utc('2026-11-10T23:30'));
      expect(ahead).toHaveLength(10);
      expect(
        ahead
          .slice(0, 2)
          .map(({ from, local_from, local_to }) => [from, local_from, local_to].map(minute)),
      ).toEqual([
        ['2026-11-10T22:00', '2026-11-10T23:00', '2026-11-11T01:00'],
        ['2026-11-11T22:00', '2026-11-11T23:00', '2026-11-12T01:00'],
      ]);
    });

    test('of a yearly one reach years ahead, and of a counted one end', () => {
      const yearly = occurrencesAhead(
        window('2026-02-28T02:00', '2026-02-28T03:00', 'FREQ=YEARLY'),
        utc('2026-03-01T00:00'),
      );
      expect(yearly.map(({ from }) => new Date(from).getUTCFullYear())).toEqual([
        2027, 2028, 2029, 2030, 2031, 2032, 2033, 2034, 2035, 2036,
      ]);
      const counted = window('2026-11-01T02:00', '2026-11-01T03:00', 'FREQ=WEEKLY;COUNT=3');
      expect(
        occurrencesAhead(counted, utc('2026-11-02T00:00')).map(({ from }) => minute(from)),
      ).toEqual(['2026-11-08T01:00', '2026-11-15T01:00']);
      expect(occurrencesAhead(counted, utc('2026-11-16T00:00'))).toEqual([]);
    });

    test('end where a user ended the active one, and go on with the next', () => {
      const daily = window('2026-11-01T02:00', '2026-11-01T04:00', 'FREQ=DAILY', 'UTC');
      const [cut_at, now] = [utc('2026-11-10T02:30'), utc('2026-11-10T02:45')];
      expect(
        occurrencesAhead(daily, now, { most: 2, cut_at }).map(({ from }) => minute(from)),
      ).toEqual(['2026-11-11T02:00', '2026-11-12T02:00']);
      expect(occurrencesAhead(daily, now, { most: 1 }).map(({ from }) => minute(from))).toEqual([
        '2026-11-10T02:00',
      ]);
    });
  });

  describe('summer time', () => {
    const notes = (schedule: Schedule, now: string): (readonly [string, readonly string[]])[] =>
      occurrencesAhead(schedule, utc(now), { most: 3 }).map(
        ({ from, notes: said }) => [minute(from), said] as const,
      );

    test('that skips the time is shown, with the start that applies instead; in UTC it moves from the next on', () => {
      expect(
        notes(window('2030-03-24T02:30', '2030-03-24T03:30', 'FREQ=WEEKLY'), '2030-03-20T00:00'),
      ).toEqual([
        ['2030-03-24T01:30', []],
        [
          '2030-03-31T01:30',
          ['The clock is put forward over 02:30 that night, so it begins at 03:30.'],
        ],
        ['2030-04-07T00:30', ['From here on 1 h earlier in UTC; the local time stays.']],
      ]);
    });

    test('that shows the time twice is shown: the first counts', () => {
      expect(
        notes(window('2030-10-20T02:30', '2030-10-20T03:30', 'FREQ=WEEKLY'), '2030-10-19T00:00'),
      ).toEqual([
        ['2030-10-20T00:30', []],
        [
          '2030-10-27T00:30',
          [
            'The clock shows 02:30 twice that night; it begins at the first.',
            'The clock is put back by 1 h meanwhile, so it ends at 02:30.',
          ],
        ],
        ['2030-11-03T01:30', ['From here on 1 h later in UTC; the local time stays.']],
      ]);
    });

    test('within an occurrence moves its end on the clock, because it lasts as long as the first', () => {
      expect(
        notes(window('2030-03-24T01:00', '2030-03-24T05:00', 'FREQ=WEEKLY'), '2030-03-20T00:00')[1],
      ).toEqual([
        '2030-03-31T00:00',
        ['The clock is put forward by 1 h meanwhile, so it ends at 06:00.'],
      ]);
    });

    test('of half an hour is shown as that, and where no clock changes nothing is shown', () => {
      const said = notes(
        window('2030-10-05T12:00', '2030-10-05T13:00', 'FREQ=DAILY', 'Australia/Lord_Howe'),
        '2030-10-04T00:00',
      );
      expect(said[1]).toEqual([
        '2030-10-06T01:00',
        ['From here on 30 min earlier in UTC; the local time stays.'],
      ]);
      expect(
        notes(
          window('2030-03-24T02:30', '2030-03-24T03:30', 'FREQ=WEEKLY', 'UTC'),
          '2030-03-20T00:00',
        ).flatMap(([, each]) => each),
      ).toEqual([]);
    });
  });
});
