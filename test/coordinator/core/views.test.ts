import { describe, expect, test } from 'vitest';
import type { ProbeView, SeenResult, Watched } from '../../../coordinator/core/types.ts';
import {
  beganAt,
  countsAs,
  mayCheck,
  newestOf,
  reachOf,
  see,
  tally,
} from '../../../coordinator/core/views.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Roster, RosterProbe } from '../../../shared/checks/assignment.ts';
import fc from '../../support/random.ts';
import { at, refused, story } from './story.ts';

/** Rules 5 and 14: from where a monitor can be seen, and whether only one place may. */
describe('continent reach', () => {
  const probe = (
    id: string,
    continent: Continent,
    more: Partial<RosterProbe> = {},
  ): RosterProbe => ({
    id,
    name: id,
    continent,
    organisation: null,
    healthy: true,
    quarantined: false,
    ...more,
  });
  const reach = (watched: Partial<Watched>, ...probes: RosterProbe[]) => {
    const roster: Roster = { epoch: 1, probes };
    return reachOf(story(['Europe'], watched).state().watched, roster);
  };
  const [asia, europe, africa] = [
    probe('a', 'Asia'),
    probe('e', 'Europe'),
    probe('f', 'Africa'),
  ] as const;
  const lost = { healthy: false };

  describe('rule 14: a monitor is checked by one continent alone', () => {
    test('where the installation has one, or its configuration names one', () => {
      expect(reach({}, asia)).toMatchObject({ able: ['Asia'], lone: true, turn_ms: 60_000 });
      expect(reach({ continents: ['Asia'] }, asia, europe)).toMatchObject({
        able: ['Asia'],
        lone: true,
        turn_ms: 60_000,
      });
      expect(reach({ continents: ['Asia', 'Oceania'] }, asia, europe).lone).toBe(true);
      expect(
        reach({ probe: 'p' }, asia, europe, probe('p', 'Oceania', { organisation: 'p' })),
      ).toMatchObject({
        able: ['Oceania'],
        lone: true,
      });
    });

    test('not where the others are lost or in quarantine', () => {
      expect(reach({}, asia, europe, africa)).toMatchObject({ lone: false, turn_ms: 180_000 });
      expect(reach({}, asia, { ...europe, ...lost })).toMatchObject({
        able: ['Asia'],
        lone: false,
        turn_ms: 60_000,
      });
      expect(reach({}, asia, { ...europe, quarantined: true })).toMatchObject({
        able: ['Asia'],
        lone: false,
      });
      expect(reach({}, { ...asia, ...lost }, { ...europe, ...lost })).toMatchObject({
        able: [],
        lone: false,
        turn_ms: 60_000,
      });
    });

    test('where private probes are the only others', () => {
      expect(reach({}, asia, probe('p', 'Europe', { organisation: 'organisation' })).lone).toBe(
        true,
      );
    });

    test('where one continent alone has probes that may reach a target inside a network', () => {
      const inside = ['10.0.0.1'];
      const open = { allowed_cidrs: ['10.0.0.0/8'] };
      expect(reach({ inside }, { ...asia, ...open }, europe)).toMatchObject({
        able: ['Asia'],
        lone: true,
      });
      expect(reach({ inside }, { ...asia, ...open }, { ...europe, ...open })).toMatchObject({
        able: ['Asia', 'Europe'],
        lone: false,
      });
      expect(
        reach({ inside }, { ...asia, ...open }, { ...europe, ...open, ...lost }),
      ).toMatchObject({ able: ['Asia'], lone: false });
    });
  });

  test('rule 20: a heartbeat is judged again about once a minute, wherever it is judged', () => {
    expect(reach({ kind: 'heartbeat', interval_ms: 3_600_000 }, asia, europe).turn_ms).toBe(60_000);
  });

  test('rule 5: the probes of a private place check what names it, public ones what their continent may', () => {
    const spare = { probe: 's', place: 'p', continent: 'Europe' } as const;
    expect(mayCheck({ probe: 'p', continents: ['Asia'] }, spare)).toBe(true);
    expect(mayCheck({ probe: 's', continents: null }, spare)).toBe(false);
    expect(
      mayCheck({ probe: 'p', continents: ['Asia'] }, { probe: 'p', continent: 'Europe' }),
    ).toBe(true);
    expect(mayCheck({ probe: 'p', continents: ['Asia'] }, { probe: 'a', continent: 'Asia' })).toBe(
      false,
    );
    expect(mayCheck({ probe: null, continents: ['Asia'] }, { probe: 'a', continent: 'Asia' })).toBe(
      true,
    );
    expect(
      mayCheck({ probe: null, continents: ['Asia'] }, { probe: 'e', continent: 'Europe' }),
    ).toBe(false);
    expect(mayCheck({ probe: null, continents: null }, { probe: 'e', continent: 'Europe' })).toBe(
      true,
    );
  });
});

/**
 * What continents see, held against the plain words of the rules: the newest result of each probe,
 * the newest view of each continent.
 */
