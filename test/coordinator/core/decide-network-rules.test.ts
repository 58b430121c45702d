import { describe, expect, test } from 'vitest';
import {
  beginBacklog,
  byStart,
  endsSilenceOfAll,
  type LatestPresence,
  mustWait,
  updateBacklog,
  working,
} from '../../../coordinator/core/backlog.ts';
import {
  asWritten,
  type ComparedCheck,
  observe,
  trusting,
} from '../../../coordinator/core/quarantine.ts';
import { type Purse, spend } from '../../../coordinator/core/rechecks.ts';
import type { SeenResult } from '../../../coordinator/core/types.ts';
import { type StatusInput, statusNow } from '../../../coordinator/monitors/status.ts';
import { judgeSilence } from '../../../coordinator/probes/roster.ts';
import fc from '../../support/random.ts';

const heard = (...times: number[]) =>
  times.map((time, index) => ({ probe: `p${index}`, at: time }));

describe('rule 7: a lost probe', () => {
  test('rule 7: a probe silent for 15 s is lost', () => {
    expect(judgeSilence(heard(100_000, 99_000, 85_001), 0, 100_000)).toEqual({
      lost: [],
      busAway: false,
    });
    expect(judgeSilence(heard(100_000, 99_000, 85_000), 0, 100_000)).toEqual({
      lost: ['p2'],
      busAway: false,
    });
  });

  test('rule 7: silence counts only while the coordinator was listening', () => {
    expect(judgeSilence(heard(100_000, 99_000, 20_000), 90_000, 100_000)).toEqual({
      lost: [],
      busAway: false,
    });
  });

  test('rule 7: when most fall silent at once it is the bus', () => {
    expect(judgeSilence(heard(83_000, 80_000, 81_000), 0, 100_000)).toEqual({
      lost: [],
      busAway: true,
    });
    expect(judgeSilence(heard(83_000, 80_000, 99_000), 0, 100_000)).toEqual({
      lost: [],
      busAway: true,
    });
  });

  test('rule 7: those who fell silent at once are not lost one after the other, although each spoke last in a moment of its own', () => {
    expect(judgeSilence(heard(85_000, 89_500), 0, 100_000)).toEqual({ lost: [], busAway: true });
    expect(judgeSilence(heard(85_000, 95_000), 0, 100_000)).toEqual({
      lost: ['p0'],
      busAway: false,
    });
  });

  test('rule 7: but not without limit while others are heard', () => {
    expect(judgeSilence(heard(63_000, 64_000, 99_000), 0, 100_000)).toEqual({
      lost: ['p0', 'p1'],
      busAway: false,
    });
  });

  test('rule 7: one after the other is no bus', () => {
    expect(judgeSilence(heard(83_000, 60_000, 99_000), 0, 100_000)).toEqual({
      lost: ['p0', 'p1'],
      busAway: false,
    });
  });
});

