import rrule from 'rrule';
import { describe, expect, test } from 'vitest';
import { frequencies, recurrences, ruleFrom } from '../../../coordinator/maintenance/recurrence.ts';
import {
  epochOf,
  instantOf,
  instantsIn,
  isOldZoneData,
  localOf,
  zoneDataAt,
} from '../../../coordinator/maintenance/zones.ts';
import fc from '../../support/random.ts';

describe('recurrence', () => {
  const day = 86_400_000;
  const utc = (text: string): number => Date.parse(`${text}Z`);
  const written = (times: Iterable<number>): string[] =>
    [...times].map((time) => new Date(time).toISOString().slice(0, 16));

  const first = (rule: string, start: string, count: number): string[] => {
    const found: number[] = [];
    for (const time of recurrences(
      ruleFrom(rule),
      utc(start),
      utc(start),
      utc(start) + 40 * 366 * day,
    )) {
      if (found.push(time) === count) break;
    }
    return written(found);
  };

  describe('a rule on local times', () => {
    test('repeats on the days and times that the standard gives', () => {
      expect(first('FREQ=WEEKLY;BYDAY=SU', '2026-03-01T02:00', 3)).toEqual([
        '2026-03-01T02:00',
        '2026-03-08T02:00',
        '2026-03-15T02:00',
      ]);
      expect(first('FREQ=MONTHLY', '2026-01-31T02:00', 3)).toEqual([
        '2026-01-31T02:00',
        '2026-03-31T02:00',
        '2026-05-31T02:00',
      ]);
      expect(first('FREQ=MONTHLY;BYDAY=-1FR', '2026-01-01T22:30', 2)).toEqual([
        '2026-01-30T22:30',
        '2026-02-27T22:30',
      ]);
      expect(first('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29', '2026-01-01T00:00', 2)).toEqual([
        '2028-02-29T00:00',
        '2032-02-29T00:00',
      ]);
      expect(first('FREQ=YEARLY;BYWEEKNO=20', '1997-05-12T09:00', 2)).toEqual([
        '1997-05-12T09:00',
        '1998-05-11T09:00',
      ]);
      expect(first('FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1', '2026-01-01T09:00', 2)).toEqual(
        ['2026-01-30T09:00', '2026-02-27T09:00'],
      );
      expect(first('FREQ=HOURLY;INTERVAL=5', '2026-01-01T00:00', 6)).toEqual([
        '2026-01-01T00:00',
        '2026-01-01T05:00',
        '2026-01-01T10:00',
        '2026-01-01T15:00',
        '2026-01-01T20:00',
        '2026-01-02T01:00',
      ]);
      expect(first('FREQ=DAILY;BYHOUR=2,14;BYMINUTE=0,30', '2026-01-01T00:00', 4)).toEqual([
        '2026-01-01T02:00',
        '2026-01-01T02:30',
        '2026-01-01T14:00',
        '2026-01-01T14:30',
      ]);
    });

    test('whose other week begins on Sunday differs from one whose week begins on Monday', () => {
      const start = '1997-08-05T09:00';
      expect(first('FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO', start, 4)).toEqual([
        '1997-08-05T09:00',
        '1997-08-10T09:00',
        '1997-08-19T09:00',
        '1997-08-24T09:00',
      ]);
      expect(first('FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU', start, 4)).toEqual([
        '1997-08-05T09:00',
        '1997-08-17T09:00',
        '1997-08-19T09:00',
        '1997-08-31T09:00',
      ]);
    });

    test('gives the same occurrences whether asked for at once or in pieces, however far from its start', () => {
      const rule = ruleFrom('FREQ=HOURLY;INTERVAL=7;BYDAY=MO,WE');
      const start = utc('2020-01-01T03:20');
      const [from, middle, to] = [
        utc('2039-02-01T00:00'),
        utc('2039-02-11T05:17'),
        utc('2039-03-01T00:00'),
      ];
      const whole = [...recurrences(rule, start, from, to)];
      expect(whole.length).toBeGreaterThan(20);
      expect([
        ...recurrences(rule, start, from, middle),
        ...recurrences(rule, start, middle, to),
      ]).toEqual(whole);
      expect(whole).toEqual(
        [...recurrences(rule, start, start, to)].filter((time) => time >= from),
      );
    });

    test('that never occurs ends its search at the end of the range', () => {
      for (const text of [
        'FREQ=HOURLY;INTERVAL=24;BYHOUR=5',
        'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
        'FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1',
      ])
        expect([
          ...recurrences(
            ruleFrom(text),
            utc('2026-01-01T00:00'),
            utc('2026-01-01T00:00'),
            utc('2030-01-01T00:00'),
          ),
        ]).toEqual([]);
    });
  });

  /**
   * Another implementation of the standard. It never returns from some rules, which the generator
   * below leaves out.
   */
  const oracle = (text: string, start: number, to: number): string[] => {
    const options = rrule.RRule.parseString(text);
    const found: number[] = [];
    const rule = new rrule.RRule(
      { ...options, dtstart: new Date(start), until: new Date(to - 1) },
      true,
    );
    rule.all((date) => found.push(date.getTime()) < 60);
    return written(found);
  };

  const some = <T>(from: readonly T[], limit = 3): fc.Arbitrary<readonly T[]> =>
    fc.uniqueArray(fc.constantFrom(...from), { minLength: 1, maxLength: limit });
  const upTo = (least: number, limit: number): number[] =>
    Array.from({ length: limit - least + 1 }, (_, i) => least + i);
  const signed = (limit: number): number[] => [...upTo(-limit, -1), ...upTo(1, limit)];
  const part = (
    name: string,
    values: fc.Arbitrary<readonly (string | number)[]>,
    freq = 2,
  ): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: freq, arbitrary: fc.constant('') },
      {
        weight: 1,
        arbitrary: values.map(
          (list) => `;${name}=${list.toSorted((a, b) => Number(a) - Number(b)).join(',')}`,
        ),
      },
    );
  const weekdays = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

  const ruleText: fc.Arbitrary<string> = fc
    .constantFrom(...frequencies.slice(0, 5))
    .chain((freq) => {
      const numbered = freq === 'MONTHLY' || freq === 'YEARLY';
      // The other implementation loses plain weekdays beside numbered ones, so each rule has one
      // sort.
      const nth = weekdays.flatMap((name) => [`1${name}`, `2${name}`, `-1${name}`]);
      const days = numbered ? fc.oneof(some(weekdays), some(nth)) : some(weekdays);
      const steps =
        freq === 'HOURLY' ? fc.constantFrom(1, 2, 3, 5, 7) : fc.integer({ min: 1, max: 6 });
      return fc
        .tuple(
          steps.map((interval) => (interval === 1 ? '' : `;INTERVAL=${interval}`)),
          part('BYMONTH', some(upTo(1, 12), 4)),
          freq === 'WEEKLY' ? fc.constant('') : part('BYMONTHDAY', some(signed(31), 6)),
          freq === 'YEARLY' || freq === 'HOURLY'
            ? part('BYYEARDAY', some(signed(366), 6), 5)
            : fc.constant(''),
          part('BYDAY', days),
          part('BYHOUR', some(upTo(0, 23)), freq === 'HOURLY' ? 100_000 : 3),
          part('BYMINUTE', some(upTo(0, 59)), 3),
          fc.constantFrom('', '', ';WKST=SU', ';WKST=TH'),
          numbered
            ? fc.constantFrom('', '', ';BYSETPOS=1', ';BYSETPOS=-1', ';BYSETPOS=2')
            : fc.constant(''),
        )
        .map((parts) => `FREQ=${freq}${parts.join('')}`)
        .filter(
          (text) =>
            !text.includes('BYSETPOS') || /;BY(MONTH|MONTHDAY|YEARDAY|DAY|HOUR|MINUTE)=/.test(text),
        );
    });

  test('rules of every shape occur as in another implementation of RFC 5545', () => {
    const starts = fc
      .date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true })
      .map((date) => Math.floor(date.getTime() / 1000) * 1000);
    let compared = 0;
    fc.assert(
      fc.property(ruleText, starts, (text, start) => {
        const ours: number[] = [];
        const to = start + 6 * 366 * day;
        for (const time of recurrences(ruleFrom(text), start, start, to))
          if (ours.push(time) === 60) break;
        // Where nothing occurs the other one would go on to the year 9999; that it finds nothing
        // either is then not asked.
        if (ours.length === 0) return;
        compared += 1;
        expect(written(ours)).toEqual(
          oracle(
            text,
            start,
            ours.length === 60 ? Number.MAX_SAFE_INTEGER / 2 : (ours.at(-1) ?? 0) + 1,
          ),
        );
      }),
      { numRuns: 1500 },
    );
    expect(compared).toBeGreaterThan(700);
  });
});

