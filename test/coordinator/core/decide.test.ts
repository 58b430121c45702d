import { describe, expect, test } from 'vitest';
import { coveredByPass, decide, isRoutinePass } from '../../../coordinator/core/decide.ts';
import { createState } from '../../../coordinator/core/lifecycle.ts';
import { firstCheck } from '../../../coordinator/core/rechecks.ts';
import type { MonitorState, SeenResult } from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { nextTurn, type Placed, turns } from '../../../shared/checks/placement.ts';
import fc from '../../support/random.ts';
import { at, story } from './story.ts';

/** The narrow places of the core: what lies exactly on a line, and what must change nothing. */
describe('decide', () => {
  describe('ignored results', () => {
    test('rules 15 and 16: a result of a quarantined probe is in the matrix as unknown', () => {
      const told = story();
      told.fail('Europe', 10);
      const recheck = told.effects('look')[0]?.look ?? null;
      told.fail('Asia', 10.3, { look: recheck, quarantined: true });
      expect(told.effects('evidence').at(-1)?.row).toMatchObject({
        part: 'matrix',
        continent: 'Asia',
        outcome: 'unknown',
      });
      expect(told.state().incident?.confirmed_at).toBeNull();
    });

    test('rule 15: an answer to another recheck is not in the matrix', () => {
      const told = story();
      told.fail('Europe', 10);
      told.pass('Asia', 10.3, { look: 'another' });
      told.pass('Asia', 10.4);
      expect(told.effects('evidence').map(({ row }) => row.part)).toEqual(['seen']);
    });

    test('rule 17: a tick of a paused monitor does nothing, and an edit leaves it paused', () => {
      const told = story();
      told.fail('Europe', 10);
      told.tell({ is: 'paused', at: at(20) }, 20);
      const { watched } = told.state();
      expect(told.tick(10_000)).toEqual([]);
      told.tell(
        {
          is: 'edited',
          at: at(30),
          watched: { ...watched, paused_at: null, interval_ms: 30_000 },
          changed: true,
        },
        30,
      );
      expect(told.state().watched).toMatchObject({ paused_at: at(20), interval_ms: 30_000 });
      expect(told.fail('Europe', 40)).not.toContainEqual(
        expect.objectContaining({ is: 'incident' }),
      );
    });

    test('rule 3: a result older than two turns decides nothing, one of exactly two turns does', () => {
      const told = story();
      told.pass('Asia', 500);
      told.fail('Europe', 259.999, { arrives: 501 });
      expect(told.incidents()).toEqual([]);
      told.fail('Europe', 260, { arrives: 502 });
      expect(told.incidents()).toMatchObject([{ started_at: at(260) }]);
    });

    test('rule 3: nor does one older than what another probe of its continent has seen', () => {
      const told = story();
      told.pass('Europe', 100, { probe: 'second' });
      told.fail('Europe', 90, { arrives: 101 });
      expect(told.incidents()).toEqual([]);
      told.fail('Europe', 110);
      told.pass('Europe', 105, { probe: 'second', arrives: 111 });
      expect(told.incidents()).toMatchObject([{ started_at: at(110), resolved_at: null }]);
    });

    test('rule 3: an older pass of a probe that fails changes nothing', () => {
      const told = story();
      told.pass('Asia', 1);
      told.fail('Europe', 20);
      expect(told.pass('Europe', 10, { arrives: 21 })).toEqual([]);
      expect(told.incidents()).toMatchObject([{ started_at: at(20), resolved_at: null }]);
    });

    test('rule 5: who may not check it decides nothing', () => {
      const told = story(['Europe', 'Asia', 'Africa'], { continents: ['Europe', 'Asia'] });
      told.fail('Africa', 10);
      expect(told.incidents()).toEqual([]);
      told.fail('Europe', 11);
      told.fail('Africa', 12);
      expect(told.state().incident?.confirmed_at).toBeNull();
      const own = story(['Europe', 'Asia'], { probe: 'probe-Europe' });
      own.fail('Asia', 10);
      expect(own.incidents()).toEqual([]);
    });

    test('a further failure of a continent that is known to fail writes nothing', () => {
      const told = story();
      told.fail('Europe', 10);
      const written = told.effects('incident').length;
      told.fail('Europe', 130);
      expect(told.effects('incident')).toHaveLength(written);
    });
  });

  describe('rule 10: refuted', () => {
    const lonely = () => {
      const told = story();
      told.fail('Europe', 10);
      // More than a minute apart: this confirms nothing.
      told.fail('Asia', 100);
      return told;
    };
    const refuted = (told: ReturnType<typeof story>) => told.state().incident?.progress.refuted;

    test('also by a late pass of another probe than the one whose view counts', () => {
      const told = lonely();
      told.pass('Asia', 50, { probe: 'second', arrives: 101 });
      expect(refuted(told)).toBe(true);
      expect(told.pass('Asia', 60, { probe: 'third', arrives: 102 })).toEqual([]);
      told.fail('Europe', 130);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), resolved_at: at(130), note: 'seen from one continent only' },
        { started_at: at(130), confirmed_at: at(130), confirmed: { continent: 'Asia' } },
      ]);
    });

    test('not by a result that is stale for its own probe, nor by its own continent, nor by a pass that did not start later', () => {
      const told = lonely();
      told.pass('Asia', 50, { arrives: 101 });
      expect(refuted(told)).toBe(false);
      told.pass('Asia', 10, { probe: 'second', arrives: 102 });
      expect(refuted(told)).toBe(false);
      const seeing = story();
      seeing.fail('Europe', 10);
      seeing.fail('Europe', 130);
      seeing.pass('Europe', 50, { probe: 'second', arrives: 131 });
      expect(refuted(seeing)).toBe(false);
    });

    test('not by a pass that started together with the failure, when it opens or later', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.pass('Asia', 10);
      told.fail('Europe', 10);
      told.pass('Africa', 10);
      expect(refuted(told)).toBe(false);
      told.pass('Africa', 10.001);
      expect(refuted(told)).toBe(true);
    });

    test('a confirmed incident is never refuted', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.fail('Africa', 100);
      expect(told.pass('Africa', 50, { probe: 'second', arrives: 101 })).toEqual([]);
    });
  });

  describe('what an incident keeps', () => {
    test('rule 8: when it opens, nothing is known of it but its first failure', () => {
      const told = story();
      told.fail('Europe', 10);
      const { matrix, ...progress } = told.state().incident?.progress ?? { matrix: null };
      expect(progress).toEqual({
        refuted: false,
        below_since: null,
        run: 0,
        run_at: at(10),
        asked_at: at(10.1),
        past_at: 0,
        alerted: false,
        told_alone: false,
        sampling: { since: at(10.1), next_at: at(15.1), turn: 0 },
        failed: ['Europe'],
        passed: [],
        asked: ['Asia', 'Europe'],
      });
      expect(matrix?.waiting).toEqual(['Asia']);
      const past = story();
      past.fail('Europe', 10, { handed_over: true, arrives: 30 });
      expect(past.state().incident?.progress).toMatchObject({
        matrix: null,
        asked_at: 0,
        past_at: at(30),
      });
    });

    test('rule 17: nothing ends before it began, whatever a clock says', () => {
      const told = story();
      told.fail('Europe', 10, { arrives: 8 });
      told.tell({ is: 'paused', at: at(9) }, 9);
      expect(told.incidents()).toMatchObject([{ started_at: at(10), resolved_at: at(10) }]);
    });

    test('rule 12: nothing ends before it was confirmed', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Asia', 40);
      told.pass('Europe', 35, { probe: 'second', arrives: 41 });
      told.pass('Africa', 36, { arrives: 42 });
      expect(told.incidents()).toMatchObject([{ confirmed_at: at(40), resolved_at: at(40) }]);
    });

    test('probes that have not checked for ten turns are dropped, but not while an incident is open', () => {
      const told = story();
      told.pass('Europe', 10, { probe: 'old' });
      told.pass('Europe', 20);
      told.pass('Asia', 30);
      const known = () => told.state().views.map(({ from }) => from.probe);
      told.pass('Europe', 1210);
      expect(known()).toHaveLength(3);
      told.pass('Europe', 1210.001);
      expect(known()).toEqual(['probe-Europe', 'probe-Asia']);
      // As many as there are continents are no burden.
      told.pass('Europe', 9_000);
      expect(known()).toHaveLength(2);
      told.pass('Europe', 9_001, { probe: 'new' });
      expect(known()).toEqual(['probe-Europe', 'new']);
      told.fail('Asia', 9_002);
      told.fail('Asia', 20_000);
      expect(known()).toHaveLength(3);
    });
  });

  describe('rules 4 and 25: a "down" is raised', () => {
    const twoSee = (arrives: number, watched: Parameters<typeof story>[1] = {}) => {
      const told = story(['Europe', 'Asia'], watched);
      told.fail('Europe', 10, { arrives });
      told.fail('Asia', 11, { arrives });
      return told;
    };

    test('when results are complete until now: interval, time limit and transport', () => {
      expect(twoSee(11 + 60 + 10 + 15).effects('alert')).toHaveLength(1);
      expect(twoSee(11 + 60 + 10 + 15.001).effects('alert')).toEqual([]);
    });

    test('after the delay that the monitor sets, counted from the confirmation', () => {
      expect(twoSee(12, { alert_after_ms: 300_000 }).effects('alert')).toMatchObject([
        { due_at: at(311) },
      ]);
    });

    test('when the past has been decided and two continents still see it; one that passes by then prevents it', () => {
      const past = { handed_over: true, arrives: 30 };
      for (const passes of [false, true]) {
        const told = story();
        told.fail('Europe', 10, past);
        told.fail('Asia', 11, past);
        if (passes) told.pass('Asia', 20, past);
        expect(told.effects('alert')).toEqual([]);
        told.tick(31);
        expect(told.effects('alert')).toHaveLength(passes ? 0 : 1);
        told.tick(32);
        expect(told.effects('alert')).toHaveLength(passes ? 0 : 1);
      }
    });

    test('rule 14: by the only continent alone', () => {
      const past = { handed_over: true, arrives: 30 };
      const told = story(['Europe']);
      for (const second of [10, 15, 20]) told.fail('Europe', second, past);
      told.tick(31);
      expect(told.effects('alert')).toHaveLength(1);
      const over = story(['Europe']);
      for (const second of [10, 15, 20]) over.fail('Europe', second, past);
      over.pass('Europe', 25, past);
      over.tick(31);
      expect(over.effects('alert')).toEqual([]);
    });
  });
});