describe('rule 4: backlogs', () => {
  const result = (probe: string, time: number, seq: number): SeenResult => ({
    seq,
    monitor: 'm',
    config_version: 1,
    at: time,
    took_ms: 1,
    outcome: 'ok',
    cause: null,
    phases: null,
    evidence: null,
    look: null,
    from: { probe, name: probe, continent: 'Asia' },
    quarantined: false,
    handed_over: false,
  });

  const word = (probe: string, heard_at: number, handed_over = true): LatestPresence => ({
    probe,
    heard_at,
    handed_over,
  });

  test('rule 4: it lasts until all healthy probes have handed over, at most 30 s', () => {
    const begun = beginBacklog(10_000);
    const none = [word('a', 9_000), word('b', 8_000)];
    const both = [word('a', 10_500), word('b', 11_500)];
    expect(updateBacklog(begun, none, 12_000).until).not.toBeNull();
    expect(
      updateBacklog(begun, [word('a', 11_000), word('b', 8_000)], 12_000).until,
    ).not.toBeNull();
    expect(
      updateBacklog(begun, [word('a', 11_000), word('b', 11_500, false)], 12_000).until,
    ).not.toBeNull();
    // What has landed may still be on its way: a moment more.
    const settling = updateBacklog(begun, both, 12_000);
    expect(settling.until).toBe(12_200);
    expect(updateBacklog(settling, both, 12_200)).toEqual(working);
    expect(updateBacklog(begun, both, 12_000, true).until).toBe(40_000);
    expect(updateBacklog(begun, none, 39_999).until).not.toBeNull();
    expect(updateBacklog(begun, none, 40_000).until).toBeNull();
  });

  test('rule 4: the backlog of one probe waits for those that have not been heard since', () => {
    const late = { since: 50_000, from: ['a'] };
    const now = 59_000;
    expect(mustWait(working, late, [word('a', 49_000), word('b', 48_000)], now)).toBe(true);
    expect(mustWait(working, late, [word('a', 58_900), word('b', 58_950, false)], now)).toBe(true);
    // Heard since, but silent now: it lost the bus later.
    expect(mustWait(working, late, [word('a', 49_000), word('b', 52_000)], now)).toBe(true);
  });

  test('rule 4: a probe that was away alone delays no one', () => {
    const late = { since: 50_000, from: ['a'] };
    expect(
      mustWait(working, late, [word('a', 49_000), word('b', 55_000), word('c', 58_000)], 59_000),
    ).toBe(false);
    expect(
      mustWait(
        working,
        late,
        [word('a', 58_000, false), word('b', 55_000), word('c', 58_000)],
        59_000,
      ),
    ).toBe(false);
  });

  test('rule 4: a probe that never hands over is waited for once, and again only after all were healthy', () => {
    const late = { since: 50_000, from: ['a'] };
    const at = (now: number) => [word('a', now - 1_000), word('b', 20_000)];
    const spent = updateBacklog(beginBacklog(60_000, 50_000), at(90_000), 90_000);
    expect(spent.until).toBeNull();
    expect(mustWait(spent, late, at(91_000), 91_000)).toBe(false);
    expect(updateBacklog(spent, at(95_000), 95_000)).toEqual(spent);
    // All silent again: whoever comes first then begins anew.
    expect(updateBacklog(spent, at(60_000), 100_000)).toEqual(working);
    const well = updateBacklog(spent, [word('a', 99_000), word('b', 99_500)], 100_000);
    expect(mustWait(well, { ...late, since: 100_000 }, at(110_000), 110_000)).toBe(true);
  });

  test('rules 4 and 7: the first presence after none was heard restarts the time of the others; that of one of many does not', () => {
    expect(endsSilenceOfAll([{ heard_at: 1_000 }, { heard_at: 2_000 }], 9_000)).toBe(true);
    expect(endsSilenceOfAll([{ heard_at: 1_000 }, { heard_at: 5_000 }], 9_000)).toBe(false);
    expect(endsSilenceOfAll([{ heard_at: 1_000 }], 9_000)).toBe(false);
  });

  test('rule 4: results are decided in order of start, whatever the order in which they arrive', () => {
    const some = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 20 })), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(some, (list) => {
        const results = list.map(([probe, time], index) => result(probe, time, index + 1));
        const forth = results.toSorted(byStart);
        expect(forth).toEqual(results.toReversed().toSorted(byStart));
        expect(forth.every((each, index) => each.at >= (forth[index - 1]?.at ?? 0))).toBe(true);
      }),
    );
  });
});

describe('rule 16: trust', () => {
  const shown = (
    target: string,
    time: number,
    ok: boolean,
    others: ComparedCheck['others'] = 'pass',
  ): ComparedCheck => ({
    target,
    at: time,
    ok,
    others,
    turn_ms: 180_000,
  });
  const sick = ['a', 'b', 'c', 'd'].reduce(
    (trust, target, index) =>
      observe(trust, shown(target, index, false), { targets: 8, isOnly: false, isAll: true }),
    trusting,
  );

  test('rule 16: a large share of distinct targets refuted by other continents quarantines', () => {
    expect(sick.sick_since).toBe(3);
  });

  test('rule 16: one target many times, few of many, or failures that others see too do not', () => {
    let trust = trusting;
    for (let time = 0; time < 50; time += 1)
      trust = observe(trust, shown('a', time, false), { targets: 8, isOnly: false, isAll: true });
    for (const target of ['a', 'b', 'c', 'd'])
      trust = observe(trust, shown(target, 60, false), {
        targets: 100,
        isOnly: false,
        isAll: true,
      });
    for (const target of ['e', 'f', 'g', 'h'])
      trust = observe(trust, shown(target, 70, false, 'fail'), {
        targets: 8,
        isOnly: false,
        isAll: true,
      });
    expect(trust.sick_since).toBeNull();
  });

  test('rule 16: what passed since, or is long ago, does not count', () => {
    let trust = trusting;
    for (const target of ['a', 'b', 'c']) {
      trust = observe(trust, shown(target, 0, false), { targets: 8, isOnly: false, isAll: true });
      trust = observe(trust, shown(target, 1, true), { targets: 8, isOnly: false, isAll: true });
    }
    trust = observe(trust, shown('d', 1, false), { targets: 8, isOnly: false, isAll: true });
    for (const target of ['e', 'f', 'g'])
      trust = observe(trust, shown(target, 700_000, false), {
        targets: 8,
        isOnly: false,
        isAll: true,
      });
    expect(trust.sick_since).toBeNull();
  });

  test('rule 16: a probe whose targets are all checked seldom is found out too', () => {
    const hour = 3_600_000;
    const seldom = ['a', 'b', 'c', 'd'].map((target, index) => ({
      ...shown(target, (index + 1) * hour, false),
      turn_ms: 4 * hour,
    }));
    expect(
      seldom.reduce(
        (trust, each) => observe(trust, each, { targets: 10, isOnly: false, isAll: true }),
        trusting,
      ).sick_since,
    ).toBe(4 * hour);
  });

  test('rule 16: it returns after a run of clean shadow checks, and a wrong one restarts the run', () => {
    let trust = sick;
    for (let time = 10; time < 29; time += 1)
      trust = observe(trust, shown(`t${time % 5}`, time, true), {
        targets: 8,
        isOnly: false,
        isAll: true,
      });
    expect(trust.sick_since).not.toBeNull();
    trust = observe(trust, shown('t1', 30, false), { targets: 8, isOnly: false, isAll: true });
    for (let time = 31; time < 50; time += 1)
      trust = observe(trust, shown(`t${time % 5}`, time, true), {
        targets: 8,
        isOnly: false,
        isAll: true,
      });
    expect(trust.sick_since).not.toBeNull();
    expect(
      observe(trust, shown('t3', 50, true), { targets: 8, isOnly: false, isAll: true }),
    ).toEqual(trusting);
  });

  test('rule 16: shadow checks that no other probe can compare with prove nothing', () => {
    let trust = sick;
    for (let time = 10; time < 100; time += 1)
      trust = observe(trust, shown(`t${time % 5}`, time, true, 'nothing'), {
        targets: 8,
        isOnly: false,
        isAll: true,
      });
    expect(trust.sick_since).toBe(3);
  });

  test.each([
    ['pass where others fail', true],
    ['fail as others do, for whoever fails everything agrees in a great outage', false],
  ])('rule 16: nor do those that %s', (_, ok) => {
    let trust = sick;
    for (let time = 10; time < 100; time += 1)
      trust = observe(trust, shown(`t${time % 5}`, time, ok, 'fail'), {
        targets: 8,
        isOnly: false,
        isAll: true,
      });
    expect(trust.sick_since).toBe(3);
  });

  test('rule 16: a coordinator goes by what another has written down, and lets the probe return itself', () => {
    const own = observe(trusting, shown('a', 0, false), { targets: 8, isOnly: false, isAll: true });
    expect(asWritten(own, null)).toBe(own);
    const taken = asWritten(own, 5);
    expect(taken).toEqual({ ...trusting, sick_since: 5 });
    let trust = taken;
    for (let time = 10; time < 29; time += 1)
      trust = asWritten(
        observe(trust, shown(`t${time % 5}`, time, true), {
          targets: 8,
          isOnly: false,
          isAll: true,
        }),
        5,
      );
    expect(observe(trust, shown('t1', 30, true), { targets: 8, isOnly: false, isAll: true })).toBe(
      trusting,
    );
    expect(asWritten(taken, null)).toBe(trusting);
  });
});

