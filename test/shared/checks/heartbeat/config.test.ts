import { describe, expect, test } from 'vitest';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import { configFaults, refusedConfig } from '../../../../shared/checks/config.ts';
import {
  type Cron,
  isTimeZone,
  nextDue,
  nextMatch,
  nextOccurrence,
  parseCron,
} from '../../../../shared/checks/heartbeat/schedule.ts';
import { parsePingCall } from '../../../../shared/checks/heartbeat/state.ts';
import type { Json } from '../../../../shared/checks/result.ts';
import { withoutTemporal } from '../../../support/eventually.ts';
import fc from '../../../support/random.ts';

describe('a heartbeat config', () => {
  const sentence = (config: Readonly<Record<string, Json>>): string =>
    refusedConfig(configFaults('heartbeat', '', config, 3_600)).message;

  test.for<readonly [config: Readonly<Record<string, Json>>]>([
    [{}],
    [{ grace_s: 0, max_run_s: 2_592_000 }],
    [{ schedule: '30 2 * * MON-FRI', timezone: 'Europe/Berlin' }],
    [{ schedule: '@daily' }],
    [{ schedule: ' 0  3 29 feb * ' }],
    [{ schedule: null, timezone: null, grace_s: null }],
  ])('is taken: %j', ([config]) => {
    expect(sentence(config)).toBe('');
  });

  test.for<readonly [config: Readonly<Record<string, Json>>, said: string]>([
    [
      { grace_s: -1 },
      '`grace_s` cannot be used: must be a whole number of seconds from 0 to 31,536,000',
    ],
    [
      { grace_s: '10m' },
      '`grace_s` cannot be used: must be a whole number of seconds from 0 to 31,536,000',
    ],
    [
      { max_run_s: 0 },
      '`max_run_s` cannot be used: must be a whole number of seconds from 1 to 2,592,000 (30 days)',
    ],
    [
      { schedule: 5 },
      '`schedule` cannot be used: must be a cron expression of five fields, such as "30 2 * * *"',
    ],
    [
      { schedule: '0 25 * * *' },
      '`schedule` cannot be used: "25" is no hour; it takes 0 to 23, ranges (1-5), lists (1,3) and steps (*/15)',
    ],
    [{ schedule: '0 0 30 2 *' }, '`schedule` cannot be used: it never comes: there is no such day'],
    [
      { schedule: '*/5 * * * * *' },
      '`schedule` cannot be used: must have five fields (minute, hour, day of month, month, day of week), such as "30 2 * * *", or be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly',
    ],
    [
      { schedule: '0 3 * * *', timezone: '+02:00' },
      '`timezone` cannot be used: must be a zone of the IANA database, such as "Europe/Berlin"',
    ],
    [
      { timezone: 'Europe/Berlin' },
      '`timezone` cannot be used: needs a `schedule`: an interval is the same in every zone',
    ],
  ])('is refused with the one thing that is wrong: %j', ([config, said]) => {
    expect(sentence(config)).toBe(said);
  });
});

