import { describe, expect, test } from 'vitest';
import { areApart } from '../../../coordinator/core/places.ts';
import type { ObservingProbe, ProbeView, Watched } from '../../../coordinator/core/types.ts';
import { isFailing, reachOf, tallyOf } from '../../../coordinator/core/views.ts';
import { sidesFrom } from '../../../coordinator/incidents/writes.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { describeSides } from '../../../shared/base/sides.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { makePlacesStory, placesFault } from '../../simulation/places-story.ts';
import fc from '../../support/random.ts';
import { at, rosterOf, type Story, story } from './story.ts';

const office = 'office';
const cluster = 'cluster';
const attic = 'attic';

/** Public probes on three continents, and private places; the attic is behind the office's address. */
const network = (lost: readonly string[] = []): Roster => {
  const open = rosterOf(['Africa', 'Asia', 'Europe']);
  const inside = [
    { place: office, site: 'one' },
    { place: cluster, site: 'two' },
    { place: attic, site: 'one' },
  ].map(({ place, site }) => ({
    id: place,
    name: '',
    continent: 'Europe' as const,
    organisation: place,
    healthy: true,
    quarantined: false,
    site,
  }));
  return {
    epoch: 1,
    probes: [...open.probes, ...inside].map((probe) => ({
      ...probe,
      kinds: ['places'],
      healthy: !lost.includes(probe.id),
    })),
  };
};

const checkedFrom = (places: readonly string[], more: Partial<Watched> = {}): Story => {
  const told = story([], { places, ...more });
  told.network(network());
  return told;
};

/** Of the last incident. */
const last = (told: Story) => told.incidents().at(-1);
const inside = (place: string) => ({ place });

describe('rule 10: two private places', () => {
  test('confirm each other at different sites, each with a view of its own', () => {
    const told = checkedFrom([office, cluster]);
    told.fail('Europe', 10, inside(office));
    expect(told.effects('look')).toMatchObject([{ places: [cluster], why: 'first' }]);
    expect(last(told)?.confirmed_at).toBeNull();
    told.fail('Europe', 10.4, inside(cluster));
    expect(told.incidents()).toMatchObject([
      { seen: { place: office }, confirmed: { place: cluster }, confirmed_at: at(10.4) },
    ]);
    expect(told.effects('evidence').map(({ row }) => [row.part, row.place])).toEqual([
      ['seen', office],
      ['confirmed', cluster],
    ]);
    expect(last(told)?.scope).toBe('everywhere');
  });

  test('do not at one site: there two more failures in a row confirm, while none of them passes', () => {
    const told = checkedFrom([office, attic]);
    told.fail('Europe', 10, inside(office));
    told.fail('Europe', 10.4, inside(attic));
    expect(last(told)?.confirmed_at).toBeNull();
    told.fail('Europe', 15.2, inside(office));
    told.fail('Europe', 20.2, inside(attic));
    expect(last(told)).toMatchObject({ confirmed_at: at(20.2), confirmed: null });

    const disputed = checkedFrom([office, attic]);
    disputed.fail('Europe', 10, inside(office));
    disputed.pass('Europe', 10.4, inside(attic));
    for (const second of [15.2, 20.2, 25.2]) disputed.fail('Europe', second, inside(office));
    expect(disputed.incidents()).toMatchObject([{ confirmed_at: null, resolved_at: null }]);
  });

  test('count as one while nobody knows where they are', () => {
    const told = checkedFrom([office, cluster]);
    const { probes } = network();
    told.network({ epoch: 2, probes: probes.map((probe) => ({ ...probe, site: null })) });
    told.fail('Europe', 10, inside(office));
    told.fail('Europe', 10.4, inside(cluster));
    expect(last(told)?.confirmed_at).toBeNull();
  });

  test('rule 12: an outage of two ends once one of them fails at most, and both sites pass', () => {
    const told = checkedFrom([office, cluster]);
    told.fail('Europe', 10, inside(office));
    told.fail('Europe', 10.4, inside(cluster));
    told.pass('Europe', 20, inside(office));
    expect(last(told)?.resolved_at).toBeNull();
    told.pass('Europe', 20.3, inside(cluster));
    expect(last(told)?.resolved_at).toBe(at(20));
  });
});