describe('A first check', () => {
  type Asked = Parameters<typeof firstCheck>[0];

  const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
  const roster: Roster = {
    epoch: 1,
    probes: places.map((continent) => ({
      id: continent,
      name: continent,
      continent,
      organisation: null,
      healthy: true,
      quarantined: false,
    })),
  };
  const hourly: Asked = {
    monitor: 'one',
    interval_ms: 3_600_000,
    timeout_ms: 10_000,
    ordinal: 7,
    continents: null,
    probe: null,
  };
  const now = 1_800_000_000_000;
  const turnOf = (placed: Placed, continent: Continent, from: number): number => {
    const its = turns(placed, continent, roster);
    if (!its) throw new Error(`${continent} has no turn`);
    return nextTurn(its, from);
  };
  const without = (...gone: readonly string[]): Roster => ({
    epoch: 2,
    probes: roster.probes.map((probe) => ({ ...probe, healthy: !gone.includes(probe.id) })),
  });
  const asked = (assignment: Asked, at: number) => firstCheck(assignment, undefined, roster, at);

  test('is asked of the continent whose turn is next', () => {
    const next = places.toSorted(
      (one, other) => turnOf(hourly, one, now) - turnOf(hourly, other, now),
    )[0];
    expect(asked(hourly, now).look).toEqual({
      place: next,
      turn_at: turnOf(hourly, next ?? 'Asia', now),
    });
  });

  test('is not asked when a turn comes within a second anyway', () => {
    const due = Math.min(...places.map((continent) => turnOf(hourly, continent, now)));
    expect(asked(hourly, due - 900).look).toBeUndefined();
    expect(asked(hourly, due - 1_100).look).toBeDefined();
    expect(asked(hourly, due - 5_000).look).toBeDefined();
  });

  test('is asked only where the monitor may be checked, and of no probe when none can', () => {
    expect(asked({ ...hourly, continents: ['Asia'] }, now).look?.place).toBe('Asia');
    expect(asked({ ...hourly, continents: ['Africa'] }, now)).toEqual({
      awaited: undefined,
      look: undefined,
    });
    expect(firstCheck(hourly, undefined, { epoch: 2, probes: [] }, now)).toEqual({
      awaited: undefined,
      look: undefined,
    });
  });

  test('is not asked again while it is awaited, whatever other probes come or go', () => {
    const { awaited, look } = asked(hourly, now);
    const others = places.filter((continent) => continent !== look?.place);
    for (const network of [roster, without(...others)])
      expect(firstCheck(hourly, awaited, network, now + 20_000)).toEqual({
        awaited,
        look: undefined,
      });
  });

  test('is asked of another at once when the asked probe is lost', () => {
    const { awaited, look } = asked(hourly, now);
    const again = firstCheck(hourly, awaited, without(look?.place ?? ''), now + 1);
    expect(again.look?.place).not.toBe(look?.place);
    expect(again.awaited).toMatchObject({ probe: again.look?.place, until: now + 1 + 25_000 });
  });

  test('is asked again after its time limit and fifteen seconds, then half as often each time', () => {
    const times: number[] = [];
    let { awaited } = asked(hourly, now);
    for (let at = now; at < now + 200_000; at += 1_000) {
      const step = firstCheck(hourly, awaited, roster, at);
      if (step.look) times.push((at - now) / 1_000);
      awaited = step.awaited;
    }
    expect(times).toEqual([25, 75, 175]);
  });

  test('is asked after an expected turn that brought no result', () => {
    const due = Math.min(...places.map((continent) => turnOf(hourly, continent, now)));
    const { awaited } = asked(hourly, due - 900);
    expect(firstCheck(hourly, awaited, roster, due + 24_999).look).toBeUndefined();
    expect(firstCheck(hourly, awaited, roster, due + 25_000).look).toBeDefined();
  });
});

