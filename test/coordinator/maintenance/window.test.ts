import { describe, expect, test } from 'vitest';
import {
  draftWindow,
  occurrencesOf,
  occurrencesToCome,
} from '../../../coordinator/maintenance/window.ts';
import { instantOf, instantsIn, localOf } from '../../../coordinator/maintenance/zones.ts';
import type { Moment } from '../../../shared/api/moment.ts';
import { Refusal } from '../../../shared/base/errors.ts';

describe('window', () => {
  const day = 86_400_000;
  const hour = 3_600_000;
  const utc = (text: string): number => Date.parse(`${text}Z`);
  const local = (text: string): Moment => ({ is: 'local', local: `${text}:00.000` });
  const instant = (text: string): Moment => ({ is: 'instant', at: utc(text) });

  const window = (
    starts_at: Moment,
    ends_at: Moment,
    rrule: string | null,
    zone = 'Europe/Berlin',
  ) => draftWindow({ name: null, starts_at, ends_at, rrule }, zone).schedule;

  test('a rule with COUNT has all of its occurrences, wherever its times are expanded', () => {
    const starts_at = utc('2026-11-23T03:00');
    for (const rrule of ['FREQ=WEEKLY;COUNT=14', 'FREQ=DAILY;COUNT=92', 'FREQ=MONTHLY;COUNT=4'])
      for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Auckland']) {
        const moment = (at: number): Moment => ({ is: 'instant', at });
        const schedule = window(moment(starts_at), moment(starts_at + hour), rrule, zone);
        const stored: number[] = [];
        // As housekeeping does, from the end of what is stored.
        let range = { from: starts_at, to: starts_at + 90 * day };
        for (let rounds = 0, ended = false; rounds < 5 && !ended; rounds += 1) {
          const next = occurrencesOf(schedule, range);
          stored.push(...next.occurrences.map(({ from }) => from));
          ended = next.ended;
          range = { from: range.to, to: range.to + day };
        }
        expect([rrule, zone, stored.length]).toEqual([
          rrule,
          zone,
          Number(rrule.split('=').at(-1)),
        ]);
      }
  });

  const begins = (schedule: ReturnType<typeof window>, from: string, to: string): string[] =>
    occurrencesOf(schedule, { from: utc(from), to: utc(to) }).occurrences.map(({ from: at }) =>
      new Date(at).toISOString().slice(0, 16),
    );

  /** What clocks show, told by the formatter alone: none of the arithmetic under test. */
  const clocks = new Map<string, Intl.DateTimeFormat>();
  const shown = (at: number, zone: string): number => {
    let clock = clocks.get(zone);
    if (!clock) {
      const parts = {
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
      } as const;
      clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, hourCycle: 'h23', ...parts });
      clocks.set(zone, clock);
    }
    return utc(clock.format(at).replace(' ', 'T'));
  };

  /**
   * The instants at which the clock of a zone shows this time, in order: none in a gap, two where
   * it is put back.
   */
  const instantsOf = (time: number, zone: string): number[] => {
    const offsets = [-26, 0, 26].map(
      (hours) => shown(time + hours * hour, zone) - (time + hours * hour),
    );
    return [...new Set(offsets.map((offset) => time - offset))]
      .filter((at) => shown(at, zone) === time)
      .toSorted((a, b) => a - b);
  };

  /** The changes of a zone's clock between two instants, found by halving. */
  const changes = (zone: string, from: number, to: number): number[] => {
    const offset = (at: number) => shown(at, zone) - at;
    const found: number[] = [];
    const step = 21 * day;
    for (let at = from; at < to; at += step) {
      if (offset(at) === offset(at + step)) continue;
      let [before, after] = [at, at + step];
      while (after - before > 1000) {
        const middle = Math.floor((before + after) / 2000) * 1000;
        if (offset(middle) === offset(at)) before = middle;
        else after = middle;
      }
      found.push(after);
    }
    return found;
  };

  const zones = Intl.supportedValuesOf('timeZone');

  describe('an occurrence', () => {
    test('is at the same local time on both sides of every change of every IANA zone from 2020 to 2040', {
      timeout: 120_000,
    }, () => {
      let gaps = 0;
      let doubles = 0;
      for (const zone of zones) {
        for (const change of changes(zone, utc('2020-01-01T00:00'), utc('2040-12-31T00:00'))) {
          const [before, after] = [shown(change - 1000, zone) + 1000, shown(change, zone)];
          const middle = (before + after) / 2;
          const start = middle - 2 * day;
          const zoned = {
            starts_at: instantOf(start, zone),
            ends_at: instantOf(start, zone) + hour,
            local_start: start,
            local_end: start + hour,
            rrule: 'FREQ=DAILY',
          };
          const range = { from: zoned.starts_at, to: zoned.starts_at + 4 * day + 2 * hour };
          const got = occurrencesOf({ ...zoned, time_zone: zone }, range).occurrences;
          const expected = [start, start + day, middle, middle + day, middle + 2 * day].map(
            (time) => {
              const [first] = instantsOf(time, zone);
              // In a gap the clock never shows the time: forward by the gap, which is where the
              // time would be had it not changed.
              if (first === undefined) gaps += 1;
              else if (instantsOf(time, zone).length === 2) doubles += 1;
              return first ?? change + (time - before);
            },
          );
          expect(
            got.map(({ from }) => from),
            `${zone} around ${new Date(change).toISOString()}`,
          ).toEqual([...new Set(expected)].filter((at) => at < range.to));
          expect(got.every(({ from, to }) => to - from === hour)).toBe(true);
        }
      }
      expect(zones.length).toBeGreaterThan(400);
      expect(gaps).toBeGreaterThan(1000);
      expect(doubles).toBeGreaterThan(1000);
    });

    test('at 02:00 stays at 02:00 when summer time begins and ends', () => {
      const weekly = window(
        local('2026-03-08T02:00'),
        local('2026-03-08T04:00'),
        'FREQ=WEEKLY;BYDAY=SU',
      );
      expect(begins(weekly, '2026-03-20T00:00', '2026-04-10T00:00')).toEqual([
        '2026-03-22T01:00',
        '2026-03-29T01:00',
        '2026-04-05T00:00',
      ]);
    });

    test('whose local time does not exist moves forward by the gap, and only that one', () => {
      const daily = window(
        local('2026-03-29T02:30'),
        local('2026-03-29T04:00'),
        'FREQ=DAILY;COUNT=3',
      );
      expect(begins(daily, '2026-03-01T00:00', '2026-05-01T00:00')).toEqual([
        '2026-03-29T01:30',
        '2026-03-30T00:30',
        '2026-03-31T00:30',
      ]);
    });

    test('whose local time exists twice is the first, unless the first occurrence was given as the second instant', () => {
      const daily = window(
        local('2026-10-24T02:30'),
        local('2026-10-24T03:00'),
        'FREQ=DAILY;COUNT=3',
      );
      expect(begins(daily, '2026-10-01T00:00', '2026-11-01T00:00')).toEqual([
        '2026-10-24T00:30',
        '2026-10-25T00:30',
        '2026-10-26T01:30',
      ]);
      const second = window(
        instant('2026-10-25T01:30'),
        instant('2026-10-25T02:00'),
        'FREQ=DAILY;COUNT=2',
      );
      expect(begins(second, '2026-10-01T00:00', '2026-11-01T00:00')).toEqual([
        '2026-10-25T01:30',
        '2026-10-26T01:30',
      ]);
    });

    test('lasts as long as the first one, whatever the clock does meanwhile', () => {
      const night = window(
        local('2026-03-27T22:00'),
        local('2026-03-28T06:00'),
        'FREQ=DAILY;COUNT=3',
      );
      const all = occurrencesOf(night, { from: 0, to: utc('2027-01-01T00:00') }).occurrences;
      expect(all.map(({ from, to }) => to - from)).toEqual([8 * hour, 8 * hour, 8 * hour]);
    });

    test.each([
      ['2027-03-28T02:30', '2027-03-28T04:30', '03:30–04:30', '02:30–04:30'],
      ['2027-03-28T02:30', '2027-03-28T03:30', '03:30–04:30', '02:30–03:30'],
      ['2027-03-28T02:30', '2027-03-28T03:15', '03:30–04:15', '02:30–03:15'],
      ['2027-03-28T01:00', '2027-03-28T04:00', '01:00–04:00', '01:00–04:00'],
      ['2027-10-31T01:30', '2027-10-31T03:30', '01:30–03:30', '01:30–03:30'],
    ])(
      'rule 27: from %s to %s lasts as its local times say, though the clock changes in the first',
      (starts, ends, first, others) => {
        const schedule = window(local(starts), local(ends), 'FREQ=WEEKLY');
        const clock = (at: number) =>
          new Date(shown(at, 'Europe/Berlin')).toISOString().slice(11, 16);
        const all = occurrencesOf(schedule, {
          from: schedule.starts_at,
          to: schedule.starts_at + 20 * day,
        }).occurrences;
        expect(all.map(({ from, to }) => `${clock(from)}–${clock(to)}`)).toEqual([
          first,
          others,
          others,
        ]);
      },
    );

    test('is the start first, also when the rule names other days, and COUNT counts it', () => {
      const odd = window(
        local('2026-06-03T02:00'),
        local('2026-06-03T03:00'),
        'FREQ=WEEKLY;BYDAY=MO;COUNT=3',
        'UTC',
      );
      expect(begins(odd, '2026-01-01T00:00', '2027-01-01T00:00')).toEqual([
        '2026-06-03T02:00',
        '2026-06-08T02:00',
        '2026-06-15T02:00',
      ]);
      expect(begins(odd, '2026-06-10T00:00', '2027-01-01T00:00')).toEqual(['2026-06-15T02:00']);
    });

    test('ends with UNTIL, which is local without Z and an instant with it', () => {
      const zoned = (until: string) =>
        begins(
          window(local('2026-06-01T02:00'), local('2026-06-01T03:00'), `FREQ=DAILY;UNTIL=${until}`),
          '2026-01-01T00:00',
          '2027-01-01T00:00',
        );
      expect(zoned('20260603T020000').at(-1)).toBe('2026-06-03T00:00');
      expect(zoned('20260603T020000Z').at(-1)).toBe('2026-06-03T00:00');
      expect(zoned('20260603T000000Z').at(-1)).toBe('2026-06-03T00:00');
      expect(zoned('20260603T000000').at(-1)).toBe('2026-06-02T00:00');
      expect(zoned('20260603').at(-1)).toBe('2026-06-03T00:00');
    });

    test('is expanded in pieces as in one go, and the end of the rule is known', () => {
      const schedule = window(
        local('2026-01-01T02:00'),
        local('2026-01-01T03:00'),
        'FREQ=DAILY;COUNT=200',
      );
      const [from, middle, to] = [
        utc('2026-01-01T00:00'),
        utc('2026-04-01T00:00'),
        utc('2027-01-01T00:00'),
      ];
      const pieces = [
        occurrencesOf(schedule, { from, to: middle }),
        occurrencesOf(schedule, { from: middle, to }),
      ];
      expect(pieces.map(({ ended }) => ended)).toEqual([false, true]);
      expect(pieces.flatMap(({ occurrences }) => occurrences)).toEqual(
        occurrencesOf(schedule, { from, to }).occurrences,
      );
      expect(pieces.flatMap(({ occurrences }) => occurrences)).toHaveLength(200);
    });

    test('of a window that does not repeat is its one stretch', () => {
      const once = window(instant('2026-06-01T02:00'), instant('2026-06-01T03:00'), null);
      expect(occurrencesOf(once, { from: 0, to: utc('2030-01-01T00:00') })).toEqual({
        occurrences: [{ from: utc('2026-06-01T02:00'), to: utc('2026-06-01T03:00') }],
        ended: true,
      });
    });
  });

  describe('a window that is made', () => {
    const now = utc('2026-06-10T12:00');

    test('is expanded from now on, however long ago it began, with its first occurrence', () => {
      const old = window(
        local('1970-01-03T00:00'),
        local('1970-01-03T00:10'),
        'FREQ=MINUTELY;INTERVAL=30',
      );
      const { occurrences, until, ended } = occurrencesToCome(old, now);
      expect(occurrences[0]).toEqual({ from: old.starts_at, to: old.ends_at });
      expect(occurrences.slice(1).every(({ to }) => to > now)).toBe(true);
      expect(occurrences[1]?.from).toBe(now);
      expect(occurrences).toHaveLength(1 + 90 * 48);
      expect([until, ended]).toEqual([now + 90 * day, false]);
    });

    test('is expanded with what began before now and is not over', () => {
      const nights = window(
        instant('2026-06-01T20:00'),
        instant('2026-06-03T08:00'),
        'FREQ=DAILY',
        'UTC',
      );
      const { occurrences } = occurrencesToCome(nights, now);
      expect(occurrences.slice(0, 3).map(({ from }) => from)).toEqual([
        utc('2026-06-01T20:00'),
        utc('2026-06-09T20:00'),
        utc('2026-06-10T20:00'),
      ]);
    });

    test.each(['', ';COUNT=50000'])(
      'is expanded with only the latest of thousands that are not over: INTERVAL=27%s',
      (count) => {
        const dense = window(
          instant('2026-01-01T00:00'),
          instant('2026-12-31T00:00'),
          `FREQ=MINUTELY;INTERVAL=27${count}`,
          'UTC',
        );
        const [first, ...others] = occurrencesToCome(dense, now).occurrences;
        expect(first?.from).toBe(dense.starts_at);
        expect(others.filter(({ from }) => from <= now)).toHaveLength(1);
        expect(others).toEqual(
          occurrencesOf(dense, { from: now - 27 * 60_000 + 1, to: now + 90 * day }).occurrences,
        );
      },
    );

    test('has each of its occurrences once when the first is still to come', () => {
      const soon = window(
        local('2026-06-20T02:00'),
        local('2026-06-20T03:00'),
        'FREQ=WEEKLY;COUNT=3',
      );
      const { occurrences, ended } = occurrencesToCome(soon, now);
      expect(occurrences).toEqual(
        occurrencesOf(soon, { from: 0, to: now + 300 * day }).occurrences,
      );
      expect(ended).toBe(true);
    });

    test('cannot repeat and last more than a year, and can last that long once', () => {
      const long = (rrule: string | null) => () =>
        window(local('2026-06-01T02:00'), local('2027-06-03T02:00'), rrule);
      expect(long('FREQ=MINUTELY;INTERVAL=30')).toThrow(/366 days/);
      expect(long(null)).not.toThrow();
    });
  });

  test('many local times at once become the instants that the calendar gives for each', () => {
    const names = [
      'Europe/Berlin',
      'America/St_Johns',
      'Pacific/Apia',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
      'Africa/Monrovia',
      'UTC',
    ];
    for (const zone of names) {
      const fast = instantsIn(zone);
      for (const [from, to] of [
        ['1971-01-01T00:00', '1973-01-01T00:00'],
        ['2011-06-01T00:00', '2012-06-01T00:00'],
        ['2026-01-01T00:00', '2028-01-01T00:00'],
        ['2099-01-01T00:00', '2100-01-01T00:00'],
      ] as const)
        for (let time = utc(from); time < utc(to); time += 3 * hour + 17 * 60_000)
          expect(fast(time), zone).toBe(instantOf(time, zone));
    }
  });

  test('local times and instants lead back to each other', () => {
    for (const zone of ['Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Asia/Kathmandu'])
      expect(instantOf(localOf(utc('2026-07-01T12:34'), zone), zone)).toBe(utc('2026-07-01T12:34'));
  });

  const refusal = (rrule: string): Refusal => {
    try {
      window(local('2026-06-01T02:00'), local('2026-06-01T03:00'), rrule);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
    throw new Error(`${rrule} was taken`);
  };

  describe('a rule is refused', () => {
    test('when it never occurs', () => {
      const never = [
        'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
        'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
        'FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30',
        'FREQ=HOURLY;INTERVAL=24;BYHOUR=5',
        'FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1',
        'FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29',
        'FREQ=MONTHLY;INTERVAL=12;BYMONTH=5',
        'FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2',
        'FREQ=DAILY;UNTIL=20250101T000000Z',
      ];
      for (const rule of never) {
        expect(refusal(rule).code, rule).toBe('rrule_invalid');
        expect(refusal(rule).message, rule).toMatch(
          /^rrule: (never occurs|UNTIL lies before starts_at)/,
        );
      }
    });

    test('when its expansion would never end', () => {
      for (const rule of [
        'FREQ=SECONDLY',
        'FREQ=SECONDLY;COUNT=2',
        'FREQ=MINUTELY',
        'FREQ=MINUTELY;BYMONTH=1;COUNT=90000',
        'FREQ=HOURLY;BYMINUTE=0,10,20,30',
      ])
        expect(refusal(rule).code, rule).toBe('rrule_invalid');
      const all = Array.from({ length: 60 }, (_, index) => index).join(',');
      expect(
        refusal(`FREQ=YEARLY;BYHOUR=0,1,2,3;BYMINUTE=${all};BYSECOND=${all}`).message,
      ).toContain('288 are the most');
    });

    test('when it is invalid', () => {
      const broken = [
        '',
        'daily',
        'FREQ=',
        'FREQ=DAILY;FREQ=DAILY',
        'INTERVAL=2',
        'FREQ=FORTNIGHTLY',
        'FREQ=DAILY;INTERVAL=0',
        'FREQ=DAILY;COUNT=-1',
        'FREQ=DAILY;COUNT=2;UNTIL=20270101',
        'FREQ=DAILY;UNTIL=20270230',
        'FREQ=DAILY;BYDAY=XX',
        'FREQ=DAILY;BYDAY=1MO',
        'FREQ=DAILY;BYHOUR=24',
        'FREQ=WEEKLY;BYMONTHDAY=3',
        'FREQ=MONTHLY;BYWEEKNO=3',
        'FREQ=DAILY;BYSETPOS=1',
        'DTSTART:20260101T000000Z',
        'FREQ=DAILY;BYEASTER=1',
        'FREQ=YEARLY;BYMONTHDAY=0',
        'FREQ=DAILY\nFREQ=DAILY',
        'FREQ=DAILY;INTERVAL=1e3',
        `FREQ=DAILY;BYHOUR=${'1,'.repeat(600)}1`,
      ];
      for (const rule of broken) expect(refusal(rule).code, rule).toBe('rrule_invalid');
    });

    test('but not when it is merely rare', () => {
      for (const rule of [
        'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29',
        'FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR',
        'RRULE:FREQ=YEARLY;INTERVAL=10;',
        'freq=hourly',
      ])
        expect(window(local('2026-06-01T02:00'), local('2026-06-01T03:00'), rule).rrule).toMatch(
          /^freq=.*[^;]$/i,
        );
    });
  });

  test('a window ends after it starts, in a year that clocks know', () => {
    const code = (starts: Moment, ends: Moment) => {
      try {
        window(starts, ends, null);
      } catch (error) {
        return error instanceof Refusal ? error.code : error;
      }
      return undefined;
    };
    expect(code(local('2026-06-01T02:00'), local('2026-06-01T02:00'))).toBe('window_invalid');
    expect(code(local('2026-06-01T02:00'), instant('2026-05-31T23:00'))).toBe('window_invalid');
    expect(code(local('2027-03-28T03:15'), local('2027-03-28T02:30'))).toBe('window_invalid');
    expect(code(local('0001-06-01T02:00'), local('2026-06-01T02:00'))).toBe('window_invalid');
    expect(code(local('2026-06-01T02:00'), local('9999-06-01T02:00'))).toBe('window_invalid');
    expect(code(local('2026-06-01T02:00'), instant('2026-06-01T00:01'))).toBeUndefined();
  });
});

