import { describe, expect, test } from 'vitest';
import { byStart } from '../../../coordinator/core/backlog.ts';
import { decide } from '../../../coordinator/core/decide.ts';
import { maxObservations } from '../../../coordinator/core/observations.ts';
import type { Incident, MonitorState, SeenResult } from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Cause } from '../../../shared/checks/result.ts';
import fc from '../../support/random.ts';
import { places, roster, type Seen, told } from './restarted-story.ts';
import { at, refused, rosterOf, story } from './story.ts';

/** Rule 3: how what was decided is dated by what comes late, to the millisecond. */
describe('what comes late dates', () => {
  const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
  const expired: Cause = { class: 'certificate_expired', params: {} };

  const saw = (
    outcome: 'ok' | 'fail',
    continent: Continent,
    second: number,
    cause: Cause = refused,
  ): SeenResult => ({
    seq: 1,
    monitor: 'monitor',
    config_version: 1,
    at: at(second),
    took_ms: 50,
    outcome,
    cause: outcome === 'fail' ? cause : null,
    phases: null,
    evidence: { from: continent, second },
    others: { passed: 5, failed: 0 },
    look: null,
    quarantined: false,
    handed_over: false,
    from: { probe: `probe-${continent}`, name: continent, continent },
  });
  const failed = (continent: Continent, second: number, cause?: Cause) =>
    saw('fail', continent, second, cause);
  const passed = (continent: Continent, second: number) => saw('ok', continent, second);

  const live = () => {
    let state: MonitorState = story(places).state();
    const incidents = new Map<string, Incident>();
    const evidence = new Map<string, unknown>();
    const alerts: string[] = [];
    let ids = 0;
    const tell = (results: readonly SeenResult[], now: number): void => {
      for (const result of results.toSorted(byStart)) {
        const moment = { now, network: rosterOf(places) };
        const newId = () => {
          ids += 1;
          return `id-${ids}`;
        };
        const decision = decide(state, { is: 'result', result }, { ...moment, newId });
        state = decision.state;
        for (const effect of decision.effects) {
          if (effect.is === 'incident') incidents.set(effect.incident.id, effect.incident);
          if (effect.is === 'alert') alerts.push(effect.event);
          if (effect.is === 'evidence')
            evidence.set(`${effect.row.part} at`, (effect.row.at - at(0)) / 1000);
          if (effect.is === 'evidence') evidence.set(effect.row.part, effect.row.evidence);
        }
      }
    };
    return {
      first: (...results: SeenResult[]) => tell(results, at(200)),
      later: (...results: SeenResult[]) => tell(results, at(210)),
      dates: () =>
        [...incidents.values()].map(({ started_at, seen, confirmed_at, confirmed }) => [
          `${seen?.continent} ${(started_at - at(0)) / 1000}`,
          confirmed_at === null ? null : `${confirmed?.continent} ${(confirmed_at - at(0)) / 1000}`,
        ]),
      incidents: () => [...incidents.values()],
      evidence,
      alerts,
    };
  };

  describe('an incident that was decided before', () => {
    test('of two continents begins with an earlier failure of the observing one, and keeps its confirmation', () => {
      const told = live();
      told.first(failed('Asia', 85), failed('Europe', 86));
      told.later(failed('Asia', 84, expired));
      expect(told.dates()).toEqual([['Asia 84', 'Europe 86']]);
      expect(told.incidents()).toMatchObject([{ cause: expired, layer: 'tls' }]);
      expect(told.evidence.get('seen')).toEqual({ from: 'Asia', second: 84 });
    });

    test('of two continents is confirmed by the failure that it began with when another is earlier, with that one’s evidence', () => {
      const told = live();
      told.first(passed('Europe', 70), failed('Asia', 85), failed('Europe', 86));
      told.later(failed('Africa', 84));
      expect(told.dates()).toEqual([['Africa 84', 'Asia 85']]);
      expect(told.evidence.get('confirmed')).toEqual({ from: 'Asia', second: 85 });
      expect(told.evidence.get('seen')).toEqual({ from: 'Africa', second: 84 });
    });

    test('keeps the evidence of the first failure of each place, though it has failed again', () => {
      const told = live();
      told.first(failed('Asia', 85));
      told.first(passed('Europe', 84.9));
      told.first(failed('Asia', 86), failed('Europe', 87));
      told.later(failed('Africa', 84.5));
      expect(told.dates()).toEqual([['Africa 84.5', 'Asia 85']]);
      expect(told.evidence.get('confirmed')).toEqual({ from: 'Asia', second: 85 });
    });

    test('of two continents is retimed also when the observing one passes by now', () => {
      const told = live();
      told.first(failed('Asia', 85), failed('Europe', 86), passed('Asia', 88));
      told.later(failed('Africa', 84));
      expect(told.dates()).toEqual([['Africa 84', 'Asia 85']]);
    });

    test('is confirmed by an earlier failure of one that is known to fail', () => {
      const told = live();
      told.first(failed('Asia', 85), failed('Europe', 89), failed('Africa', 90));
      told.later(failed('Africa', 87));
      expect(told.dates()).toEqual([['Asia 85', 'Africa 87']]);
    });

    test.each([
      [135, 'Africa 135'],
      [135.001, 'Europe 199'],
    ])(
      'is confirmed by a failure that started at most a minute after one of its own: %d s',
      (second, confirmed) => {
        const told = live();
        told.first(failed('Asia', 75), failed('Asia', 197), failed('Europe', 199));
        expect(told.dates()).toEqual([['Asia 75', 'Europe 199']]);
        told.later(failed('Africa', second));
        expect(told.dates()).toEqual([['Asia 75', confirmed]]);
      },
    );

    test.each([
      ['when it started before the one that did', 88.999, 'Africa 88.999'],
      ['not when it started together with it', 89, 'Europe 89'],
      ['not when it started later', 90, 'Europe 89'],
    ])('is confirmed by the failure from a backlog %s', (_, second, confirmed) => {
      const told = live();
      told.first(failed('Asia', 85), failed('Europe', 89));
      told.later(failed('Africa', second));
      expect(told.dates()).toEqual([['Asia 85', confirmed]]);
      if (second < 89) expect(told.evidence.get('confirmed')).toEqual({ from: 'Africa', second });
      expect(told.incidents()[0]?.progress.failed).toContain('Africa');
      expect(told.incidents()[0]?.progress.passed).toEqual([]);
    });

    test('is confirmed by a failure that started together with its own, and begins with the first', () => {
      const told = live();
      told.first(failed('Asia', 85), failed('Europe', 86));
      told.later(failed('Africa', 85));
      expect(told.dates()).toEqual([['Asia 85', 'Africa 85']]);
    });

    test('is not confirmed again by a second failure of the observing continent', () => {
      const told = live();
      told.first(failed('Asia', 85), failed('Europe', 95));
      told.later({
        ...failed('Asia', 90),
        from: { probe: 'second', name: 'second', continent: 'Asia' },
      });
      expect(told.dates()).toEqual([['Asia 85', 'Europe 95']]);
    });

    test.each([
      [60, 'Asia 144'],
      [60.001, null],
    ])(
      'of one continent is confirmed by its first failure %d s after an earlier one of another: %s',
      (before, confirmed) => {
        const told = live();
        told.first(failed('Asia', 144), failed('Asia', 146));
        told.later(failed('Africa', 144 - before));
        expect(told.alerts).toEqual(confirmed === null ? [] : ['down']);
        if (confirmed !== null) expect(told.evidence.get('confirmed at')).toBe(144);
        expect(told.dates()).toEqual([[`Africa ${(144_000 - before * 1000) / 1000}`, confirmed]]);
      },
    );

    test('comes out as if all had come in order, whatever probes were away and whatever they saw', () => {
      const second = fc.integer({ min: 81, max: 130 });
      const fails = fc.uniqueArray(fc.tuple(fc.constantFrom(...places), second), {
        selector: ([, time]) => time,
        minLength: 3,
        maxLength: 9,
      });
      fc.assert(
        fc.property(fails, fc.constantFrom(...places), (list, away) => {
          const seen = list.map(([place, time]) => failed(place, time));
          const others = seen.filter(({ from }) => from.continent !== away);
          if (others.length === 0) return;
          const inOrder = live();
          inOrder.later(...seen);
          const told = live();
          told.first(...others);
          told.later(...seen.filter(({ from }) => from.continent === away));
          expect(told.dates()).toEqual(inOrder.dates());
        }),
      );
    });
  });
});