describe('the ping address', () => {
  const token = 'abcdefghijklmnopqrstuvwx';
  const rid = '0198f6a0-1234-7abc-8def-0123456789ab';
  const call = { token, named: null, kind: 'success', exit_code: null, rid: null };

  test.each([
    ['', call],
    ['/start', { ...call, kind: 'start' }],
    ['/fail', { ...call, kind: 'fail' }],
    ['/log', { ...call, kind: 'log' }],
    ['/0', { ...call, exit_code: 0 }],
    ['/1', { ...call, kind: 'fail', exit_code: 1 }],
    ['/255', { ...call, kind: 'fail', exit_code: 255 }],
    [`?rid=${rid}`, { ...call, rid }],
    [`/start?rid=${rid.toUpperCase()}&utm_source=x`, { ...call, kind: 'start', rid }],
    ['/7?rid=', { ...call, kind: 'fail', exit_code: 7 }],
    ['/', call],
    [`/?rid=${rid}`, { ...call, rid }],
    ['/start/', { ...call, kind: 'start' }],
    ['/0/', { ...call, exit_code: 0 }],
  ])('with %j behind the token is a ping', (more, expected) => {
    expect(parsePingCall(`/beat/${token}${more}`)).toEqual(expected);
  });

  test.each(['http://antipode.example', 'HTTPS://[2001:db8::1]:8443'])(
    'behind %s is the same, as proxies ask for it',
    (place) => {
      expect(parsePingCall(`${place}/beat/${token}/start?rid=${rid}`)).toEqual({
        ...call,
        kind: 'start',
        rid,
      });
      expect(parsePingCall(`${place}?/beat/${token}`)).toBe('no_such_address');
    },
  );

  test.each([
    '/256',
    '/999',
    '/1000',
    '/-1',
    '/1.5',
    '/START',
    '/begin',
    '//',
    '/start//',
    '/start/1',
    '//start',
    '%2Fstart',
  ])('with %j behind the token is none', (more) => {
    expect(parsePingCall(`/beat/${token}${more}`)).toBe('no_such_address');
  });

  test('takes nothing for a run id that is no UUID, and nothing for a token that cannot be one', () => {
    for (const odd of ['7', `${rid}0`, `{${rid}}`, rid.replaceAll('-', '')])
      expect(parsePingCall(`/beat/${token}?rid=${odd}`)).toBe('rid_malformed');
    for (const odd of ['short', 'x'.repeat(65), `${token}!`, ''])
      expect(parsePingCall(`/beat/${odd}`)).toBe('no_such_address');
  });
});

describe('causes', () => {
  const minute = 60_000;

  test('causes are plain sentences', () => {
    const say = (cls: string, params: Record<string, string | number>) =>
      causeSentence({ class: cls, params });
    expect(say('heartbeat_late', { silent_ms: 12.4 * minute, every_ms: 5 * minute })).toBe(
      'No heartbeat for 12 minutes (expected every 5)',
    );
    expect(say('heartbeat_late', { silent_ms: 90 * minute, every_ms: 60 * minute })).toBe(
      'No heartbeat for 90 minutes (expected every hour)',
    );
    expect(say('heartbeat_late', { silent_ms: 100_400, every_ms: 90_000 })).toBe(
      'No heartbeat for 100 seconds (expected every 90)',
    );
    expect(say('heartbeat_late', { silent_ms: minute, every_ms: minute })).toBe(
      'No heartbeat for 1 minute (expected every minute)',
    );
    expect(say('heartbeat_late', { silent_ms: 60_600, every_ms: minute })).toBe(
      'No heartbeat for 60 seconds (expected every minute)',
    );
    expect(say('heartbeat_late', { silent_ms: 50 * 3_600_000, every_ms: 90 * minute })).toBe(
      'No heartbeat for 2 days (expected every 90 minutes)',
    );
    expect(say('heartbeat_late', { silent_ms: 26 * 3_600_000, schedule: '30 2 * * *' })).toBe(
      'No heartbeat for 26 hours (expected by the schedule 30 2 * * *)',
    );
    expect(say('heartbeat_unfinished', { max_run_ms: 600_000 })).toBe(
      'The job started and did not end within 10 minutes',
    );
    expect(say('heartbeat_unfinished', { max_run_ms: 90_000 })).toBe(
      'The job started and did not end within 90 seconds',
    );
    expect(say('heartbeat_unfinished', { max_run_ms: minute })).toBe(
      'The job started and did not end within 1 minute',
    );
  });
});