describe('until', () => {
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
      const zulu = (time: number): string =>
        `${new Date(time).toISOString().replaceAll(/[-:]|\.000/g, '')}`;
      for (const [until, days] of [
        [zulu(starts), 1],
        [zulu(starts + hour), 1],
        [zulu(starts + day), 2],
        ['20260603T020000', 1],
      ] as const) {
        const schedule = window(local('2026-06-03T02:00'), ends, `FREQ=DAILY;UNTIL=${until}`, zone);
        const { occurrences, ended } = occurrencesOf(schedule, {
          from: starts,
          to: starts + 9 * day,
        });
        expect([occurrences.length, ended], `${zone} ${until}`).toEqual([days, true]);
      }
    }
  });

  test('a rule is not taken to occur where only the margin of another clock would let it', () => {
    for (const zone of ['Pacific/Kiritimati', 'Pacific/Niue', 'Europe/Berlin']) {
      const starts = instantOf(utc('2026-06-03T02:00'), zone) + 23 * hour;
      const until = new Date(starts).toISOString().replaceAll(/[-:]|\.000/g, '');
      const thursday = (text: string) =>
        window(local('2026-06-03T02:00'), local('2026-06-03T03:00'), text, zone);
      expect(() => thursday(`FREQ=WEEKLY;BYDAY=TH;UNTIL=${until}`), zone).toThrow(/never occurs/);
      expect(() => thursday('FREQ=WEEKLY;BYDAY=TH;UNTIL=20260604T015959'), zone).toThrow(
        /never occurs/,
      );
      expect(thursday('FREQ=WEEKLY;BYDAY=TH;UNTIL=20260604T020000').rrule, zone).toContain('TH');
    }
  });
});