/**
 * Rule 3: an open incident is dated by all that is stored, as if it had come in order of start,
 * whatever came when and whoever was restarted.
 */

describe('rule 3: a failure from a backlog retimes an open incident', () => {
  test('by all stored failures, not only by the newest of each view', () => {
    const life = told();
    life.tell(['Asia', 100], ['Asia', 140], ['Asia', 250]);
    life.tell(['Africa', 130]);
    expect(life.dates()).toEqual([['Asia', 100, 'Africa', 130, null]]);
  });

  test('also when it is confirmed, and beginning and confirmation stay of two continents', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 110], ['Africa', 112]);
    life.tell(['Europe', 90]);
    expect(life.dates()).toEqual([['Europe', 90, 'Asia', 100, null]]);
    expect([life.evidence('seen'), life.evidence('confirmed')]).toEqual([
      { from: 'Europe', second: 90 },
      { from: 'Asia', second: 100 },
    ]);
    life.tell(['Asia', 85]);
    expect(life.dates()).toEqual([['Asia', 85, 'Europe', 90, null]]);
  });

  test('a lonely failure that turns out to have been refuted is parted from the outage', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 120, 'ok'], ['Asia', 160], ['Asia', 280]);
    life.tell(['Africa', 200]);
    expect(life.dates()).toEqual([
      ['Asia', 100, null, null, 160],
      ['Asia', 160, 'Africa', 200, null],
    ]);
  });

  test('a pass that comes after it parts it again from a failure of before', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 101]);
    life.tell(['Africa', 60]);
    expect(life.dates()).toEqual([['Africa', 60, 'Asia', 100, null]]);
    life.tell(['Africa', 70, 'ok']);
    expect(life.dates()).toEqual([['Asia', 100, 'Europe', 101, null]]);
  });

  test('passes do not undo a notified outage', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 130]);
    life.tell(['Asia', 110, 'ok']);
    expect(life.dates()).toEqual([['Asia', 100, 'Europe', 130, null]]);
  });

  const outage: readonly Seen[] = [
    ['Africa', 44],
    ['Asia', 45],
    ['Europe', 45.1],
    ['Africa', 71],
    ['Asia', 74],
    ['Europe', 77],
  ];

  test('passes that come late end an outage that was over before the next one began', () => {
    const life = told();
    life.tell(...outage, ['Africa', 80, 'ok'], ['Africa', 89]);
    life.tell(['Asia', 83, 'ok'], ['Europe', 86, 'ok'], ['Asia', 90.4], ['Europe', 90.5]);
    expect(life.dates()).toEqual([
      ['Africa', 44, 'Asia', 45, 83],
      ['Africa', 89, 'Asia', 90.4, null],
    ]);
  });

  test('an outage that ended long ago stays as it was, also when a restart reads it again', () => {
    const life = told();
    life.tell(...outage, ['Africa', 80, 'ok'], ['Asia', 83, 'ok'], ['Europe', 84, 'ok']);
    life.tell(['Africa', 89], ['Asia', 90.4], ['Europe', 90.5]);
    const dates = life.dates();
    expect(dates).toEqual([
      ['Africa', 44, 'Asia', 45, 83],
      ['Africa', 89, 'Asia', 90.4, null],
    ]);
    life.restart();
    life.tell(['Africa', 95], ['Europe', 93], ['Asia', 97]);
    expect(life.dates()).toEqual(dates);
  });

  test('the same after a restart in between; an end that was notified stays as it is', () => {
    const late: readonly Seen[] = [
      ['Asia', 83, 'ok'],
      ['Europe', 86, 'ok'],
    ];
    for (const [passes, end] of [[late, 83] as const, [late.toReversed(), 86] as const]) {
      const life = told();
      life.tell(...outage, ['Africa', 80, 'ok'], ['Africa', 89]);
      life.restart();
      life.tell(...passes, ['Asia', 90.4], ['Europe', 90.5]);
      expect(life.dates()).toEqual([
        ['Africa', 44, 'Asia', 45, end],
        ['Africa', 89, 'Asia', 90.4, null],
      ]);
    }
  });

  test('a confirmation by a failure that turns out to have been over is made by the next that comes', () => {
    const life = told();
    life.tell(['Europe', 77], ['Africa', 89]);
    expect(life.dates()).toEqual([['Europe', 77, 'Africa', 89, null]]);
    life.tell(['Europe', 86, 'ok']);
    expect(life.dates()).toEqual([['Europe', 77, 'Africa', 89, null]]);
    life.tell(['Asia', 90.4]);
    expect(life.dates()).toEqual([['Africa', 89, 'Asia', 90.4, null]]);
  });

  test('rule 25: a "down" that is raised is due by the dates as they are now', () => {
    const life = story(places, { alert_after_ms: 60_000 });
    life.fail('Asia', 100);
    life.fail('Africa', 101);
    life.fail('Europe', 60, { arrives: 102 });
    life.pass('Europe', 70, { arrives: 103 });
    life.fail('Africa', 104);
    expect(life.incidents()).toMatchObject([{ started_at: at(100), confirmed_at: at(101) }]);
    expect(life.effects('alert').map((effect) => effect.event === 'down' && effect.due_at)).toEqual(
      [at(161), at(160), at(161)],
    );
  });

  test('observations of a probe do not count once it is quarantined', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 110], ['Africa', 112]);
    expect(life.state().observations.some(({ from }) => from.continent === 'Europe')).toBe(true);
    const { state } = decide(
      life.state(),
      { is: 'quarantined', at: at(200), probe: 'probe-Europe' },
      { now: at(200), network: roster, newId: () => 'new' },
    );
    expect(state.observations.some(({ from }) => from.continent === 'Europe')).toBe(false);
  });

  test('of a healthy monitor, or a heartbeat, nothing is remembered; of a long lonely failure a bounded number', () => {
    const life = told();
    life.tell(['Asia', 100], ['Asia', 130, 'ok']);
    expect(life.state().observations).toEqual([]);
    const beating = story(places, { kind: 'heartbeat' });
    beating.fail('Asia', 100);
    expect(beating.state().observations).toEqual([]);
    const lonely = story(places);
    for (let second = 100; second < 100 + 3 * maxObservations; second += 2)
      lonely.fail('Asia', second);
    const { observations: sightings } = lonely.state();
    expect(sightings.length).toBeLessThanOrEqual(maxObservations);
    expect(sightings.filter(({ evidence }) => evidence !== null).length).toBeLessThanOrEqual(2);
    // Long ago: it is neither forgotten at once, nor without one beside it.
    lonely.fail('Africa', 130, { arrives: 700 });
    expect(lonely.incidents()).toMatchObject([
      {
        started_at: at(100),
        confirmed_at: at(130),
        seen: { continent: 'Asia' },
        confirmed: { continent: 'Africa' },
      },
    ]);
  });

  test.each([0.5, 1.4])(
    'a long lonely failure keeps its start when its failures are dropped, however short its turns are',
    (times) => {
      const lonely = story(['Africa', 'Asia'], { interval_ms: 5_000 });
      const until = 100 + times * maxObservations;
      for (let second = 100; second < until; second += 2) {
        lonely.fail('Asia', second);
        lonely.pass('Africa', second + 1);
      }
      lonely.pass('Africa', until - 5.5, { arrives: until });
      expect(lonely.incidents()).toMatchObject([
        { started_at: at(100), confirmed_at: null, resolved_at: null },
      ]);
    },
  );

  const second = fc.integer({ min: 10, max: 300 });
  const failures = fc.uniqueArray(fc.tuple(fc.constantFrom(...places), second), {
    selector: ([, time]) => time,
    minLength: 2,
    maxLength: 12,
  });
  const unordered: readonly Seen[] = [
    ['Asia', 269],
    ['Asia', 118],
    ['Europe', 15],
    ['Africa', 185],
    ['Asia', 84],
    ['Europe', 17],
    ['Europe', 295],
  ];
  const isAsInOrder = ([list, restart]: readonly [readonly Seen[], number]): void => {
    const life = told();
    life.tell(...list.slice(0, restart));
    life.restart();
    life.tell(...list.slice(restart));
    expect(life.dates()).toEqual(inOrderOf(list));
  };
  const inOrderOf = (list: readonly Seen[]) => {
    const life = told();
    life.tell(...list.toSorted(([, a], [, b]) => a - b));
    return life.dates();
  };

  test('the newest observation of each probe is known after a restart, though what came last was older', () => {
    isAsInOrder([unordered, 4]);
  });

  test('in whatever order it comes, and whenever a coordinator restarts, as if it had come in order', () => {
    const shuffled = failures.chain((list) =>
      fc.tuple(fc.shuffledSubarray(list, { minLength: list.length }), fc.nat(list.length)),
    );
    fc.assert(fc.property(shuffled, isAsInOrder), { numRuns: 300 });
  });
});