describe('continent views', () => {
  type Said = { readonly probe: string; readonly second: number; readonly ok: boolean };

  const homes: Readonly<Record<string, Continent>> = {
    a: 'Africa',
    b: 'Africa',
    c: 'Asia',
    d: 'Europe',
  };
  const homeOf = (probe: string): Continent => homes[probe] ?? 'Oceania';

  const resultOf = ({ probe, second, ok }: Said): SeenResult => ({
    seq: 1,
    monitor: 'monitor',
    config_version: 1,
    at: at(second),
    took_ms: 50,
    outcome: ok ? 'ok' : 'fail',
    cause: ok ? null : refused,
    phases: null,
    evidence: null,
    look: null,
    quarantined: false,
    handed_over: false,
    from: { probe, name: probe, continent: homeOf(probe) },
  });

  const viewsOf = (said: readonly Said[]): readonly ProbeView[] =>
    said.reduce<readonly ProbeView[]>((views, each) => see(views, resultOf(each)).views, []);

  const said = fc.record({
    probe: fc.constantFrom(...Object.keys(homes)),
    second: fc.integer({ min: 0, max: 8 }),
    ok: fc.boolean(),
  });

  describe('views', () => {
    test('rule 3: are of each probe its newest result and its newest pass, in whatever order they came', () => {
      const some = fc.uniqueArray(said, {
        selector: ({ probe, second }) => `${probe} ${second}`,
        maxLength: 20,
      });
      fc.assert(
        fc.property(some, (all) => {
          const views = viewsOf(all);
          const probes = [...new Set(all.map(({ probe }) => probe))];
          expect(views.map(({ from }) => from.probe).toSorted()).toEqual(probes.toSorted());
          for (const view of views) {
            const own = all
              .filter(({ probe }) => probe === view.from.probe)
              .toSorted((a, b) => b.second - a.second);
            const passed = own.find(({ ok }) => ok);
            expect([view.at, view.ok, view.ok_at]).toEqual([
              at(own[0]?.second ?? 0),
              own[0]?.ok,
              passed ? at(passed.second) : null,
            ]);
            expect(view.failure === null).toBe(view.ok);
          }
          const last = all.at(-1);
          const older = all
            .slice(0, -1)
            .some(({ probe, second }) => probe === last?.probe && second > last.second);
          if (last) expect(see(viewsOf(all.slice(0, -1)), resultOf(last)).newest).toBe(!older);
        }),
      );
    });

    test('rule 3: a repeat changes nothing, and nor does a second word of the same moment', () => {
      const before = viewsOf([{ probe: 'a', second: 5, ok: true }]);
      for (const ok of [true, false])
        expect(see(before, resultOf({ probe: 'a', second: 5, ok }))).toEqual({
          views: before,
          newest: false,
        });
      expect(see(before, resultOf({ probe: 'a', second: 4, ok: true })).views).toBe(before);
    });

    test('of a continent are its newest; of two that started together the failure', () => {
      fc.assert(
        fc.property(fc.array(said, { maxLength: 12 }), (all) => {
          const views = viewsOf(all);
          for (const continent of new Set(Object.values(homes))) {
            const [best] = views
              .filter(({ from }) => from.continent === continent)
              .toSorted((a, b) => b.at - a.at || Number(a.ok) - Number(b.ok));
            const found = newestOf(views, continent);
            expect([found?.at, found?.ok]).toEqual([best?.at, best?.ok]);
          }
        }),
      );
    });

    test('count for two turns, one for each continent', () => {
      fc.assert(
        fc.property(
          fc.array(said, { maxLength: 12 }),
          fc.integer({ min: 0, max: 14 }),
          (all, now) => {
            const views = viewsOf(all);
            const fresh = [...new Set(Object.values(homes))]
              .flatMap((continent) => newestOf(views, continent) ?? [])
              .filter((view) => view.at >= at(now - 6));
            const { failing, passing } = tally(views, at(now), 3_000);
            const order = (a: ProbeView, b: ProbeView) => (a.from.probe < b.from.probe ? -1 : 1);
            expect(failing.toSorted(order)).toEqual(fresh.filter(({ ok }) => !ok).toSorted(order));
            expect(passing.toSorted(order)).toEqual(fresh.filter(({ ok }) => ok).toSorted(order));
          },
        ),
      );
    });
  });

  test('rule 1: a start is believed up to five seconds ahead of us', () => {
    const result = { outcome: 'fail', quarantined: false, at: at(15) } as const;
    expect(countsAs(result, at(10))).toBe('fail');
    expect(countsAs(result, at(9.999))).toBe('unknown');
  });

  test('rule 20: what a late heartbeat is dated by is its deadline, and never later than the judgement', () => {
    const late = (deadline: number) => ({
      at: at(10),
      cause: { class: 'heartbeat_late', params: { deadline } },
    });
    expect(beganAt(late(at(4)))).toBe(at(4));
    expect(beganAt(late(at(12)))).toBe(at(10));
    expect(beganAt({ at: at(10), cause: null })).toBe(at(10));
  });
});