describe('a monitor with both sides', () => {
  const mixed = (more: Partial<Watched> = {}) => checkedFrom(['Asia', 'Europe', office], more);

  test('is not opened, confirmed, covered or dated by the inside, whose view is kept', () => {
    const told = mixed();
    told.pass('Asia', 1);
    const { clock, covered_until } = told.state();
    told.fail('Europe', 30, inside(office));
    expect(told.incidents()).toEqual([]);
    expect(told.state()).toMatchObject({ clock, covered_until });
    const seen = { state: told.state(), reach: reachOf(told.state().watched, network()) };
    expect(tallyOf(seen, {})).toMatchObject({
      failing: [],
      passing: [{ from: { continent: 'Asia' } }],
    });
    expect(tallyOf(seen, inside(office))).toMatchObject({
      failing: [{ from: { place: office } }],
      passing: [],
    });
    expect(isFailing(seen, {}, network())).toBe(false);
    expect(isFailing(seen, inside(office), network())).toBe(true);
  });

  test('rule 10: is never confirmed by one side for the other', () => {
    for (const inside_counts of [false, true]) {
      const told = mixed({ inside_counts });
      told.fail('Asia', 10);
      told.fail('Europe', 10.2, inside(office));
      told.fail('Europe', 10.4, { ...inside(office), arrives: 10.5 });
      expect(last(told)).toMatchObject({ confirmed_at: null, seen: { continent: 'Asia' } });
    }
  });

  test('rule 15: asks the inside as well, and its answer is a row of the matrix', () => {
    const told = mixed();
    told.fail('Asia', 10);
    expect(told.effects('look')).toMatchObject([{ places: ['Europe', office], why: 'first' }]);
    const look = told.effects('look')[0]?.look ?? null;
    told.fail('Europe', 10.2, { look });
    told.pass('Europe', 10.3, { look, ...inside(office) });
    const matrix = told.effects('evidence').filter(({ row }) => row.part === 'matrix');
    expect(matrix.map(({ row }) => [row.continent, row.place, row.outcome])).toEqual([
      ['Europe', undefined, 'fail'],
      ['Europe', office, 'ok'],
    ]);
    expect(last(told)).toMatchObject({ confirmed: { continent: 'Europe' }, scope: 'everywhere' });
  });

  test('rule 12: passes of the inside end no outage of the outside', () => {
    const told = mixed();
    told.fail('Asia', 10);
    told.fail('Europe', 10.2);
    for (const second of [20, 25, 30]) told.pass('Europe', second, inside(office));
    expect(last(told)).toMatchObject({ resolved_at: null, progress: { below_since: null } });
    told.pass('Asia', 40);
    told.pass('Europe', 40.3);
    expect(last(told)?.resolved_at).toBe(at(40));
  });

  test('rule 16: neither side refutes the other', () => {
    const told = mixed();
    told.fail('Asia', 10);
    told.pass('Europe', 10.3, inside(office));
    expect(last(told)?.progress.refuted).toBe(false);
  });

  test('keeps two regions of one continent as one view, and their turns apart', () => {
    const { probes } = network();
    const regions = ['Frankfurt', 'Paris'].flatMap((region) =>
      probes.slice(2, 3).map((probe) => ({ ...probe, id: region, region })),
    );
    const watched = { ...story([]).state().watched, places: ['Europe/Paris', 'Europe/Frankfurt'] };
    expect(reachOf(watched, { epoch: 3, probes: [...probes, ...regions] })).toMatchObject({
      able: ['Europe'],
      places: 2,
      lone: true,
      turn_ms: 120_000,
    });
  });
});

describe('where the inside counts', () => {
  const counting = () => checkedFrom(['Asia', 'Europe', office], { inside_counts: true });
  const failAlone = (told: Story, from: number) => {
    for (const later of [0, 5, 10]) told.fail('Europe', from + later, inside(office));
  };

  test('rule 14: one private place confirms by its own rule, and ends what it confirmed', () => {
    const told = counting();
    failAlone(told, 10);
    expect(last(told)).toMatchObject({
      seen: { place: office },
      confirmed: null,
      confirmed_at: at(20),
      scope: 'one_continent',
    });
    for (const second of [21, 22]) told.pass('Asia', second);
    for (const second of [21.5, 22.5]) told.pass('Europe', second);
    expect(last(told)?.resolved_at).toBeNull();
    told.pass('Europe', 30, inside(office));
    told.pass('Europe', 35, inside(office));
    expect(last(told)?.resolved_at).toBe(at(30));
  });

  test('an outage lasts until neither side fails', () => {
    const told = counting();
    failAlone(told, 10);
    told.fail('Asia', 22);
    told.fail('Europe', 22.3);
    told.pass('Europe', 30, inside(office));
    told.pass('Europe', 35, inside(office));
    expect(last(told)?.resolved_at).toBeNull();
    told.pass('Asia', 40);
    told.pass('Europe', 40.4);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(40) }]);
  });

  test('what one side confirms takes over what the other has seen for less than a minute', () => {
    const told = counting();
    told.fail('Europe', 10, inside(office));
    told.fail('Asia', 11);
    told.fail('Europe', 11.4);
    expect(told.incidents()).toMatchObject([
      {
        started_at: at(11),
        seen: { name: 'asia' },
        confirmed: { name: 'europe' },
        confirmed_at: at(11.4),
        progress: {
          failed: ['Asia', 'Europe'],
          across: { failed: [office], passed: [] },
        },
      },
    ]);

    const other = counting();
    other.fail('Asia', 10);
    failAlone(other, 11);
    expect(other.incidents()).toMatchObject([
      { started_at: at(11), seen: { place: office }, confirmed: null, confirmed_at: at(21) },
    ]);
  });

  test('and closes what it has seen alone for longer', () => {
    const told = counting();
    for (const second of [10, 70, 130]) told.fail('Asia', second);
    failAlone(told, 140);
    expect(told.incidents()).toMatchObject([
      { note: 'seen from one side only', confirmed_at: null, resolved_at: at(140) },
      { started_at: at(140), seen: { place: office }, confirmed_at: at(150) },
    ]);
  });

  test('rule 17: an edit closes what may decide no more', () => {
    const told = counting();
    failAlone(told, 10);
    const watched = { ...told.state().watched, inside_counts: false };
    told.tell({ is: 'edited', at: at(30), watched, changed: false }, 30);
    expect(last(told)).toMatchObject({ resolved_at: at(30), note: 'what is checked was changed' });
  });
});

