import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byStart, canDecideEarly } from '../../../coordinator/core/backlog.ts';
import { decide } from '../../../coordinator/core/decide.ts';
import type { Incident, MonitorState, SeenResult } from '../../../coordinator/core/types.ts';
import { without } from '../../../coordinator/core/types.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Cause } from '../../../shared/checks/result.ts';
import { at, refused, rosterOf, story } from './story.ts';

/** Rule 4: how what was decided ahead is dated by what is handed over after it, to the millisecond. */

const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
const expired: Cause = { class: 'certificate_expired', params: {} };
const began = at(80);

const saw = (outcome: 'ok' | 'fail', continent: Continent, second: number, cause: Cause = refused): SeenResult => ({
  ...{ seq: 1, monitor: 'monitor', config_version: 1, at: at(second), took_ms: 50, outcome, cause: outcome === 'fail' ? cause : null },
  ...{ phases: null, evidence: { from: continent, second }, look: null, quarantined: false, handed_over: false },
  from: { probe: `probe-${continent}`, name: continent, continent },
});
const failed = (continent: Continent, second: number, cause?: Cause) => saw('fail', continent, second, cause);
const passed = (continent: Continent, second: number) => saw('ok', continent, second);

const live = () => {
  let state: MonitorState = story(places).state();
  const incidents = new Map<string, Incident>();
  const evidence = new Map<string, unknown>();
  const alerts: string[] = [];
  let ids = 0;
  const rules = without('unobserved_lapses');
  const tell = (results: readonly SeenResult[], now: number): void => {
    for (const result of results.toSorted(byStart)) {
      const moment = { now, network: rosterOf(places), rules };
      const newId = () => {
        ids += 1;
        return `id-${ids}`;
      };
      const decision = decide(state, { is: 'result', result }, { ...moment, newId });
      state = decision.state;
      for (const effect of decision.effects) {
        if (effect.is === 'incident') incidents.set(effect.incident.id, effect.incident);
        if (effect.is === 'alert') alerts.push(effect.event);
        if (effect.is === 'evidence') evidence.set(`${effect.row.part} at`, (effect.row.at - at(0)) / 1000);
        if (effect.is === 'evidence') evidence.set(effect.row.part, effect.row.evidence);
      }
    }
  };
  return {
    ahead: (...results: SeenResult[]) => tell(results, at(200)),
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

describe('rule 4: what goes ahead', () => {
  const well = story(places).state();

  test('begins when the past began to be waited for, or later, and every failure that is in hand does', () => {
    expect(canDecideEarly(well, [failed('Asia', 80)], began)).toBe(true);
    expect(canDecideEarly(well, [failed('Asia', 79.999)], began)).toBe(false);
    expect(canDecideEarly(well, [failed('Asia', 85), failed('Europe', 79)], began)).toBe(false);
    expect(canDecideEarly(well, [passed('Asia', 85)], began)).toBe(false);
  });
});

describe('rule 4: an incident that went ahead', () => {
  test('of two continents begins with an earlier failure of the one that saw it, and keeps its confirmation', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86));
    told.later(failed('Asia', 84, expired));
    expect(told.dates()).toEqual([['Asia 84', 'Europe 86']]);
    expect(told.incidents()).toMatchObject([{ cause: expired, layer: 'tls' }]);
    expect(told.evidence.get('seen')).toEqual({ from: 'Asia', second: 84 });
  });

  test('of two continents is confirmed by the failure that it began with when another is earlier, with that one’s evidence', () => {
    const told = live();
    told.ahead(passed('Europe', 70), failed('Asia', 85), failed('Europe', 86));
    told.later(failed('Africa', 84));
    expect(told.dates()).toEqual([['Africa 84', 'Asia 85']]);
    expect(told.evidence.get('confirmed')).toEqual({ from: 'Asia', second: 85 });
    expect(told.evidence.get('seen')).toEqual({ from: 'Africa', second: 84 });
  });

  test('of two continents is dated so also when the one that saw it first passes by now', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86), passed('Asia', 88));
    told.later(failed('Africa', 84));
    expect(told.dates()).toEqual([['Africa 84', 'Asia 85']]);
  });

  test('is confirmed by an earlier failure of one that is known to fail', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 89), failed('Africa', 90));
    told.later(failed('Africa', 87));
    expect(told.dates()).toEqual([['Asia 85', 'Africa 87']]);
  });

  test.each([
    [135, 'Africa 135'],
    [135.001, 'Europe 199'],
  ])('is confirmed by what started a minute after one of its failures at most: %d s', (second, confirmed) => {
    const told = live();
    told.ahead(failed('Asia', 75), failed('Asia', 197), failed('Europe', 199));
    expect(told.dates()).toEqual([['Asia 75', 'Europe 199']]);
    told.later(failed('Africa', second));
    expect(told.dates()).toEqual([['Asia 75', confirmed]]);
  });

  test.each([
    ['when it started before the one that did', 88.999, 'Africa 88.999'],
    ['not when it started together with it', 89, 'Europe 89'],
    ['not when it started later', 90, 'Europe 89'],
  ])('is confirmed by the failure that is handed over %s', (_, second, confirmed) => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 89));
    told.later(failed('Africa', second));
    expect(told.dates()).toEqual([['Asia 85', confirmed]]);
    if (second < 89) expect(told.evidence.get('confirmed')).toEqual({ from: 'Africa', second });
    expect(told.incidents()[0]?.progress.failed).toContain('Africa');
    expect(told.incidents()[0]?.progress.passed).toEqual([]);
  });

  test('that a failure started together with is confirmed by it, and begins with the one that was first', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 86));
    told.later(failed('Africa', 85));
    expect(told.dates()).toEqual([['Asia 85', 'Africa 85']]);
  });

  test('is not confirmed anew by a second failure of the continent that saw it', () => {
    const told = live();
    told.ahead(failed('Asia', 85), failed('Europe', 95));
    told.later({ ...failed('Asia', 90), from: { probe: 'second', name: 'second', continent: 'Asia' } });
    expect(told.dates()).toEqual([['Asia 85', 'Europe 95']]);
  });

  test.each([
    [60, 'Asia 144'],
    [60.001, null],
  ])('of one continent is confirmed by its first failure %d s after an earlier one of another: %s', (before, confirmed) => {
    const told = live();
    told.ahead(failed('Asia', 144), failed('Asia', 146));
    told.later(failed('Africa', 144 - before));
    expect(told.alerts).toEqual(confirmed === null ? [] : ['down']);
    if (confirmed !== null) expect(told.evidence.get('confirmed at')).toBe(144);
    expect(told.dates()).toEqual([[`Africa ${(144_000 - before * 1000) / 1000}`, confirmed]]);
  });

  test('comes out as if all had come in order, whoever was away and whatever they saw', () => {
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
        told.ahead(...others);
        told.later(...seen.filter(({ from }) => from.continent === away));
        expect(told.dates()).toEqual(inOrder.dates());
      }),
    );
  });
});
