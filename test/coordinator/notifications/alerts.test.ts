import { describe, expect, test } from 'vitest';
import { decide, nextTick } from '../../../coordinator/core/decide.ts';
import { counted, scopeOf } from '../../../coordinator/core/incident.ts';
import { checkpointOf, restore } from '../../../coordinator/core/lifecycle.ts';
import type {
  Incident,
  MonitorState,
  SeenResult,
  Watched,
} from '../../../coordinator/core/types.ts';
import { coverOf } from '../../../coordinator/maintenance/cover.ts';
import {
  downs,
  late,
  mayNotify,
  release,
  settle,
} from '../../../coordinator/notifications/policy.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import fc from '../../support/random.ts';
import { at, rosterOf, story } from '../core/story.ts';

describe('incident alerts', () => {
  const cover = [{ from: 100, to: 200 }];

  describe('rule 25: when a "down" goes out', () => {
    test.each([
      ['before any cover', 50, 50, { is: 'due' }],
      ['not before alert_after_s', 90, 50, { is: 'held', until: 90 }],
      ['confirmed inside cover: held to its end', 150, 150, { is: 'held', until: 200 }],
      ['alert_after_s ends inside cover: held to its end', 100, 60, { is: 'held', until: 200 }],
      ['due before, but only asked for inside cover', 90, 120, { is: 'held', until: 200 }],
      ['the end of cover is no cover', 150, 200, { is: 'due' }],
      ['alert_after_s reaches beyond the cover', 250, 200, { is: 'held', until: 250 }],
    ] as const)('rule 25: %s', (_, due, now, expected) => {
      expect(release(due, cover, now)).toEqual(expected);
    });

    test('rule 25: windows that touch hold as one', () => {
      expect(release(150, [...cover, { from: 200, to: 300 }], 150)).toEqual({
        is: 'held',
        until: 300,
      });
    });

    test('rule 25: deleting the window releases what it held', () => {
      const windows = (deleted_at: number | null) => [
        { created_at: 0, deleted_at, occurrences: cover, direct: true, groups: [] },
      ];
      expect(release(150, coverOf(windows(null), []), 160)).toEqual({ is: 'held', until: 200 });
      expect(release(150, coverOf(windows(160), []), 160)).toEqual({ is: 'due' });
    });

    test('rule 25: nothing goes out inside cover or before its time, whatever the cover', () => {
      const time = fc.integer({ min: 0, max: 100 });
      const covers = fc.array(
        fc.tuple(time, time).map(([from, long]) => ({ from, to: from + long })),
        { maxLength: 5 },
      );
      fc.assert(
        fc.property(time, covers, time, (due, some, now) => {
          const answer = release(due, some, now);
          const inside = some.some(({ from, to }) => from <= now && now < to);
          expect(answer.is === 'due').toBe(due <= now && !inside);
          if (answer.is === 'held') expect(answer.until).toBeGreaterThan(now);
        }),
      );
    });

    test('rule 25: what is over before it was due sends nothing', () => {
      expect(settle(downs([], ['mail'], 90), 'up', 80)).toEqual([
        { event: 'down', channel: 'mail', state: 'dropped', due_at: 90 },
      ]);
    });

    test('rule 4: one that was due before the end, while the past was being decided, is told late', () => {
      const rows = downs([], ['mail'], 90);
      const ended = settle(rows, 'up', 120);
      expect(ended).toEqual([
        { event: 'down', channel: 'mail', state: 'dropped', due_at: 90 },
        { event: 'was_down', channel: 'mail', state: 'due', due_at: 90 },
      ]);
      expect(settle(ended, 'up', 120)).toEqual([]);
      expect(settle(rows, 'closed', 120)).toMatchObject([{ event: 'down', state: 'dropped' }]);
      expect(late([], ['mail'], 90)).toEqual([ended[1]]);
      expect(late(ended, ['mail'], 90)).toEqual([]);
    });

    test('rule 25: one that waits follows what confirmed it; one that left has left', () => {
      const waits = { event: 'down', channel: 'mail', state: 'held', due_at: 90 } as const;
      const left = { event: 'down', channel: 'chat', state: 'due', due_at: 90 } as const;
      expect(downs([waits, left], ['mail', 'chat', 'page'], 95)).toEqual([
        { ...waits, due_at: 95 },
      ]);
      expect(downs([waits, left], ['mail', 'chat'], 90)).toEqual([]);
      expect(downs([{ ...waits, state: 'dropped' }], ['mail'], 95)).toEqual([]);
    });

    test('rule 25: an "up" goes to exactly the channels that took the "down"', () => {
      const rows = [
        { event: 'down', channel: 'mail', state: 'sent', due_at: 90 },
        { event: 'down', channel: 'chat', state: 'due', due_at: 90 },
        { event: 'down', channel: 'page', state: 'held', due_at: 500 },
        { event: 'down', channel: 'old', state: 'dropped', due_at: 90 },
      ] as const;
      expect(
        settle(rows, 'up', 120).map(({ event, channel, state }) => [event, channel, state]),
      ).toEqual([
        ['down', 'page', 'dropped'],
        ['up', 'mail', 'due'],
        ['up', 'chat', 'due'],
      ]);
    });

    test('rule 28: a "down" is sent once for each channel, however often the event comes', () => {
      const first = downs([], ['mail', 'chat'], 90);
      expect(first).toEqual([
        { event: 'down', channel: 'mail', state: 'held', due_at: 90 },
        { event: 'down', channel: 'chat', state: 'held', due_at: 90 },
      ]);
      expect(downs(first, ['mail', 'chat'], 90)).toEqual([]);
    });

    test('rule 28: also where there is one channel, and no event is notified again', () => {
      const [only] = downs([], ['mail'], 90);
      expect(only && downs([only], ['mail'], 90)).toEqual([]);
    });

    test('rule 4: a "down" may be sent when the past has been decided, or the target reported it itself', () => {
      expect(mayNotify({ isPastDecided: false, isSaidByTarget: false })).toBe(false);
      expect(mayNotify({ isPastDecided: true, isSaidByTarget: false })).toBe(true);
      expect(mayNotify({ isPastDecided: false, isSaidByTarget: true })).toBe(true);
    });

    test('rule 28: an end that is reported twice sends one "up"', () => {
      const sent = [{ event: 'down', channel: 'mail', state: 'sent', due_at: 90 }] as const;
      expect(settle([...sent, ...settle(sent, 'up', 120)], 'up', 120)).toEqual([]);
    });
  });

  describe('rules 24 and 26: what is covered', () => {
    const window = {
      created_at: 120,
      deleted_at: null,
      occurrences: cover,
      direct: false,
      groups: ['web'],
    };

    test('rule 24: cover begins at the later of the window’s start and its creation', () => {
      expect(coverOf([{ ...window, direct: true }], [])).toEqual([{ from: 120, to: 200 }]);
    });

    test('rule 24: deleting the window ends its cover then, and leaves the past covered', () => {
      expect(coverOf([{ ...window, direct: true, deleted_at: 150 }], [])).toEqual([
        { from: 120, to: 150 },
      ]);
      expect(coverOf([{ ...window, direct: true, deleted_at: 250 }], [])).toEqual([
        { from: 120, to: 200 },
      ]);
      expect(coverOf([{ ...window, direct: true, deleted_at: 110 }], [])).toEqual([]);
    });

    test('rule 26: a monitor added to the group later is covered from then on, one removed no longer', () => {
      expect(coverOf([window], [{ group: 'web', from: 130, to: null }])).toEqual([
        { from: 130, to: 200 },
      ]);
      expect(coverOf([window], [{ group: 'web', from: 0, to: 140 }])).toEqual([
        { from: 120, to: 140 },
      ]);
      expect(coverOf([window], [{ group: 'mail', from: 0, to: null }])).toEqual([]);
    });
  });
});