test('whatever is seen in whatever order: both of a pair are of one side and apart, and only sides that decide open', () => {
  const places: readonly (readonly [Continent, string?])[] = [
    ['Asia'],
    ['Europe'],
    ['Europe', office],
    ['Europe', cluster],
    ['Europe', attic],
  ];
  const step = fc.record({
    from: fc.constantFrom(...places),
    ok: fc.boolean(),
    after: fc.integer({ min: 100, max: 40_000 }),
    late: fc.integer({ min: 0, max: 3 }).map((share) => (share === 0 ? 30 : 0)),
  });
  const choices = fc.subarray(['Asia', 'Europe', office, cluster, attic], { minLength: 1 });
  fc.assert(
    fc.property(
      choices,
      fc.boolean(),
      fc.array(step, { maxLength: 40 }),
      (chosen, counts, steps) => {
        const told = checkedFrom(chosen, { inside_counts: counts, interval_ms: 10_000 });
        const hasBoth = chosen.includes('Asia') || chosen.includes('Europe');
        let second = 0;
        for (const { from, ok, after, late } of steps) {
          const [continent, place] = from;
          second += after / 1000;
          const extra = { arrives: second + 0.1, ...(place === undefined ? {} : { place }) };
          told[ok ? 'pass' : 'fail'](continent, Math.max(0, second - late), extra);
          told.tick(second + 0.2);
        }
        for (const { seen, confirmed } of told.incidents()) {
          if (hasBoth && !counts) expect(seen?.place).toBeUndefined();
          if (!seen || !confirmed) continue;
          expect(seen.place === undefined).toBe(confirmed.place === undefined);
          expect(areApart(seen, confirmed, network())).toBe(true);
        }
      },
    ),
    { numRuns: 300 },
  );
});

describe('an office and three continents', () => {
  const continents = ['Africa', 'Asia', 'Europe'] as const;
  const wayIn = (count: string): string =>
    `Up inside (Office Berlin), down from ${count} continents: check edge, firewall or DNS.`;
  const service = 'Fails inside too (Office Berlin): the service itself.';
  const insideOnly = 'Down inside only (Office Berlin): check that network.';

  /** What is told when so many continents fail, and the office sees that. */
  const toldWhen = (seen: 'ok' | 'fail' | 'nothing', failing: number): string | null => {
    const told = checkedFrom([...continents, office]);
    if (seen === 'fail') told.fail('Europe', 9, inside(office));
    for (const [index, continent] of continents.entries())
      if (index < failing) told.fail(continent, 10 + index / 10);
      else told.pass(continent, 10 + index / 10);
    if (seen === 'ok') told.pass('Europe', 10.5, inside(office));
    if (seen === 'fail') told.fail('Europe', 10.5, inside(office));
    const incident = last(told);
    if (incident) {
      const { failed, passed, across } = incident.progress;
      const stored = across && {
        is_outside: incident.seen?.place === undefined,
        own: { failed, passed },
        across,
        names: { [office]: 'Office Berlin' },
      };
      return sidesFrom(stored ?? null, incident.confirmed_at !== null)?.sentence ?? null;
    }
    const known = { state: told.state(), reach: reachOf(told.state().watched, network()) };
    const named = (views: readonly ProbeView[]) =>
      views.map(({ from }) => (from.place === office ? 'Office Berlin' : from.continent));
    const side = (from: Pick<ObservingProbe, 'place'>) => {
      const { failing, passing } = tallyOf(known, from);
      return { failing: named(failing), passing: named(passing) };
    };
    const sides = { inside: side(inside(office)), outside: side({}) };
    return describeSides(sides, isFailing(known, {}, network())).sentence;
  };

  test.each([
    ['ok', [null, null, wayIn('two'), wayIn('three')]],
    ['fail', [insideOnly, insideOnly, service, service]],
    ['nothing', [null, null, null, null]],
  ] as const)(
    'tell the verdict when none, one, two or three continents fail and the office sees %s',
    (seen, verdicts) => {
      expect([0, 1, 2, 3].map((failing) => toldWhen(seen, failing))).toEqual(verdicts);
    },
  );
});

test('over three hundred lives with outages, losses and restarts the rules hold', () => {
  for (let seed = 1; seed <= 300; seed += 1)
    expect({ seed, fault: placesFault(makePlacesStory(seed)) }).toEqual({ seed });
});
