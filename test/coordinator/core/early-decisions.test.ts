import { describe, expect, test } from 'vitest';
import { byStart, canDecideEarly, isAwaited } from '../../../coordinator/core/backlog.ts';
import { decide } from '../../../coordinator/core/decide.ts';
import {
  type Incident,
  type MonitorState,
  type SeenResult,
  type Watched,
  without,
} from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { at, refused, rosterOf, story } from './story.ts';

/**
 * Rule 4: what need not wait for a hand-over, and that what is handed over later dates it as if all
 * had come in order.
 */
describe('rule 4: an outage that begins while a backlog is awaited', () => {
  const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
  const roster = rosterOf(places);

  const saw = (
    outcome: 'ok' | 'fail',
    continent: Continent,
    second: number,
    probe = `probe-${continent}`,
  ): SeenResult => ({
    seq: 1,
    monitor: 'monitor',
    config_version: 1,
    at: at(second),
    took_ms: 50,
    outcome,
    cause: outcome === 'fail' ? refused : null,
    phases: null,
    evidence: { from: continent, second },
    others: { passed: 5, failed: 0 },
    look: null,
    quarantined: false,
    handed_over: false,
    from: { probe, name: probe, continent },
  });
  const failed = (continent: Continent, second: number, probe?: string) =>
    saw('fail', continent, second, probe);
  const passed = (continent: Continent, second: number) => saw('ok', continent, second);

  /**
   * Each list is decided as one that came together; the first ones ahead of what others hand over.
   */
  const live = (rules = without('unobserved_lapses')) => {
    let state: MonitorState = story(places).state();
    const incidents = new Map<string, Incident>();
    const evidence = new Map<string, unknown>();
    let ids = 0;
    const newId = () => {
      ids += 1;
      return `id-${ids}`;
    };
    const decideAll = (results: readonly SeenResult[], now: number): void => {
      for (const result of results.toSorted(byStart)) {
        const decision = decide(
          state,
          { is: 'result', result },
          { now, network: roster, newId, rules },
        );
        state = decision.state;
        for (const effect of decision.effects) {
          if (effect.is === 'incident') incidents.set(effect.incident.id, effect.incident);
          if (effect.is === 'evidence') evidence.set(effect.row.part, effect.row.continent);
        }
      }
    };
    return {
      ahead: (...results: SeenResult[]) => decideAll(results, at(90)),
      later: (second: number, ...results: SeenResult[]) => decideAll(results, at(second)),
      incidents: () => [...incidents.values()],
      evidence,
    };
  };

  const well = story(places).state();
  const began = at(80);

  test('is decided early when no probe without a backlog saw the monitor failing before', () => {
    expect(
      canDecideEarly(well, [passed('Asia', 70), passed('Europe', 75), failed('Asia', 85)], began),
    ).toBe(true);
    expect(canDecideEarly(well, [passed('Asia', 70), passed('Asia', 85)], began)).toBe(false);
  });

  test('waits when it failed meanwhile, or was down before: what comes may make it another matter', () => {
    expect(canDecideEarly(well, [failed('Asia', 70), failed('Asia', 85)], began)).toBe(false);
    const told = story(places);
    told.fail('Asia', 10);
    expect(canDecideEarly(told.state(), [failed('Asia', 85)], began)).toBe(false);
  });

  test('is decided early whatever was before when all probes that could hold the monitor have handed over', () => {
    expect(canDecideEarly(well, [failed('Asia', 70), failed('Asia', 85)], began, false)).toBe(true);
    const told = story(places);
    told.fail('Asia', 10);
    expect(canDecideEarly(told.state(), [passed('Asia', 70)], began, false)).toBe(true);
    expect(canDecideEarly(told.state(), [], began, false)).toBe(false);
    expect(
      canDecideEarly(
        story(places, { kind: 'heartbeat' }).state(),
        [failed('Asia', 85)],
        began,
        false,
      ),
    ).toBe(false);
    expect(
      canDecideEarly(well, [failed('Asia', 70)], began, false, without('waits_for_who_may_tell')),
    ).toBe(false);
  });

  test('is delayed by public probes of its continents alone, that may reach it, and by its private one', () => {
    const awaits = (watched: Partial<Watched>, ...probes: string[]) =>
      isAwaited(story(places, watched).state().watched, new Set(probes), mixed);
    const [asia, europe, ...others] = roster.probes
      .map((probe) => ({ ...probe, allowed_cidrs: [] as string[] }))
      .toReversed();
    if (!asia || !europe) throw new Error('the roster has three');
    const mixed: Roster = {
      ...roster,
      probes: [
        { ...europe, healthy: false, allowed_cidrs: ['10.0.0.0/8'] },
        asia,
        ...others,
        { ...europe, id: 'private', organisation: 'private' },
      ],
    };
    expect(awaits({}, europe.id)).toBe(true);
    expect(awaits({})).toBe(false);
    expect(awaits({}, 'private')).toBe(false);
    expect(awaits({ continents: [asia.continent] }, europe.id)).toBe(false);
    expect(awaits({ continents: [asia.continent] }, europe.id, asia.id)).toBe(true);
    expect(awaits({ inside: ['10.1.1.1'] }, europe.id)).toBe(true);
    expect(awaits({ inside: ['10.1.1.1'] }, asia.id)).toBe(false);
    expect(awaits({ probe: 'private' }, europe.id)).toBe(false);
    expect(awaits({ probe: 'private' }, 'private')).toBe(true);
  });

  test('waits when a heartbeat is late, whose pings may still come, and when only a probe in quarantine saw it', () => {
    expect(
      canDecideEarly(story(places, { kind: 'heartbeat' }).state(), [failed('Asia', 85)], began),
    ).toBe(false);
    expect(canDecideEarly(well, [{ ...failed('Asia', 85), quarantined: true }], began)).toBe(false);
  });

  test('is decided early whatever was before when a private probe alone checks the monitor, and hands over in order', () => {
    const told = story(places, { probe: 'probe-Asia' });
    expect(canDecideEarly(told.state(), [failed('Asia', 70), failed('Asia', 85)], began)).toBe(
      true,
    );
    told.fail('Asia', 10);
    expect(canDecideEarly(told.state(), [passed('Asia', 70)], began)).toBe(true);
    expect(canDecideEarly(told.state(), [], began)).toBe(false);
  });

  test('is confirmed at once, and keeps its times when the backlog has only passes', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86));
    told.later(95, passed('Africa', 70), passed('Africa', 80));
    expect(told.incidents()).toMatchObject([
      { started_at: at(85), confirmed_at: at(86), resolved_at: null },
    ]);
  });

  test('begins with the first failure, and is confirmed by the first of another continent', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86));
    told.later(95, passed('Africa', 70), failed('Africa', 83), failed('Africa', 88));
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(83),
        seen: { continent: 'Africa' },
        confirmed_at: at(85),
        confirmed: { continent: 'Asia' },
        resolved_at: null,
      },
    ]);
    expect([told.evidence.get('seen'), told.evidence.get('confirmed')]).toEqual(['Africa', 'Asia']);
  });

  test('is confirmed by the first failure handed over after that of the observing probe, when the confirming one came later', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 89));
    told.later(95, failed('Africa', 87));
    expect(told.incidents()).toMatchObject([
      { started_at: at(85), confirmed_at: at(87), confirmed: { continent: 'Africa' } },
    ]);
  });

  test('seen by one continent so far, is confirmed by its first failure when an earlier one of another is handed over', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Asia', 87));
    told.later(95, failed('Africa', 84));
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(84),
        seen: { continent: 'Africa' },
        confirmed_at: at(85),
        confirmed: { continent: 'Asia' },
      },
    ]);
  });

  test('keeps its dates when a failure that is handed over had passed again before it began', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86));
    told.later(95, failed('Africa', 60), passed('Africa', 70));
    expect(told.incidents()).toMatchObject([
      { started_at: at(85), confirmed_at: at(86), resolved_at: null },
    ]);
  });

  test('keeps its times across passes of others; the lonely failure before them is separate', () => {
    const told = live();
    told.ahead(passed('Asia', 75), failed('Asia', 85), failed('Europe', 86));
    told.later(95, failed('Africa', 10), passed('Africa', 78));
    expect(told.incidents()).toMatchObject([{ started_at: at(85), confirmed_at: at(86) }]);
  });

  test('is retimed also long after the time to hand over has ended', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86));
    told.later(3_600, failed('Africa', 83));
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(83),
        seen: { continent: 'Africa' },
        confirmed_at: at(85),
        confirmed: { continent: 'Asia' },
      },
    ]);
  });

  test('comes out the same as if all had come in order, whenever each probe hands over', () => {
    const seen = [
      failed('Africa', 82),
      failed('Asia', 84),
      failed('Europe', 85),
      failed('Africa', 88),
      failed('Asia', 89),
    ];
    const inOrder = live();
    inOrder.later(95, ...seen);
    const [expected] = inOrder.incidents();
    for (const away of places) {
      const told = live();
      told.ahead(...seen.filter(({ from }) => from.continent !== away));
      told.later(95, ...seen.filter(({ from }) => from.continent === away));
      const [incident] = told.incidents();
      expect([
        incident?.started_at,
        incident?.seen,
        incident?.confirmed_at,
        incident?.confirmed,
      ]).toEqual([
        expected?.started_at,
        expected?.seen,
        expected?.confirmed_at,
        expected?.confirmed,
      ]);
    }
  });
});

describe('a clock that is set back', () => {
  /** A coordinator's clock, by which all probes go, was an hour ahead and is put right. */
  const hour = 3_600;

  test('does not hide what is seen from then on: an outage is confirmed at once, and not in an hour', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', hour);
    told.pass('Asia', hour + 30);
    told.fail('Europe', 60);
    told.fail('Asia', 61);
    expect(told.state().incident).toMatchObject({ started_at: at(60), confirmed_at: at(61) });
  });

  test('does not keep an outage open that began by it: it is over when both have seen so', () => {
    const told = story(['Europe', 'Asia']);
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
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', hour);
    told.pass('Asia', 60);
    told.tick(600);
    expect(told.effects('ledger').at(-1)).toMatchObject({
      kind: 'unknown',
      put: [{ ended_at: null }],
    });
  });

  test('by a moment only changes nothing: clocks differ that much every day', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 64);
    told.fail('Europe', 60, { arrives: 60 });
    expect(told.state().incident).toBeNull();
  });
});