describe('rule 15: the scope of an outage', () => {
  const [started, confirmed] = [1_000_000, 1_005_000];
  const incident: Incident = {
    id: 'i',
    started_at: started,
    confirmed_at: confirmed,
    resolved_at: null,
    seen: null,
    confirmed: null,
    cause: null,
    note: null,
    scope: 'everywhere',
    layer: null,
    progress: {
      refuted: false,
      below_since: null,
      run: 0,
      run_at: 0,
      matrix: null,
      asked_at: 0,
      past_at: 0,
      alerted: false,
      told_alone: false,
      sampling: { since: started, next_at: null, turn: 0 },
      failed: ['Europe', 'Asia'],
      passed: [],
      asked: [],
    },
  };

  type Look = readonly [continent: Continent, saw: 'pass' | 'fail', at: number];
  const seenBy = (able: readonly Continent[], ...looks: readonly Look[]) =>
    looks.reduce(
      (all, [place, saw, at]) => counted(all, { place, ok: saw === 'pass', at }, able),
      incident,
    );
  const having = (...looks: readonly Look[]) => seenBy(['Europe', 'Asia'], ...looks);

  test('excludes every continent that passed meanwhile and never failed', () => {
    expect(having(['Africa', 'pass', confirmed]).scope).toBe('some_continents');
    expect(having(['Africa', 'pass', confirmed], ['Africa', 'fail', confirmed + 1_000]).scope).toBe(
      'everywhere',
    );
    const two = [
      ['Africa', 'pass', confirmed],
      ['Oceania', 'pass', confirmed],
    ] as const;
    expect(having(...two, ['Oceania', 'fail', confirmed + 1_000]).scope).toBe('some_continents');
  });

  test('is everywhere only once all asked continents have failed', () => {
    const three: readonly Continent[] = ['Europe', 'Asia', 'North America'];
    expect(scopeOf(null, { failed: ['Europe', 'Asia'], passed: [], asked: three })).toBe(
      'some_continents',
    );
    expect(
      scopeOf(null, { failed: ['Asia', 'North America', 'Europe'], passed: [], asked: three }),
    ).toBe('everywhere');
    expect(scopeOf(null, { failed: ['Europe'], passed: [], asked: ['Europe'] })).toBe(
      'one_continent',
    );
    expect(seenBy(three, ['Africa', 'fail', confirmed]).scope).toBe('some_continents');
    expect(seenBy(three, ['North America', 'fail', confirmed]).scope).toBe('everywhere');
    expect(seenBy(three, ['North America', 'fail', confirmed]).progress.asked).toEqual(three);
  });

  test('has passes until a minute after the confirmation, and failures however late', () => {
    expect(having(['Africa', 'pass', confirmed + 60_000]).progress.passed).toEqual(['Africa']);
    expect(having(['Africa', 'pass', confirmed + 60_001])).toBe(incident);
    expect(having(['Africa', 'fail', confirmed + 600_000]).progress.failed).toEqual([
      'Europe',
      'Asia',
      'Africa',
    ]);
  });

  test('has nothing from before it began, and each continent once', () => {
    expect(having(['Africa', 'pass', started - 1])).toBe(incident);
    expect(having(['Africa', 'fail', started]).progress.failed).toEqual([
      'Europe',
      'Asia',
      'Africa',
    ]);
    expect(having(['Asia', 'fail', confirmed])).toBe(incident);
  });
});