describe('rule 27: a local time of a zone', () => {
  const hour = 3_600_000;
  const utc = (text: string): number => Date.parse(`${text}Z`);

  /**
   * Moments near which a clock changed: by an hour, by half of one, by a whole day, for good, and
   * in the year's other half.
   */
  const changes = [
    ['Europe/Berlin', '2026-03-29T01:00'],
    ['Europe/Berlin', '2026-10-25T01:00'],
    ['America/New_York', '2026-11-01T06:00'],
    ['Australia/Lord_Howe', '2026-10-03T15:30'],
    ['Pacific/Apia', '2011-12-30T10:00'],
    ['Africa/Casablanca', '2026-02-15T02:00'],
    ['Europe/Moscow', '2014-10-25T22:00'],
    ['Asia/Kolkata', '2026-06-01T00:00'],
    ['UTC', '2026-06-01T00:00'],
  ] as const;

  test('stays within the years that a database reads', () => {
    const written = (local: string, zone: string): string =>
      new Date(epochOf({ is: 'local', local }, zone)).toISOString();
    const [first, last] = ['0001-01-01T00:00:00.000', '9999-12-31T23:59:59.999'];
    expect(written(first, 'Asia/Tokyo')).toBe(`${first}Z`);
    expect(written(last, 'America/New_York')).toBe(`${last}Z`);
  });

  test('that does not exist moves forward by the gap, and one that exists twice is the first', () => {
    expect(instantOf(utc('2026-03-29T02:30'), 'Europe/Berlin')).toBe(utc('2026-03-29T01:30'));
    expect(instantOf(utc('2026-10-25T02:30'), 'Europe/Berlin')).toBe(utc('2026-10-25T00:30'));
    expect(instantOf(utc('2026-07-01T12:00'), 'Europe/Berlin')).toBe(utc('2026-07-01T10:00'));
  });

  test('is what its clock shows at that instant', () => {
    expect(localOf(utc('2026-07-01T10:00'), 'Europe/Berlin')).toBe(utc('2026-07-01T12:00'));
    expect(localOf(utc('2026-01-01T10:00:00.123'), 'Asia/Kolkata')).toBe(
      utc('2026-01-01T15:30:00.123'),
    );
    // Before zones had whole minutes, and hours.
    expect(localOf(utc('1880-01-01T00:00'), 'Europe/Berlin')).toBe(utc('1880-01-01T00:53:28'));
  });

  test('is the same one by one and as one of many, in whatever order they come', () => {
    const near = fc.integer({ min: -60 * 4, max: 60 * 4 }).map((quarters) => (quarters * hour) / 4);
    const far = fc.integer({ min: -400, max: 400 }).map((days) => days * 24 * hour);
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        fc.array(fc.oneof(near, near, far), { maxLength: 30 }),
        ([zone, change], offsets) => {
          const around = localOf(utc(change), zone);
          const fast = instantsIn(zone);
          for (const offset of offsets)
            expect(fast(around + offset)).toBe(instantOf(around + offset, zone));
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each(changes)(
    'is the same one by one and as one of many, quarter by quarter, forwards and backwards: %s at %s',
    (zone, change) => {
      const around = localOf(utc(change), zone);
      const all = Array.from(
        { length: 4 * 24 * 5 },
        (_, quarter) => around + (quarter * hour) / 4 - 60 * hour,
      );
      for (const order of [all, all.toReversed()]) {
        const fast = instantsIn(zone);
        expect(order.map(fast)).toEqual(order.map((local) => instantOf(local, zone)));
      }
    },
  );

  test('of a day in the middle of summer is computed without the calendar, which is slow', () => {
    const fast = instantsIn('Europe/Berlin');
    const summer = utc('2026-07-01T12:00');
    fast(summer);
    const calendar = Temporal.PlainDateTime.from;
    let asked = 0;
    Temporal.PlainDateTime.from = (...given) => {
      asked += 1;
      return calendar(...given);
    };
    try {
      for (let day = -60; day < 60; day += 1)
        expect(fast(summer + day * 24 * hour)).toBe(summer + day * 24 * hour - 2 * hour);
    } finally {
      Temporal.PlainDateTime.from = calendar;
    }
    expect(asked).toBe(0);
  });
});

describe('zone data', () => {
  const at = (day: string): number => Date.parse(`${day}T12:00:00Z`);

  test('a version that this release knows is as old as its date says', () => {
    expect(zoneDataAt('2026c', at('2026-07-09'))).toEqual({
      version: '2026c',
      released_on: '2026-07-08',
      least_age_days: 1,
    });
    expect(isOldZoneData(zoneDataAt('2026c', at('2026-11-05')))).toBe(false);
    expect(isOldZoneData(zoneDataAt('2026c', at('2026-11-06')))).toBe(true);
  });

  test('of any other only the year is known, and it is reported as old when it must be', () => {
    expect(zoneDataAt('2027b', at('2027-12-30'))).toEqual({
      version: '2027b',
      released_on: null,
      least_age_days: null,
    });
    expect(isOldZoneData(zoneDataAt('2027b', at('2027-12-30')))).toBe(false);
    expect(zoneDataAt('2027b', at('2028-01-10'))).toMatchObject({
      released_on: null,
      least_age_days: 10,
    });
    expect(isOldZoneData(zoneDataAt('2027b', at('2028-04-30')))).toBe(true);
  });

  test('without a version, or with one of another kind, is reported as neither old nor new', () => {
    for (const version of [undefined, 'system', '', 'constructor'])
      expect(zoneDataAt(version, at('2026-07-09')).least_age_days, version).toBeNull();
  });

  test('the version that comes with this release has its date', () => {
    expect(zoneDataAt(process.versions.tz, 0).released_on).toMatch(/^\d{4}-\d\d-\d\d$/);
  });
});