describe('schedule', () => {
  const cron = (text: string): Cron => {
    const parsed = parseCron(text);
    if (typeof parsed === 'string') throw new Error(parsed);
    return parsed;
  };

  /** The next few occurrences as instants, without year and seconds. */
  const next = (text: string, zone: string, from: string, count: number): string[] => {
    const found: string[] = [];
    for (let at = Date.parse(from); found.length < count; ) {
      const one = nextOccurrence(cron(text), zone, at);
      if (one === undefined) break;
      found.push(new Date(one).toISOString().slice(5, 16));
      at = one;
    }
    return found;
  };

  describe('a cron schedule', () => {
    const rows: readonly (readonly [
      what: string,
      text: string,
      zone: string,
      from: string,
      expected: readonly string[],
    ])[] = [
      [
        'at a fixed hour that happens twice comes the first time only',
        '30 2 * * *',
        'Europe/Berlin',
        '2026-10-24T12:00Z',
        ['10-25T00:30', '10-26T01:30'],
      ],
      [
        'of fixed hours in an hour that happens twice comes once in each',
        '15 1-3 * * *',
        'Europe/Berlin',
        '2026-10-24T22:30Z',
        ['10-24T23:15', '10-25T00:15', '10-25T02:15', '10-26T00:15'],
      ],
      [
        'asked in the second pass of that hour does not come again',
        '15 2 * * *',
        'Europe/Berlin',
        '2026-10-25T01:05Z',
        ['10-26T01:15'],
      ],
      [
        'of every few minutes comes in both passes',
        '*/20 * * * *',
        'Europe/Berlin',
        '2026-10-24T23:50Z',
        [
          '10-25T00:00',
          '10-25T00:20',
          '10-25T00:40',
          '10-25T01:00',
          '10-25T01:20',
          '10-25T01:40',
          '10-25T02:00',
        ],
      ],
      [
        'of every other hour comes in both passes',
        '15 */2 * * *',
        'Europe/Berlin',
        '2026-10-24T23:00Z',
        ['10-25T00:15', '10-25T01:15', '10-25T03:15'],
      ],
      [
        'at a time that does not exist comes right after the gap',
        '30 2 * * *',
        'Europe/Berlin',
        '2026-03-28T12:00Z',
        ['03-29T01:00', '03-30T00:30'],
      ],
      [
        'at several times that do not exist comes once after the gap',
        '0,15,30 2 * * *',
        'Europe/Berlin',
        '2026-03-28T12:00Z',
        ['03-29T01:00', '03-30T00:00'],
      ],
      [
        'of every few minutes just goes on over the gap',
        '*/30 * * * *',
        'Europe/Berlin',
        '2026-03-29T00:15Z',
        ['03-29T00:30', '03-29T01:00', '03-29T01:30'],
      ],
      [
        'at the first minute after the gap comes then, once',
        '0 3 * * *',
        'Europe/Berlin',
        '2026-03-28T12:00Z',
        ['03-29T01:00', '03-30T01:00'],
      ],
      [
        'is right where clocks change by half an hour, forward',
        '15 2 * * *',
        'Australia/Lord_Howe',
        '2026-10-02T00:00Z',
        ['10-02T15:45', '10-03T15:30', '10-04T15:15'],
      ],
      [
        'is right where clocks change by half an hour, back',
        '45 1 * * *',
        'Australia/Lord_Howe',
        '2026-04-03T00:00Z',
        ['04-03T14:45', '04-04T14:45', '04-05T15:15'],
      ],
      [
        'is right where midnight does not exist',
        '15 0 * * *',
        'Africa/Cairo',
        '2026-04-22T12:00Z',
        ['04-22T22:15', '04-23T22:00', '04-24T21:15'],
      ],
      [
        'is right where a whole day does not exist',
        '15 0 30 12 *',
        'Pacific/Apia',
        '2011-12-28T00:00Z',
        ['12-30T10:00', '12-29T10:15'],
      ],
      [
        'takes "or" between the two kinds of day',
        '0 0 13 * 5',
        'UTC',
        '2026-01-01T00:00Z',
        ['01-02T00:00', '01-09T00:00', '01-13T00:00', '01-16T00:00'],
      ],
      [
        'takes "and" when one of them is a star with a step',
        '0 0 */10 * 1',
        'UTC',
        '2026-01-01T00:00Z',
        ['05-11T00:00', '06-01T00:00'],
      ],
      [
        'knows names, and Sunday by two numbers',
        '0 12 * jan,DEC sun-mon,7',
        'UTC',
        '2026-01-01T00:00Z',
        ['01-04T12:00', '01-05T12:00', '01-11T12:00'],
      ],
      [
        'comes on the day that is there every four years',
        '30 2 29 2 *',
        'UTC',
        '2026-01-01T00:00Z',
        ['02-29T02:30', '02-29T02:30'],
      ],
      ['has shorthands', '@weekly', 'UTC', '2026-01-01T00:00Z', ['01-04T00:00', '01-11T00:00']],
    ];

    test.for(rows)('%s', ([, text, zone, from, expected]) => {
      expect(next(text, zone, from, expected.length)).toEqual(expected);
    });

    test.for([
      '',
      '* * * *',
      '* * * * * *',
      '60 * * * *',
      '* 24 * * *',
      '* * 0 * *',
      '5-1 * * * *',
      '*/0 * * * *',
      '0 0 30 2 *',
      'a * * * *',
      '1,, * * * *',
    ])('refuses %j and says why', (text) => {
      expect(typeof parseCron(text)).toBe('string');
    });

    test('is always later than the given time, on a minute that matches, and skips none between', () => {
      const field = (from: number, to: number) =>
        fc.oneof(
          fc.constant('*'),
          fc.integer({ min: from, max: to }).map(String),
          fc.integer({ min: 1, max: 7 }).map((step) => `*/${step}`),
          fc
            .tuple(fc.integer({ min: from, max: to }), fc.integer({ min: from, max: to }))
            .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        );
      const zones = fc.constantFrom(
        'UTC',
        'Europe/Berlin',
        'America/New_York',
        'Australia/Lord_Howe',
        'Asia/Kathmandu',
        'Africa/Casablanca',
      );
      fc.assert(
        fc.property(
          field(0, 59),
          field(0, 23),
          field(1, 28),
          zones,
          fc.integer({ min: 1_767_225_600_000, max: 1_830_297_600_000 }),
          (minute, hour, day, zone, at) => {
            const schedule = cron(`${minute} ${hour} ${day} * *`);
            const found = nextOccurrence(schedule, zone, at);
            if (found === undefined) throw new Error('none came');
            expect(found).toBeGreaterThan(at);
            expect(found % 60_000).toBe(0);
            const local = Temporal.Instant.fromEpochMilliseconds(found).toZonedDateTimeISO(zone);
            const matches =
              schedule.minutes.has(local.minute) &&
              schedule.hours.has(local.hour) &&
              schedule.days.has(local.day);
            // Only what makes up for a gap does not match the clock: it comes at the very change of
            // it.
            const change =
              Temporal.Instant.fromEpochMilliseconds(found - 1).toZonedDateTimeISO(zone)
                .offsetNanoseconds !== local.offsetNanoseconds;
            expect(matches || (change && !schedule.wild)).toBe(true);
            // Asked from any moment before it, the answer is the same or earlier, never later.
            expect(nextOccurrence(schedule, zone, Math.floor((at + found) / 2))).toBe(found);
          },
        ),
        { numRuns: 300 },
      );
    });

    test('finds the same minutes as trying every one', () => {
      const schedule = cron('7,*/13 3-5,22 */3 * 2-4');
      const from = Date.parse('2026-02-27T00:00Z');
      const found: number[] = [];
      for (
        let at = nextMatch(schedule, from);
        at !== undefined && at < from + 40 * 86_400_000;
        at = nextMatch(schedule, at + 1)
      )
        found.push(at);
      const tried: number[] = [];
      for (let at = from; at < from + 40 * 86_400_000; at += 60_000) {
        const date = new Date(at);
        const minute = date.getUTCMinutes() === 7 || date.getUTCMinutes() % 13 === 0;
        const hour = [3, 4, 5, 22].includes(date.getUTCHours());
        const day = (date.getUTCDate() - 1) % 3 === 0 && [2, 3, 4].includes(date.getUTCDay());
        if (minute && hour && day) tried.push(at);
      }
      expect(found).toEqual(tried);
    });
  });

  describe('a ping shortly before a scheduled time', () => {
    const left = (text: string, zone: string, at: string): string =>
      new Date(nextDue(cron(text), zone, Date.parse(at)) ?? 0).toISOString();
    const rows: readonly (readonly [
      what: string,
      text: string,
      zone: string,
      ping: string,
      due: string,
    ])[] = [
      [
        'counts for it',
        '0 12 * * *',
        'UTC',
        '2026-11-20T11:59:59.999Z',
        '2026-11-21T12:00:00.000Z',
      ],
      [
        'counts for it half a minute before, at most',
        '0 12 * * *',
        'UTC',
        '2026-11-20T11:59:30.000Z',
        '2026-11-21T12:00:00.000Z',
      ],
      [
        'and not earlier',
        '0 12 * * *',
        'UTC',
        '2026-11-20T11:59:29.999Z',
        '2026-11-20T12:00:00.000Z',
      ],
      [
        'of every minute counts for it in the last quarter of it',
        '* * * * *',
        'UTC',
        '2026-11-20T11:59:45.000Z',
        '2026-11-20T12:01:00.000Z',
      ],
      [
        'of every minute is a late one for the run before until then',
        '* * * * *',
        'UTC',
        '2026-11-20T11:59:44.999Z',
        '2026-11-20T12:00:00.000Z',
      ],
      [
        'is measured by the gap before it, not after',
        '0,1 12 * * *',
        'UTC',
        '2026-11-20T12:00:44.999Z',
        '2026-11-20T12:01:00.000Z',
      ],
      [
        'of two that lie close counts for the second',
        '0,1 12 * * *',
        'UTC',
        '2026-11-20T12:00:45.000Z',
        '2026-11-21T12:00:00.000Z',
      ],
      [
        'of the first of two that lie close has half a minute',
        '0,1 12 * * *',
        'UTC',
        '2026-11-20T11:59:30.000Z',
        '2026-11-20T12:01:00.000Z',
      ],
      [
        'counts for what is made up for after the gap',
        '30 2 * * *',
        'Europe/Berlin',
        '2026-03-29T00:59:59.900Z',
        '2026-03-30T00:30:00.000Z',
      ],
      [
        'counts for the second pass of an hour, where the job runs in both',
        '*/30 * * * *',
        'Europe/Berlin',
        '2026-10-25T00:59:59.900Z',
        '2026-10-25T01:30:00.000Z',
      ],
      [
        'counts for the last run there is',
        '30 2 29 2 *',
        'UTC',
        '2028-02-29T02:29:59.000Z',
        '2032-02-29T02:30:00.000Z',
      ],
    ];
    test.for(rows)('%s', ([, text, zone, ping, due]) => {
      expect(left(text, zone, ping)).toBe(due);
    });

    test('never leaves more than the one run out, nor less to be run for than a ping before it', () => {
      const texts = fc.constantFrom(
        '* * * * *',
        '*/2 * * * *',
        '0,1,3,30 * * * *',
        '30 2 * * *',
        '0,59 1-3 * * *',
        '15 */2 * * *',
      );
      const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe');
      const changes = [
        '2026-03-28T22:00Z',
        '2026-10-24T22:00Z',
        '2026-04-04T12:00Z',
        '2026-10-03T12:00Z',
      ].map((at) => Date.parse(at));
      fc.assert(
        fc.property(
          texts,
          zones,
          fc.constantFrom(...changes),
          fc.integer({ min: 0, max: 18_000_000 }),
          fc.nat(90_000),
          (text, zone, from, after, more) => {
            const schedule = cron(text);
            const [first, second] = [
              nextDue(schedule, zone, from + after) ?? 0,
              nextDue(schedule, zone, from + after + more) ?? 0,
            ];
            const next = nextOccurrence(schedule, zone, from + after) ?? 0;
            expect([next, nextOccurrence(schedule, zone, next)]).toContain(first);
            if (first !== next) expect(next - from - after).toBeLessThanOrEqual(30_000);
            expect(second).toBeGreaterThanOrEqual(first);
          },
        ),
        { numRuns: 2_000 },
      );
    });
  });

  test('Sunday is 0, 7 and sun, and the end of a range', () => {
    const sundays = next('0 0 * * 0', 'UTC', '2026-01-01T00:00Z', 4);
    expect(sundays).toEqual(['01-04T00:00', '01-11T00:00', '01-18T00:00', '01-25T00:00']);
    for (const same of ['7', 'sun', 'SUN', '7-7', '0,7'])
      expect(next(`0 0 * * ${same}`, 'UTC', '2026-01-01T00:00Z', 4)).toEqual(sundays);
    expect(next('0 0 * * 5-7', 'UTC', '2026-01-01T00:00Z', 4)).toEqual([
      '01-02T00:00',
      '01-03T00:00',
      '01-04T00:00',
      '01-09T00:00',
    ]);
  });

  test('a time zone is one of the IANA database, not an offset; also to a Node that has no Temporal', () => {
    for (const on of [<Answer>(run: () => Answer) => run(), withoutTemporal]) {
      expect(
        on(() => ['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'].map(isTimeZone)),
      ).toEqual([true, true, true]);
      expect(on(() => ['+02:00', 'Mars/Olympus', '', 'Europe/Berlin; drop'].some(isTimeZone))).toBe(
        false,
      );
    }
  });
});