describe('a clock that is set back', () => {
  /** A coordinator's clock, by which all probes go, was an hour ahead and is put right. */
  const hour = 3_600;

  test('does not hide what is seen from then on: an outage is confirmed at once, and not in an hour', () => {
    const told = story();
    told.pass('Europe', hour);
    told.pass('Asia', hour + 30);
    told.fail('Europe', 60);
    told.fail('Asia', 61);
    expect(told.state().incident).toMatchObject({ started_at: at(60), confirmed_at: at(61) });
  });

  test('does not keep an outage open that began by it: it is over when both have seen so', () => {
    const told = story();
    told.fail('Europe', hour);
    told.fail('Asia', hour + 1);
    for (const second of [60, 180]) {
      told.pass('Europe', second);
      told.pass('Asia', second + 1);
    }
    expect(told.state().incident).toBeNull();
    expect(told.incidents()).toMatchObject([
      { started_at: at(60.1), confirmed_at: at(60.1), resolved_at: at(60.1) },
    ]);
  });

  test('covers nothing until then: without results nothing is known', () => {
    const told = story();
    told.pass('Europe', hour);
    told.pass('Asia', 60);
    told.tick(600);
    expect(told.effects('ledger').at(-1)).toMatchObject({
      kind: 'unknown',
      put: [{ ended_at: null }],
    });
  });

  test('by a moment only changes nothing: clocks differ that much every day', () => {
    const told = story();
    told.pass('Europe', 64);
    told.fail('Europe', 60, { arrives: 60 });
    expect(told.state().incident).toBeNull();
  });
});