describe('state restore', () => {
  const step = fc.record({
    ok: fc.boolean(),
    where: fc.constantFrom<Continent>('Europe', 'Asia', 'Africa'),
    wait: fc.integer({ min: 1, max: 90 }),
  });

  test('a state is plain data, and is rebuilt from checkpoint, open incident and ledger as it was', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const told = story(['Europe', 'Asia', 'Africa']);
        let second = 0;
        for (const { ok, where, wait } of steps) {
          second += wait;
          told.result(ok ? 'ok' : 'fail', where, second);
          told.tick(second + 0.5);
        }
        const state = told.state();
        const kept: typeof state = JSON.parse(JSON.stringify(state));
        const restored = restore({
          watched: kept.watched,
          checkpoint: checkpointOf(kept),
          results: [],
          resumed_at: null,
          incident: kept.incident,
          last_down: kept.last_down,
          gaps: kept.gaps,
        });
        const bare = (views: typeof state.views) =>
          views.map((view) => ({
            ...view,
            failure: view.failure && { ...view.failure, evidence: null },
          }));
        // What dates it anew is read from what was stored.
        expect({ ...restored, views: bare(restored.views), observations: [] }).toEqual({
          ...state,
          views: bare(state.views),
          observations: [],
          restored: state.incident !== null,
        });
      }),
    );
  });

  describe('a state that is rebuilt from a checkpoint and what was stored after it', () => {
    const seen = (
      continent: Continent,
      second: number,
      more: Partial<SeenResult> = {},
    ): SeenResult => ({
      seq: 1,
      monitor: 'monitor',
      config_version: 1,
      at: at(second),
      took_ms: 50,
      outcome: 'ok',
      cause: null,
      phases: null,
      evidence: null,
      look: null,
      quarantined: false,
      handed_over: false,
      from: { probe: `probe-${continent}`, name: continent, continent },
      ...more,
    });
    const rebuilt = (
      results: readonly SeenResult[],
      watched: Partial<Watched> = {},
      resumed_at: number | null = null,
    ) => {
      const told = story(['Europe', 'Asia'], watched);
      told.pass('Europe', 10);
      const { watched: known } = told.state();
      return restore({
        watched: known,
        checkpoint: checkpointOf(told.state()),
        results,
        resumed_at,
        incident: null,
        gaps: [],
      });
    };
    const ats = ({ views }: MonitorState) =>
      views.map((view) => [view.from.continent, (view.at - at(0)) / 1000, view.ok]);

    test('contains later results, in whatever order they came', () => {
      const results = [seen('Asia', 50, { outcome: 'fail' }), seen('Europe', 40), seen('Asia', 20)];
      for (const list of [results, results.toReversed()]) {
        const state = rebuilt(list);
        expect(ats(state)).toEqual([
          ['Europe', 40, true],
          ['Asia', 50, false],
        ]);
        expect([state.clock, state.covered_until]).toEqual([at(50), at(50 + 130)]);
      }
    });

    test('ignores unknown results, and those of a quarantined probe, another version, a probe without access, or before the resume', () => {
      const none = [
        rebuilt([seen('Asia', 50, { outcome: 'unknown' })]),
        rebuilt([seen('Asia', 50, { quarantined: true })]),
        rebuilt([seen('Asia', 50, { config_version: 2 })]),
        rebuilt([seen('Asia', 50)], { continents: ['Europe'] }),
      ];
      for (const state of none) {
        expect(ats(state)).toEqual([['Europe', 10, true]]);
        expect(state.clock).toBe(at(10));
      }
      // What tells nothing covers nothing; what only decides nothing covers all the same.
      expect(none.map(({ covered_until }) => (covered_until - at(0)) / 1000)).toEqual([
        140, 140, 180, 180,
      ]);
      const resumed = rebuilt(
        [
          seen('Asia', 50),
          seen('Asia', 60, { from: { probe: 'second', name: 'second', continent: 'Asia' } }),
        ],
        {},
        at(60),
      );
      expect(ats(resumed)).toEqual([['Asia', 60, true]]);
      expect(resumed.decides_from).toBe(at(60));
    });

    test('of a heartbeat is covered by failures of its probes, not by their passes', () => {
      const heartbeat = { kind: 'heartbeat' } as const;
      expect(rebuilt([seen('Asia', 50)], heartbeat).covered_until).toBe(at(0));
      expect(rebuilt([seen('Asia', 50, { outcome: 'fail' })], heartbeat).covered_until).toBe(
        at(180),
      );
    });

    test('of a paused monitor has no view, and an open gap says until when time was covered', () => {
      const told = story(['Europe', 'Asia'], { paused_at: at(5) });
      const base = {
        watched: told.state().watched,
        checkpoint: null,
        resumed_at: null,
        incident: null,
      };
      expect(restore({ ...base, results: [seen('Asia', 50)], gaps: [] }).views).toEqual([]);
      const gaps = [
        { from: at(20), to: at(30), interval_ms: 60_000 },
        { from: at(200), to: null, interval_ms: 60_000 },
      ];
      expect(restore({ ...base, results: [seen('Asia', 50)], gaps }).covered_until).toBe(at(200));
      expect(
        restore({ ...base, results: [seen('Asia', 50)], gaps: gaps.slice(0, 1) }).covered_until,
      ).toBe(at(180));
    });

    test('keeps all but the evidence of failures', () => {
      const told = story();
      told.pass('Asia', 5);
      told.fail('Europe', 10);
      const [pass, failure] = told.state().views;
      expect(failure?.failure?.evidence).not.toBeNull();
      expect(checkpointOf(told.state()).views).toEqual([
        pass,
        { ...failure, failure: { ...failure?.failure, evidence: null } },
      ]);
    });
  });

  describe('the next tick', () => {
    test('of a healthy monitor is when a gap would be noticed, and there is none while it is paused or a gap lasts', () => {
      const told = story();
      told.pass('Europe', 10);
      expect(told.nextTick()).toBe(at(10 + 130 + 5));
      told.tick(150);
      expect(told.nextTick()).toBeNull();
      told.pass('Europe', 200);
      expect(told.nextTick()).toBe(at(335));
      told.tell({ is: 'paused', at: at(210) }, 210);
      expect(told.nextTick()).toBeNull();
    });

    test('of an open incident is its next sample, or its end as unobserved, or at once when no probe was asked yet', () => {
      const told = story();
      told.fail('Europe', 10);
      expect(told.nextTick()).toBe(at(15.1));
      const still = story(['Europe', 'Asia'], {
        sampled: false,
        interval_ms: 20_000,
        timeout_ms: 30_000,
      });
      still.fail('Europe', 10);
      expect(still.nextTick()).toBe(at(10 + 70 + 5));
      still.tick(86);
      expect(still.nextTick()).toBe(at(10 + 80));
      const past = story(['Europe', 'Asia'], { sampled: false });
      past.fail('Europe', 10, { handed_over: true, arrives: 30 });
      expect(past.nextTick()).toBe(at(10));
      past.fail('Asia', 11, { handed_over: true, arrives: 30 });
      expect(past.nextTick()).toBe(at(11 + 130 + 5));
      // After a restart it is at once: what was being asked may have been lost.
      expect(nextTick({ ...past.state(), restored: true }, rosterOf(['Europe', 'Asia']))).toBe(
        at(11),
      );
    });
  });

  test('rule 9: what was being asked is asked again after a restart, once', () => {
    const told = story();
    told.fail('Europe', 10);
    const { watched, incident, gaps } = told.state();
    const restored = restore({
      watched,
      checkpoint: checkpointOf(told.state()),
      results: [],
      resumed_at: null,
      incident,
      gaps,
    });
    const moment = { now: at(20), network: rosterOf(['Europe', 'Asia']), newId: () => 'look' };
    const first = decide(restored, { is: 'tick' }, moment);
    expect(first.effects).toContainEqual({
      is: 'look',
      look: 'look',
      places: ['Asia'],
      why: 'again',
    });
    const again = decide(first.state, { is: 'tick' }, moment).effects.filter(
      (effect) => effect.is === 'look' && effect.why !== 'sample',
    );
    expect(again).toEqual([]);
  });
});
