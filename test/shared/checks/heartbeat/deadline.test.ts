import { describe, expect, test } from 'vitest';
import { type PingSettings, pingSettings } from '../../../../shared/checks/heartbeat/config.ts';
import {
  coveredUntil,
  foldPing,
  judgePings,
  mergePings,
  nextRecheckAt,
  noPings,
  type Ping,
  type PingState,
  withSettings,
} from '../../../../shared/checks/heartbeat/state.ts';
import fc from '../../../support/random.ts';

const minute = 60_000;
const terms = (
  config: Parameters<typeof pingSettings>[0]['config'] = {},
  interval_ms = 5 * minute,
): PingSettings => pingSettings({ interval_ms, config });

let made = 0;
const pingAt = (at: number, kind: Ping['kind'] = 'success', more: Partial<Ping> = {}): Ping => {
  made += 1;
  return { id: `beat-${made}`, kind, exit_code: null, at, rid: null, ...more };
};
const stateAfter = (...pings: readonly Ping[]): PingState =>
  pings.reduce((state, ping) => foldPing(state, ping).state, noPings);

describe('a heartbeat is judged', () => {
  test('pending before its first ping, whatever the time; logs are no pings', () => {
    expect(judgePings(noPings, terms(), 1e12)).toEqual({ is: 'pending' });
    expect(judgePings(stateAfter(pingAt(0, 'log')), terms(), 1e12)).toEqual({ is: 'pending' });
  });

  test('good until last ping, interval and grace are over, and late from that very millisecond', () => {
    const state = stateAfter(pingAt(1_000));
    expect(judgePings(state, terms(), 361_000 - 1)).toEqual({ is: 'good', until: 361_000 });
    const late = judgePings(state, terms(), 361_000);
    expect(late).toMatchObject({
      is: 'failing',
      since: 361_000,
      cause: { class: 'heartbeat_late', params: { deadline: 361_000, after: 1_000 } },
    });
  });

  test('with a grace of a fifth of the interval, at least half a minute, unless it is set', () => {
    expect(
      [terms({}, 3_600_000), terms({}, 30_000), terms({ grace_s: 0 })].map(
        ({ grace_ms }) => grace_ms,
      ),
    ).toEqual([720_000, 30_000, 0]);
  });

  test('by its schedule in its zone, in the night when an hour happens twice', () => {
    const nightly = terms({ schedule: '30 2 * * *', timezone: 'Europe/Berlin', grace_s: 600 });
    const ran = Date.parse('2026-10-25T00:31:00Z');
    // The second 02:30 of that night is no time of its own: the next ping is due the day after, at
    // 02:30 of winter.
    expect(judgePings(stateAfter(pingAt(ran)), nightly, ran + 3_600_000)).toEqual({
      is: 'good',
      until: Date.parse('2026-10-26T01:40:00Z'),
    });
  });

  test('by its schedule in the night when its time does not exist', () => {
    const nightly = terms({ schedule: '30 2 * * *', timezone: 'Europe/Berlin', grace_s: 600 });
    const ran = Date.parse('2026-03-28T01:30:20Z');
    expect(judgePings(stateAfter(pingAt(ran)), nightly, ran)).toEqual({
      is: 'good',
      until: Date.parse('2026-03-29T01:10:00Z'),
    });
    const made_up = Date.parse('2026-03-29T01:00:15Z');
    expect(judgePings(stateAfter(pingAt(ran), pingAt(made_up)), nightly, made_up)).toEqual({
      is: 'good',
      until: Date.parse('2026-03-30T00:40:00Z'),
    });
  });

  const daily = terms({ schedule: '0 12 * * *', grace_s: 600 });
  const noon = Date.parse('2026-11-20T12:00Z');
  const day = 1_440 * minute;

  test('by the run that a ping came for, although the clock of the job was a little ahead of ours', () => {
    expect(judgePings(stateAfter(pingAt(noon - 100)), daily, noon + 10 * minute)).toEqual({
      is: 'good',
      until: noon + day + 10 * minute,
    });
    // The run after that is missed as ever.
    expect(
      judgePings(stateAfter(pingAt(noon - 100)), daily, noon + day + 10 * minute),
    ).toMatchObject({
      is: 'failing',
      since: noon + day + 10 * minute,
      cause: { class: 'heartbeat_late', params: { after: noon - 100 } },
    });
  });

  test('also in the nights when the clocks change', () => {
    const nightly = terms({ schedule: '30 2 * * *', timezone: 'Europe/Berlin', grace_s: 600 });
    const until = (came: string) => {
      const at = Date.parse(came);
      const judged = judgePings(stateAfter(pingAt(at)), nightly, at);
      return judged.is === 'good' ? new Date(judged.until).toISOString() : judged;
    };
    // 02:30 does not exist, and is made up for at 01:00 UTC.
    expect(until('2026-03-29T00:59:59.900Z')).toBe('2026-03-30T00:40:00.000Z');
    // 02:30 exists twice, and the job runs the first time.
    expect(until('2026-10-25T00:29:59.900Z')).toBe('2026-10-26T01:40:00.000Z');
    expect(until('2026-10-25T01:29:59.900Z')).toBe('2026-10-26T01:40:00.000Z');
  });

  test('by the run that began a little early and ended after its time, within its limit and from then on by its end', () => {
    const limited = terms({ schedule: '0 12 * * *', grace_s: 600, max_run_s: 3_600 });
    const begun = stateAfter(pingAt(noon - day - 100), pingAt(noon - 100, 'start'));
    expect(judgePings(begun, limited, noon + 20 * minute)).toEqual({
      is: 'good',
      until: noon - 100 + 60 * minute,
    });
    expect(judgePings(begun, limited, noon + 60 * minute)).toMatchObject({
      is: 'failing',
      cause: { class: 'heartbeat_unfinished' },
    });
    const ended = foldPing(begun, pingAt(noon + 30 * minute)).state;
    expect(judgePings(ended, limited, noon + 60 * minute)).toEqual({
      is: 'good',
      until: noon + day + 10 * minute,
    });
    // Without a limit a start promises nothing: the end must come in time.
    expect(judgePings(begun, daily, noon + 10 * minute)).toMatchObject({
      is: 'failing',
      since: noon + 10 * minute,
    });
  });

  test('by the very next run when it is resumed shortly before it, unless a ping came for that already', () => {
    const before = withSettings(
      stateAfter(pingAt(noon - day)),
      { version: 1, paused: true },
      noon - 60 * minute,
    );
    const resumed = withSettings(before, { version: 1, paused: false }, noon - 5_000);
    expect(judgePings(resumed, daily, noon)).toEqual({ is: 'good', until: noon + 10 * minute });
    const early = withSettings(
      foldPing(before, pingAt(noon - 6_000)).state,
      { version: 1, paused: false },
      noon - 5_000,
    );
    expect(judgePings(early, daily, noon)).toEqual({ is: 'good', until: noon + day + 10 * minute });
  });

  test('failing by /fail or an exit code until the next good ping, which alone ends it', () => {
    const broken = stateAfter(
      pingAt(0),
      pingAt(10, 'fail', { exit_code: 3 }),
      pingAt(20, 'start'),
      pingAt(30, 'log'),
    );
    expect(judgePings(broken, terms(), 40)).toMatchObject({
      is: 'failing',
      since: 10,
      cause: { class: 'heartbeat_exit_code', params: { exit_code: 3 } },
    });
    expect(judgePings(foldPing(broken, pingAt(50)).state, terms(), 60)).toEqual({
      is: 'good',
      until: 50 + 6 * minute,
    });
  });

  test('by the later one when fail and success fell into one millisecond', () => {
    expect(judgePings(stateAfter(pingAt(10, 'fail'), pingAt(10)), terms(), 11).is).toBe('good');
    expect(judgePings(stateAfter(pingAt(10), pingAt(10, 'fail')), terms(), 11).is).toBe('failing');
  });

  test('failing when a run does not end in its time, and told apart by rid when runs overlap', () => {
    const limited = terms({ max_run_s: 60 });
    const state = stateAfter(
      pingAt(0),
      pingAt(1_000, 'start', { rid: 'a' }),
      pingAt(2_000, 'start', { rid: 'b' }),
      pingAt(3_000, 'success', { rid: 'b' }),
    );
    expect(judgePings(state, limited, 60_999)).toEqual({ is: 'good', until: 61_000 });
    expect(judgePings(state, limited, 61_000)).toMatchObject({
      is: 'failing',
      since: 61_000,
      cause: { class: 'heartbeat_unfinished' },
    });
    // A good ping after that makes up for it, although that run never ended.
    expect(judgePings(foldPing(state, pingAt(70_000)).state, limited, 80_000).is).toBe('good');
  });

  test('not late while a run that began in time is under way within its limit', () => {
    const state = stateAfter(pingAt(0), pingAt(5 * minute, 'start'));
    expect(judgePings(state, terms({ max_run_s: 3_600 }), 20 * minute)).toEqual({
      is: 'good',
      until: 65 * minute,
    });
    expect(judgePings(state, terms(), 20 * minute)).toMatchObject({
      is: 'failing',
      cause: { class: 'heartbeat_late' },
    });
  });

  test('with its whole time again after a pause or a change of its schedule', () => {
    const state = withSettings(stateAfter(pingAt(0)), { version: 1, paused: false }, 0);
    const paused = withSettings(state, { version: 1, paused: true }, minute);
    const resumed = withSettings(paused, { version: 1, paused: false }, 60 * minute);
    expect(judgePings(resumed, terms(), 61 * minute)).toEqual({ is: 'good', until: 66 * minute });
    const edited = withSettings(state, { version: 2, paused: false }, 4 * minute);
    expect(judgePings(edited, terms({}, minute), 4 * minute)).toEqual({
      is: 'good',
      until: 5.5 * minute,
    });
    expect(withSettings(state, { version: 1, paused: false }, 9 * minute)).toBe(state);
    expect(withSettings(edited, { version: 1, paused: false }, 9 * minute)).toBe(edited);
  });

  test('never later than a ping that comes right after could make it overdue', () => {
    const kinds = fc.constantFrom<Ping['kind']>('success', 'start', 'fail');
    const rids = fc.constantFrom(null, 'a', 'b');
    const config = fc.record({
      schedule: fc.constantFrom(null, '* * * * *', '0,1,3,7 * * * *'),
      grace_s: fc.integer({ min: 0, max: 300 }),
      max_run_s: fc.option(fc.integer({ min: 1, max: 600 }), { nil: null }),
    });
    fc.assert(
      fc.property(
        config,
        fc.array(fc.tuple(kinds, fc.integer({ min: 0, max: 900_000 }), rids), { maxLength: 6 }),
        fc.integer({ min: 0, max: 900_000 }),
        kinds,
        fc.integer({ min: 0, max: 900_000 }),
        rids,
        (given, pings, now, kind, later, rid) => {
          const agreed = terms(given);
          const past = pings.filter(([, at]) => at <= now).toSorted((a, b) => a[1] - b[1]);
          const state = stateAfter(...past.map(([one, at, rid]) => pingAt(at, one, { rid })));
          const judgement = judgePings(state, agreed, now);
          const look = nextRecheckAt(judgement, state, agreed, now);
          expect(look).toBeGreaterThan(now);
          // Only a good ping mends what fails already.
          if (kind === 'fail' || (judgement.is === 'failing' && kind !== 'success')) return;
          // Whatever good or start comes after this look: at the moment of the next one it cannot
          // already have been overdue for long.
          const ping = pingAt(now + later, kind, { rid });
          if (ping.at > look) return;
          const then = judgePings(foldPing(state, ping).state, agreed, look);
          if (then.is === 'failing') expect(then.since).toBeGreaterThanOrEqual(look);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('the summary of pings', () => {
  test('has the duration of each run, and loses nothing when its end overtakes its start', () => {
    const begun = foldPing(noPings, pingAt(1_000, 'start', { rid: 'a' })).state;
    expect(foldPing(begun, pingAt(4_500, 'success', { rid: 'a' })).run_ms).toBe(3_500);
    expect(foldPing(begun, pingAt(4_500, 'success', { rid: 'b' })).run_ms).toBeNull();
    const overtaken = stateAfter(
      pingAt(4_500, 'success', { rid: 'a' }),
      pingAt(1_000, 'start', { rid: 'a' }),
    );
    expect(overtaken.open).toEqual([]);
  });

  test('is small however many runs begin', () => {
    const state = stateAfter(
      ...Array.from({ length: 500 }, (_, index) => pingAt(index, 'start', { rid: String(index) })),
    );
    expect(state.open.length).toBeLessThanOrEqual(16);
  });

  test('is the same in whatever order pings of different moments arrive, and however often', () => {
    const kinds = fc.constantFrom<Ping['kind']>('success', 'start', 'fail', 'log');
    const moments = fc.uniqueArray(fc.integer({ min: 0, max: 10_000 }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(
        moments,
        fc.array(kinds, { minLength: 8, maxLength: 8 }),
        fc.array(fc.nat(100), { minLength: 8, maxLength: 8 }),
        (times, kind, order) => {
          const pings = times.map((at, index) =>
            pingAt(at, kind[index] ?? 'success', { rid: null }),
          );
          const straight = stateAfter(...pings.toSorted((a, b) => a.at - b.at));
          const shuffled = pings.toSorted(
            (a, b) => (order[pings.indexOf(a)] ?? 0) - (order[pings.indexOf(b)] ?? 0),
          );
          const mixed = stateAfter(...shuffled, ...shuffled);
          expect({ good: mixed.good, bad: mixed.bad, latest: mixed.latest }).toEqual({
            good: straight.good,
            bad: straight.bad,
            latest: straight.latest,
          });
          expect(mixed.open).toEqual(straight.open);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('is restored from the database and from later messages of the bus', () => {
    const [first, second, third] = [
      pingAt(0),
      pingAt(10, 'start', { rid: 'a' }),
      pingAt(20, 'fail'),
    ];
    const known = withSettings(stateAfter(first, second), { version: 3, paused: false }, 5);
    const seen = stateAfter(third);
    expect(mergePings(known, seen)).toMatchObject({
      terms: 3,
      good: { at: 0 },
      bad: { at: 20 },
      latest: 'bad',
      open: [{ rid: 'a', at: 10 }],
    });
    expect(mergePings(known, noPings)).toEqual(known);
  });
});

describe('the time that pings cover (rule 22)', () => {
  test('of a run is as long as its limit, also beyond the interval; a log covers nothing', () => {
    const slow = terms({ max_run_s: 3_600 });
    expect(coveredUntil(slow, { at: 1_000, kind: 'start' })).toBe(3_601_000);
    expect(coveredUntil(slow, { at: 1_000, kind: 'success' })).toBe(361_000);
    expect(coveredUntil(terms({ max_run_s: 60 }), { at: 1_000, kind: 'start' })).toBe(361_000);
    expect(coveredUntil(slow, { at: 1_000, kind: 'log' })).toBe(1_000);
  });

  test('of one that came shortly before its scheduled time lasts until the run after that is due', () => {
    const hourly = terms({ schedule: '0 * * * *', grace_s: 60 });
    for (const kind of ['success', 'fail', 'start'] as const)
      expect(
        [59_900, 30_000, 100].map(
          (early) => coveredUntil(hourly, { at: 60 * minute - early, kind }) / minute,
        ),
      ).toEqual([61, 121, 121]);
  });

  test('leaves no time that its probes call good', () => {
    const kinds = fc.constantFrom<Ping['kind']>('success', 'start', 'log');
    const pings = fc.array(
      fc.record({
        kind: kinds,
        after: fc.integer({ min: 1, max: 20 * minute }),
        rid: fc.constantFrom(null, 'a', 'b'),
      }),
    );
    const schedules = fc.constantFrom(
      {},
      { schedule: '* * * * *' },
      { schedule: '0,1,3,17 * * * *' },
      { schedule: '0 */3 * * *' },
    );
    fc.assert(
      fc.property(
        pings,
        fc.integer({ min: 1, max: 3_600 }),
        schedules,
        (given, max_run_s, schedule) => {
          const agreed = terms({ max_run_s, ...schedule });
          let at = 1_000;
          let covered = 0;
          let state = noPings;
          for (const { kind, after, rid } of given) {
            at += after;
            const ping = pingAt(at, kind, { rid });
            state = foldPing(state, ping).state;
            covered = Math.max(covered, coveredUntil(agreed, ping));
            const judged = judgePings(state, agreed, at);
            if (judged.is === 'good') expect(covered).toBeGreaterThanOrEqual(judged.until);
          }
        },
      ),
    );
  });
});

describe('a job that sends only starts', () => {
  test('is late, before any good ping, when interval and grace are over since the first start, however many starts follow', () => {
    const first = stateAfter(pingAt(1_000, 'start'));
    expect(judgePings(first, terms(), 361_000 - 1)).toEqual({ is: 'good', until: 361_000 });
    const starts = Array.from({ length: 60 }, (_, index) =>
      pingAt(1_000 + index * 6_000, 'start', { rid: index % 2 ? null : `run-${index}` }),
    );
    for (const state of [first, stateAfter(...starts), mergePings(noPings, stateAfter(...starts))])
      expect(judgePings(state, terms(), 361_000)).toMatchObject({
        is: 'failing',
        since: 361_000,
        cause: {
          class: 'heartbeat_late',
          params: { deadline: 361_000, after: 1_000, silent_ms: 360_000 },
        },
      });
    expect(judgePings(stateAfter(...starts, pingAt(361_001)), terms(), 361_002)).toMatchObject({
      is: 'good',
    });
  });

  test('has the limit of a first run that is under way, and its whole time again after a pause', () => {
    const first = withSettings(stateAfter(pingAt(0, 'start')), { version: 1, paused: false }, 0);
    expect(judgePings(first, terms({ max_run_s: 3_600 }), 20 * minute)).toEqual({
      is: 'good',
      until: 60 * minute,
    });
    const resumed = withSettings(
      withSettings(first, { version: 1, paused: true }, minute),
      { version: 1, paused: false },
      60 * minute,
    );
    expect(judgePings(resumed, terms(), 61 * minute)).toEqual({ is: 'good', until: 66 * minute });
  });
});