describe('a routine pass', () => {
  const now = 1_800_000_000_000;
  const observingProbes = [
    { probe: 'a', name: 'a', continent: 'Europe' },
    { probe: 'b', name: 'b', continent: 'Asia' },
  ] as const;
  const network: Roster = {
    epoch: 1,
    probes: observingProbes.map(({ probe, ...rest }) => ({
      ...rest,
      id: probe,
      organisation: null,
      healthy: true,
      quarantined: false,
    })),
  };

  const state: MonitorState = {
    ...createState({
      id: 'm',
      organisation: 'o',
      kind: 'https',
      interval_ms: 30_000,
      timeout_ms: 5_000,
      continents: null,
      probe: null,
      paused_at: null,
      config_version: 2,
      alert_after_ms: 0,
      sampled: true,
      created_at: now - 300_000,
    }),
    clock: now - 30_000,
    covered_until: now + 20_000,
    views: observingProbes.map((from, nth) => ({
      from,
      at: now - 30_000 * (nth + 1),
      ok: true,
      ok_at: now - 30_000 * (nth + 1),
      failing_since: null,
      failure: null,
    })),
  };
  const pass: SeenResult = {
    seq: 1,
    monitor: 'm',
    config_version: 2,
    at: now,
    took_ms: 5,
    outcome: 'ok',
    cause: null,
    phases: null,
    evidence: null,
    look: null,
    from: observingProbes[0],
    quarantined: false,
    handed_over: false,
  };
  const says = (
    { watched, clock, covered_until, decides_from, gaps }: MonitorState,
    result: SeenResult,
  ): boolean => {
    const last = gaps.at(-1);
    const gaps_until = last ? (last.to ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY;
    return isRoutinePass(
      result,
      watched,
      { ...watched, clock, covered_until, decides_from, gaps_until },
      now,
    );
  };

  test('is a pass of a healthy monitor', () => {
    expect(says(state, pass)).toBe(true);
  });

  const watched = (change: Partial<MonitorState['watched']>): MonitorState => ({
    ...state,
    watched: { ...state.watched, ...change },
  });
  const missed = { class: 'heartbeat_late', params: { deadline: now - 60_000 } };
  test.each<[string, MonitorState, Partial<SeenResult>]>([
    ['a failure', state, { outcome: 'fail', cause: { class: 'http_status', params: {} } }],
    ['what says nothing', state, { outcome: 'unknown' }],
    ['a pass with a cause, which may tell of an earlier moment', state, { cause: missed }],
    ['a pass of who is quarantined', state, { quarantined: true }],
    [
      'a pass while the last one came by a clock that has been set back',
      { ...state, clock: now + 5_001 },
      {},
    ],
    ['a pass by a clock that is wrong', state, { at: now + 5_001 }],
    ['a pass of another version', state, { config_version: 1 }],
    ['a pass of a heartbeat', watched({ kind: 'heartbeat' }), {}],
    ['a pass while it is paused', watched({ paused_at: now - 1 }), {}],
    ['a pass from before a pause', { ...state, decides_from: now + 1 }, {}],
    ['a pass from a continent that may not check it', watched({ continents: ['Asia'] }), {}],
    ['a pass by another probe than its own', watched({ probe: 'b' }), {}],
    ['a pass after time without one', { ...state, covered_until: now - 1 }, {}],
    [
      'a pass within a gap',
      { ...state, gaps: [{ from: now - 90_000, to: now + 1, interval_ms: 30_000 }] },
      {},
    ],
    [
      'a pass while a gap lasts',
      { ...state, gaps: [{ from: now - 90_000, to: null, interval_ms: 30_000 }] },
      {},
    ],
  ])('is not %s', (_, of, change) => {
    expect(says(of, { ...pass, ...change })).toBe(false);
  });

  test('changes only the newest view and the covered time, whatever the monitor and the pass', () => {
    const monitor = fc.record({
      watched: fc.record({
        kind: fc.constantFrom('https' as const, 'dns' as const, 'heartbeat' as const),
        continents: fc.constantFrom(null, ['Europe' as const], ['Asia' as const]),
        probe: fc.constantFrom(null, null, 'a', 'b'),
        paused_at: fc.constantFrom(null, null, now - 40_000),
      }),
      covered_until: fc.integer({ min: -40, max: 40 }).map((s) => now + s * 1_000),
      decides_from: fc.constantFrom(0, 0, now - 20_000),
      gaps: fc.constantFrom(
        [],
        [{ from: now - 90_000, to: now - 50_000, interval_ms: 30_000 }],
        [{ from: now - 50_000, to: now - 10_000, interval_ms: 30_000 }],
        [{ from: now - 20_000, to: null, interval_ms: 30_000 }],
      ),
    });
    const said = fc.record({
      at: fc.integer({ min: -60, max: 7 }).map((s) => now + s * 1_000),
      outcome: fc.constantFrom(
        'ok' as const,
        'ok' as const,
        'ok' as const,
        'fail' as const,
        'unknown' as const,
      ),
      config_version: fc.constantFrom(1, 2, 2, 2, 3),
      cause: fc.constantFrom(null, null, missed),
      from: fc.constantFrom(...observingProbes),
      quarantined: fc.constantFrom(false, false, true),
    });
    let count = 0;
    fc.assert(
      fc.property(monitor, said, ({ watched: terms, ...rest }, change) => {
        const of: MonitorState = { ...state, ...rest, watched: { ...state.watched, ...terms } };
        const result: SeenResult = { ...pass, ...change };
        fc.pre(says(of, result));
        count += 1;
        const { state: after, effects } = decide(
          of,
          { is: 'result', result },
          { now, network, newId: () => 'new' },
        );
        expect(effects).toEqual([]);
        const { at } = result;
        const views = of.views.map((view) =>
          view.from.probe === result.from.probe && at > view.at ? { ...view, at, ok_at: at } : view,
        );
        expect(after).toEqual({
          ...of,
          views,
          clock: Math.max(of.clock, at),
          covered_until: coveredByPass(at, of.watched, of.covered_until),
        });
      }),
      { numRuns: 300 },
    );
    expect(count).toBeGreaterThan(290);
  });
});