test('rule 13: samples stay within the budget of each probe and of the coordinator', () => {
  const all = { perSecond: 3, burst: 3 };
  const own = { perSecond: 1, burst: 2 };
  const budget = new Map<string, Purse>();
  const asked: Record<string, number> = {};
  for (let now = 0; now < 10_000; now += 50) {
    for (const probe of ['a', 'b', 'c', 'd']) {
      const whose = new Map([
        ['all', all],
        [probe, own],
      ]);
      const spent = spend(budget, whose, now);
      for (const [of, purse] of spent.after) budget.set(of, purse);
      if (spent.granted) asked[probe] = (asked[probe] ?? 0) + 1;
    }
  }
  expect(Object.values(asked).every((count) => count <= 12)).toBe(true);
  const sum = Object.values(asked).reduce((so, count) => so + count, 0);
  expect(sum).toBeGreaterThan(25);
  expect(sum).toBeLessThanOrEqual(33);
});

describe('rule 18: status', () => {
  const input: StatusInput = {
    now: 1000,
    created_at: 100,
    paused_at: null,
    incident: null,
    last_checked_at: 950,
    covered_until: 1200,
    last_resolved_at: null,
    last_gap_ended_at: 120,
    resumed_at: null,
  };
  test.each([
    ['up since the first result', {}, 'up', 120],
    ['up since the last incident ended', { last_resolved_at: 600 }, 'up', 600],
    [
      'up since the last unknown stretch ended',
      { last_resolved_at: 600, last_gap_ended_at: 700 },
      'up',
      700,
    ],
    ['pending before any result', { last_checked_at: null, covered_until: 100 }, 'pending', 100],
    [
      'pending before any result, also in the time that one may take to come',
      { last_checked_at: null, resumed_at: 300 },
      'pending',
      300,
    ],
    ['pending when no usable result is young enough', { covered_until: 900 }, 'pending', 900],
    [
      'pending from the very moment until which the newest result counts',
      { covered_until: 1000 },
      'pending',
      1000,
    ],
    [
      'verifying while an incident is unconfirmed',
      { incident: { started_at: 800, confirmed_at: null } },
      'verifying',
      800,
    ],
    [
      'down once it is confirmed, even without young results',
      { incident: { started_at: 800, confirmed_at: 810 }, covered_until: 900 },
      'down',
      810,
    ],
    [
      'paused before all',
      { paused_at: 500, incident: { started_at: 800, confirmed_at: 810 } },
      'paused',
      500,
    ],
  ] as const)('rule 18: %s', (_, change, status, since) => {
    expect(statusNow({ ...input, ...change })).toMatchObject({ status, since });
  });
});
