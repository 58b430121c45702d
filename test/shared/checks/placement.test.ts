import { describe, expect, test } from 'vitest';
import { type Continent, continents } from '../../../shared/base/continents.ts';
import {
  type Assigned,
  assignedElement,
  assignmentsDigest,
  createDigest,
  hashOf,
  isComparable,
  type Roster,
  type RosterProbe,
} from '../../../shared/checks/assignment.ts';
import {
  abilityFor,
  ableToCheck,
  httpsAbilities,
  nextTurn,
  placesOf,
  probeOf,
  shareOf,
  turns,
} from '../../../shared/checks/placement.ts';
import { digestOf } from '../../support/monitors.ts';
import fc from '../../support/random.ts';
import { idOf, placedMonitor, probeIn, rosterOf } from '../../support/rosters.ts';

describe('placement', () => {
  const europe = probeIn('Europe', 1);
  const asia = probeIn('Asia', 2);
  const africa = probeIn('Africa', 3);
  const inside = probeIn('Asia', 4, { organisation: idOf(4) });

  describe('the continents that check a monitor', () => {
    const roster = rosterOf(europe, asia, africa, inside);
    test.each([
      ['all that have a probe', placedMonitor(1), roster, ['Africa', 'Asia', 'Europe']],
      [
        'only those that its config allows',
        placedMonitor(1, { continents: ['Europe', 'Oceania'] }),
        roster,
        ['Europe'],
      ],
      [
        'without those whose probe is lost',
        placedMonitor(1),
        rosterOf(europe, { ...asia, healthy: false }),
        ['Europe'],
      ],
      [
        'without those whose probe is quarantined',
        placedMonitor(1),
        rosterOf(europe, { ...asia, quarantined: true }),
        ['Europe'],
      ],
      ['none where only a private probe is', placedMonitor(1), rosterOf(inside), []],
      [
        'that of its private probe',
        placedMonitor(1, { probe: inside.id, continents: ['Europe'] }),
        roster,
        ['Asia'],
      ],
      [
        'that of its private probe also while it is lost',
        placedMonitor(1, { probe: inside.id }),
        rosterOf({ ...inside, healthy: false }),
        ['Asia'],
      ],
      ['none for a private probe that is gone', placedMonitor(1, { probe: idOf(5) }), roster, []],
    ])('are %s', (_, placed, of, expected) => {
      expect(placesOf(placed, of)).toEqual(expected);
    });
  });

  describe('a target inside a network', () => {
    const lan = { inside: ['10.1.2.3'] };
    const allowed = { allowed_cidrs: ['10.0.0.0/8'] };
    const roster = rosterOf(
      europe,
      { ...asia, ...allowed },
      { ...africa, allowed_cidrs: ['192.168.0.0/16'] },
      probeIn('Asia', 6),
    );

    test('is checked only from continents with a probe whose host allows it, by that probe, every interval', () => {
      expect(placesOf(placedMonitor(1, lan), roster)).toEqual(['Asia']);
      for (let number = 1; number < 20; number += 1) {
        expect(probeOf(placedMonitor(number, lan), 'Asia', roster)?.id).toBe(asia.id);
        expect(shareOf(placedMonitor(number, lan), asia.id, roster)?.period_ms).toBe(60_000);
        for (const { id } of [europe, africa, probeIn('Asia', 6)])
          expect(shareOf(placedMonitor(number, lan), id, roster)).toBeUndefined();
      }
      expect(placesOf(placedMonitor(1, { ...lan, continents: ['Europe'] }), roster)).toEqual([]);
    });

    test('is not left to others when its probes are away, and stays with the private probe that its config names', () => {
      expect(
        placesOf(placedMonitor(1, lan), rosterOf(europe, { ...asia, ...allowed, healthy: false })),
      ).toEqual([]);
      expect(
        placesOf(placedMonitor(1, { ...lan, probe: inside.id }), rosterOf(europe, inside)),
      ).toEqual(['Asia']);
    });
  });

  describe('the probes of a private place', () => {
    const office = (number: number, more: Partial<RosterProbe> = {}) =>
      probeIn('Europe', number, { organisation: inside.id, ...more });
    const [one, two] = [office(21), office(22)];
    const many = Array.from({ length: 200 }, (_, at) => placedMonitor(at, { probe: inside.id }));
    const checkedBy = (of: Roster) =>
      many.map((each) => of.probes.filter(({ id }) => shareOf(each, id, of)).map(({ id }) => id));

    test('share its monitors: each is checked by one of them, every interval', () => {
      const roster = rosterOf(europe, one, two);
      const ids = checkedBy(roster);
      expect(ids.every((each) => each.length === 1)).toBe(true);
      for (const { id } of [one, two])
        expect(ids.flat().filter((other) => other === id).length).toBeGreaterThan(60);
      for (const each of many) expect(turns(each, 'Europe', roster)?.period_ms).toBe(60_000);
    });

    test('check for one that is lost, which takes back only its own; when all are lost, each keeps its own', () => {
      const all = checkedBy(rosterOf(one, two));
      const lost = { healthy: false };
      expect(new Set(checkedBy(rosterOf({ ...one, ...lost }, two)).flat())).toEqual(
        new Set([two.id]),
      );
      expect(checkedBy(rosterOf({ ...one, ...lost }, { ...two, ...lost }))).toEqual(all);
    });

    test('check what only one of them can', () => {
      const roster = rosterOf(one, { ...two, kinds: ['icmp'] });
      for (const each of many)
        expect(probeOf({ ...each, kind: 'icmp' }, 'Europe', roster)?.id).toBe(two.id);
    });
  });

  describe('the probe of a continent', () => {
    test('is the private one that the config names, and no other there', () => {
      const roster = rosterOf(asia, inside);
      expect(probeOf(placedMonitor(1, { probe: inside.id }), 'Asia', roster)?.id).toBe(inside.id);
      expect(probeOf(placedMonitor(1, { probe: inside.id }), 'Europe', roster)).toBeUndefined();
      expect(probeOf(placedMonitor(1), 'Asia', roster)?.id).toBe(asia.id);
    });

    test('is absent on a continent that the config leaves out', () => {
      expect(
        probeOf(placedMonitor(1, { continents: ['Asia'] }), 'Europe', rosterOf(europe, asia)),
      ).toBeUndefined();
    });

    test('gets an even share of the monitors', () => {
      const roster = rosterOf(...[1, 2, 3, 4].map((number) => probeIn('Europe', number)));
      const shares = new Map<string, number>();
      for (let number = 0; number < 20_000; number += 1) {
        const id = probeOf(placedMonitor(number), 'Europe', roster)?.id ?? '';
        shares.set(id, (shares.get(id) ?? 0) + 1);
      }
      expect(shares.size).toBe(4);
      for (const share of shares.values()) expect(Math.abs(share - 5_000)).toBeLessThan(300);
    });

    test('changes, when one joins or leaves, only for the share of that one', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 6 }),
          fc.integer({ min: 0, max: 1_000_000 }),
          (others, seed) => {
            const before = Array.from({ length: others }, (_, number) =>
              probeIn('Europe', seed + number),
            );
            const joining = probeIn('Europe', seed + others);
            let moved = 0;
            for (let number = 0; number < 2_000; number += 1) {
              const placed = placedMonitor(number);
              const old = probeOf(placed, 'Europe', rosterOf(...before));
              const now = probeOf(placed, 'Europe', rosterOf(...before, joining));
              if (now?.id === old?.id) continue;
              expect(now?.id).toBe(joining.id);
              moved += 1;
            }
            const fair = 2_000 / (others + 1);
            expect(Math.abs(moved - fair)).toBeLessThan(6 * Math.sqrt(fair));
          },
        ),
        { numRuns: 30 },
      );
    });
  });

  describe('the placement of a monitor', () => {
    /** Two ids of one hash: they draw alike for every monitor. */
    const drawnAlike = (): readonly [string, string] => {
      const existing = new Map<number, string>();
      for (let number = 0; ; number += 1) {
        const id = idOf(number);
        const other = existing.get(hashOf(id));
        if (other !== undefined) return [other, id];
        existing.set(hashOf(id), id);
      }
    };

    test('is the same probe, in whatever order the roster names them', () => {
      const some = Array.from({ length: 7 }, (_, number) => probeIn('Asia', number * 31));
      fc.assert(
        fc.property(
          fc.shuffledSubarray(some, { minLength: some.length }),
          fc.nat(10_000),
          (shuffled, number) => {
            expect(probeOf(placedMonitor(number), 'Asia', rosterOf(...shuffled))?.id).toBe(
              probeOf(placedMonitor(number), 'Asia', rosterOf(...some))?.id,
            );
          },
        ),
      );
    });

    test('is the same of two with equal weights', () => {
      const [first, second] = drawnAlike();
      const [a, b] = [
        { ...asia, id: first },
        { ...asia, id: second },
      ];
      for (const number of [1, 2, 3]) {
        expect(probeOf(placedMonitor(number), 'Asia', rosterOf(a, b))).toBe(a);
        expect(probeOf(placedMonitor(number), 'Asia', rosterOf(b, a))).toBe(a);
      }
    });

    test('is a probe of each continent that the config allows', () => {
      const roster = rosterOf(europe, asia, africa);
      const limited = placedMonitor(1, { continents: ['Europe', 'Asia'] });
      expect(
        (['Europe', 'Asia', 'Africa'] as const).map((place) => probeOf(limited, place, roster)),
      ).toEqual([europe, asia, undefined]);
    });

    test('does not count a private probe among those that reach internal targets', () => {
      const allowed = { allowed_cidrs: ['10.0.0.0/8'] };
      expect(
        ableToCheck(
          { inside: ['10.1.2.3'] },
          rosterOf({ ...inside, ...allowed }, { ...europe, ...allowed }, asia),
        ),
      ).toEqual(new Set([europe.id]));
    });

    test('of https that not every probe can make belong to those that can', () => {
      const roster = rosterOf({ ...europe, kinds: [...httpsAbilities] }, asia);
      const config = { client_certificate: '***' };
      const ability = abilityFor('https', config);
      expect(ability).toBe('client_certificate');
      expect(abilityFor('https', { ...config, ip_family: 'both' })).toBe('both_families');
      expect(abilityFor('https', { ip_family: '6', client_certificate: null })).toBeUndefined();
      expect(abilityFor('dns', config)).toBeUndefined();
      const placed = placedMonitor(1, { kind: 'https', ability });
      expect(placesOf(placed, roster)).toEqual(['Europe']);
      expect(probeOf(placed, 'Asia', roster)).toBeUndefined();
      expect(placesOf(placedMonitor(1, { kind: 'https' }), roster)).toEqual(['Asia', 'Europe']);
    });

    test('of a kind that not every probe checks belong to those that do', () => {
      const roster = rosterOf({ ...europe, kinds: ['domain'] }, { ...asia, kinds: ['tcp'] });
      const placed = placedMonitor(1, { kind: 'domain' });
      expect(placesOf(placed, roster)).toEqual(['Europe']);
      expect(probeOf(placed, 'Europe', roster)?.id).toBe(europe.id);
      expect(probeOf(placed, 'Asia', roster)).toBeUndefined();
      expect(shareOf(placed, asia.id, roster)).toBeUndefined();
      expect(turns(placed, 'Europe', roster)?.period_ms).toBe(placed.interval_ms);
      expect(ableToCheck({ kind: 'https' }, roster)).toBeUndefined();
      const inside = { ...placed, inside: ['10.1.2.3'] };
      expect(placesOf(inside, roster)).toEqual([]);
    });
  });

  describe('turns', () => {
    const five: readonly Continent[] = ['Africa', 'Asia', 'Europe', 'Oceania', 'South America'];
    const worldOf = (count: number): Roster =>
      rosterOf(...five.slice(0, count).map((continent, at) => probeIn(continent, at + 1)));

    test('give the target exactly one check an interval, from whichever probe', () => {
      const anyMonitor = fc.record({
        number: fc.integer({ min: 0, max: 2 ** 40 }),
        interval_ms: fc.integer({ min: 10, max: 86_400 }).map((seconds) => seconds * 1_000),
        allowed: fc.option(fc.subarray([...continents], { minLength: 1 })),
      });
      fc.assert(
        fc.property(
          fc.subarray([...continents], { minLength: 1 }),
          anyMonitor,
          fc.integer({ min: 0, max: 4e12 }),
          (served, of, from) => {
            const roster = rosterOf(...served.map((continent, at) => probeIn(continent, at + 1)));
            const placed = placedMonitor(0, {
              ordinal: of.number,
              interval_ms: of.interval_ms,
              continents: of.allowed,
            });
            const checking = placesOf(placed, roster);
            const moments = checking.flatMap((continent) => {
              const turn = turns(placed, continent, roster);
              if (!turn) return [];
              expect(turn.period_ms).toBe(checking.length * of.interval_ms);
              return [nextTurn(turn, from)];
            });
            expect(moments.length).toBe(checking.length);
            const sorted = moments.toSorted((a, b) => a - b);
            for (const [at, moment] of sorted.entries()) {
              expect(moment).toBe((sorted[0] ?? 0) + at * of.interval_ms);
              expect(moment).toBeGreaterThanOrEqual(from);
              expect(moment).toBeLessThan(from + checking.length * of.interval_ms);
            }
          },
        ),
      );
    });

    test('keep their moments when a continent joins or leaves', () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 0, max: 1e9 }),
          fc.integer({ min: 1, max: 4 }),
          (number, count) => {
            const phase = (of: number) =>
              (turns(placedMonitor(number), 'Africa', worldOf(of))?.offset_ms ?? -1) % 60_000;
            expect(phase(count + 1)).toBe(phase(count));
          },
        ),
      );
    });

    test('are none where a monitor is not checked', () => {
      expect(
        turns(placedMonitor(1, { continents: ['Asia'] }), 'Europe', worldOf(5)),
      ).toBeUndefined();
    });

    const spreadOf = (
      count: number,
      interval_s: number,
      world: number,
    ): { busiest: number; mean: number } => {
      const roster = worldOf(world);
      const seconds = new Int32Array(interval_s * world);
      for (let number = 1; number <= count; number += 1) {
        const turn = turns(
          placedMonitor(number, { interval_ms: interval_s * 1_000 }),
          'Africa',
          roster,
        );
        const second = Math.floor((turn?.offset_ms ?? -1) / 1_000);
        seconds[second] = (seconds[second] ?? 0) + 1;
      }
      return { busiest: Math.max(...seconds), mean: count / seconds.length };
    };

    const cases = [1_000, 10_000, 100_000].flatMap((count) =>
      [10, 30, 60, 300].flatMap((interval) =>
        [1, 2, 3, 4, 5].map((world) => [count, interval, world] as const),
      ),
    );
    test.each(cases)(
      'spread %i monitors of %i s on %i continents evenly over the seconds',
      (count, interval, world) => {
        const { busiest, mean } = spreadOf(count, interval, world);
        // Below ten a second whole checks are too coarse for a ratio.
        expect(busiest).toBeLessThanOrEqual(mean >= 10 ? 1.25 * mean : 1.25 * mean + 2);
      },
    );

    test('of several intervals together keep the busiest second below 1.25 times the mean', () => {
      const intervals = [10, 20, 30, 60, 120, 300];
      const seconds = new Int32Array(600);
      const roster = worldOf(1);
      for (let number = 1; number <= 10_000; number += 1) {
        const turn = turns(
          placedMonitor(number, {
            interval_ms: (intervals[number % intervals.length] ?? 60) * 1_000,
          }),
          'Africa',
          roster,
        );
        if (!turn) throw new Error('no turns');
        for (let at = nextTurn(turn, 0); at < 600_000; at += turn.period_ms) {
          const second = Math.floor(at / 1_000);
          seconds[second] = (seconds[second] ?? 0) + 1;
        }
      }
      const mean = seconds.reduce((sum, checks) => sum + checks, 0) / seconds.length;
      expect(Math.max(...seconds)).toBeLessThanOrEqual(1.25 * mean);
    });
  });

  describe('the share of a probe', () => {
    const other = probeIn('Europe', 7);

    test('is every turn of its continent that no other probe there takes', () => {
      const roster = rosterOf(europe, other, asia);
      for (let number = 0; number < 200; number += 1) {
        const placed = placedMonitor(number);
        const mine = [europe, other]
          .map(({ id }) => shareOf(placed, id, roster))
          .filter((share) => share !== undefined);
        expect(mine).toEqual([turns(placed, 'Europe', roster)]);
      }
    });

    test('is nothing for a probe that the roster does not name, or calls lost unless nobody else may check it (rule 7)', () => {
      const roster = rosterOf(europe, { ...asia, healthy: false });
      const own = placedMonitor(1, { continents: ['Asia'] });
      expect(shareOf(placedMonitor(1), idOf(55), rosterOf(europe))).toBeUndefined();
      expect(shareOf(placedMonitor(1), asia.id, roster)).toBeUndefined();
      expect(shareOf(own, asia.id, roster)).toEqual(turns(own, 'Asia', rosterOf(asia)));
    });

    test('is, for a quarantined probe, what it would be if it were healthy, beside the turns of the others', () => {
      const quarantined = { ...europe, quarantined: true };
      const roster = rosterOf(quarantined, other, asia);
      const well = rosterOf(europe, other, asia);
      let shadows = 0;
      for (let number = 0; number < 200; number += 1) {
        const placed = placedMonitor(number);
        expect(shareOf(placed, europe.id, roster)).toEqual(shareOf(placed, europe.id, well));
        expect(shareOf(placed, other.id, roster)).toEqual(turns(placed, 'Europe', roster));
        if (shareOf(placed, europe.id, roster)) shadows += 1;
      }
      expect(shadows).toBeGreaterThan(50);
    });

    test('is, for one of two that are quarantined, what it would be if it alone were healthy', () => {
      const [one, two] = [
        { ...europe, quarantined: true },
        { ...other, quarantined: true },
      ];
      for (let number = 0; number < 20; number += 1) {
        const alone = turns(placedMonitor(number), 'Europe', rosterOf(europe, asia));
        expect(shareOf(placedMonitor(number), one.id, rosterOf(one, two, asia))).toEqual(alone);
        expect(shareOf(placedMonitor(number), two.id, rosterOf(one, two, asia))).toEqual(alone);
      }
    });
  });
});

describe('next turn', () => {
  test('the next turn is the first at or after a moment', () => {
    const turn = fc.record({
      period_ms: fc.integer({ min: 1, max: 4_000_000 }),
      offset_ms: fc.nat(4_000_000),
    });
    fc.assert(
      fc.property(
        turn,
        fc.integer({ min: 1_700_000_000_000, max: 2_000_000_000_000 }),
        (given, from) => {
          const next = nextTurn(given, from);
          expect((next - given.offset_ms) % given.period_ms).toBe(0);
          expect(next - from).toBeGreaterThanOrEqual(0);
          expect(next - from).toBeLessThan(given.period_ms);
        },
      ),
    );
  });
});

describe('the digest of a set of assignments', () => {
  const one: fc.Arbitrary<Assigned> = fc.record({
    monitor: fc.uuid(),
    config_version: fc.integer({ min: 1, max: 1_000 }),
    interval_ms: fc.integer({ min: 10, max: 100 }).map((seconds) => seconds * 1_000),
    ordinal: fc.nat(),
    continents: fc.option(fc.subarray([...continents], { minLength: 1 })),
    probe: fc.option(fc.uuid()),
    key: fc.option(fc.stringMatching(/^[0-9a-f]{8}$/)),
  });
  const sets = fc.uniqueArray(one, { selector: ({ monitor }) => monitor, maxLength: 50 });
  const textOf = (set: readonly Assigned[]): string => digestOf(set.map(assignedElement)).text();

  test('does not depend on the order in which they came', () => {
    fc.assert(
      fc.property(sets, fc.infiniteStream(fc.nat()), (set, keys) => {
        const shuffled = set
          .map((element) => [keys.next().value ?? 0, element] as const)
          .toSorted(([a], [b]) => a - b);
        expect(textOf(shuffled.map(([, element]) => element))).toBe(textOf(set));
      }),
    );
  });

  test('is, after any changes, what a new one of the same set would be', () => {
    fc.assert(
      fc.property(sets, sets, (kept, gone) => {
        const digest = createDigest();
        for (const element of [...kept, ...gone]) digest.add(assignedElement(element));
        for (const element of gone) digest.remove(assignedElement(element));
        expect(digest.text()).toBe(textOf(kept));
        expect(digest.count()).toBe(kept.length);
      }),
    );
  });

  test('differs for a missing and an additional one', () => {
    fc.assert(
      fc.property(sets, one, (set, more) => {
        expect(textOf([...set, more])).not.toBe(textOf(set));
      }),
    );
  });

  test('differs for any other version, interval, ordinal, continents, probe, or key of the secrets', () => {
    const changed: { readonly [Part in keyof Assigned]?: (was: Assigned) => Partial<Assigned> } = {
      config_version: ({ config_version }) => ({ config_version: config_version + 1 }),
      interval_ms: ({ interval_ms }) => ({ interval_ms: interval_ms + 1_000 }),
      ordinal: ({ ordinal }) => ({ ordinal: ordinal + 1 }),
      continents: ({ continents: was }) => ({ continents: was ? null : ['Asia'] }),
      probe: ({ probe }) => ({ probe: probe ? null : '0198c0de-0000-7000-8000-000000000001' }),
      key: ({ key }) => ({ key: key ? null : '0badcafe' }),
    };
    fc.assert(
      fc.property(sets, one, (set, was) => {
        for (const [part, change] of Object.entries(changed))
          expect(textOf([...set, { ...was, ...change(was) }]), part).not.toBe(
            textOf([...set, was]),
          );
      }),
    );
  });

  test('of nothing is all zeros, with its format', () => {
    expect(createDigest().text()).toBe('0'.repeat(32));
    expect(isComparable(assignmentsDigest(createDigest()))).toBe(true);
    expect(isComparable(createDigest().text())).toBe(false);
  });
});

describe('chosen places', () => {
  const [officeId, clusterId] = [idOf(100), idOf(200)];
  const at = (region: string, number: number, more: Partial<RosterProbe> = {}) =>
    probeIn('Europe', number, { region, ...more });
  const frankfurt = at('Frankfurt', 11);
  const paris = at('Paris', 12);
  const tokyo = probeIn('Asia', 13);
  const office = probeIn('Europe', 100, { organisation: officeId });
  const spare = probeIn('Europe', 101, { organisation: officeId });
  const cluster = probeIn('Asia', 200, { organisation: clusterId });
  const roster = rosterOf(frankfurt, paris, tokyo, office, spare, cluster);
  const choosing = (...places: string[]) => placedMonitor(5, { places });
  const lost = { healthy: false };

  test.each<[string, string[], Roster, string[]]>([
    ['all kinds of them, as chosen', ['Asia', officeId, 'Europe/Paris'], roster, []],
    ['two regions of one continent', ['Europe/Paris', 'Europe/Frankfurt'], roster, []],
    ['a continent without its regions beside it', ['Europe', 'Europe/Paris'], roster, ['Europe']],
    ['none that has no probe', ['Europe/Oslo', 'Asia', idOf(300)], roster, ['Asia']],
    [
      'none whose probes are all lost, while another is left',
      ['Asia', officeId],
      rosterOf(tokyo, { ...office, ...lost }, { ...spare, ...lost }),
      ['Asia'],
    ],
    [
      'private ones whose probes are all lost, where no other is left',
      ['Asia', officeId],
      rosterOf({ ...tokyo, ...lost }, { ...office, ...lost }),
      [officeId],
    ],
  ])('have turns: %s', (_, places, of, expected) => {
    expect(placesOf(choosing(...places), of)).toEqual(expected.length > 0 ? expected : places);
  });

  test('give the target one check an interval in all', () => {
    const placed = choosing('Asia', officeId, 'Europe/Paris', 'Europe/Frankfurt');
    const moments = placesOf(placed, roster).map((place) => {
      const its = turns(placed, place, roster);
      expect(its?.period_ms).toBe(4 * placed.interval_ms);
      return its ? nextTurn(its, 1_800_000_000_000) : Number.NaN;
    });
    const sorted = moments.toSorted((a, b) => a - b);
    expect(sorted.map((moment) => moment - (sorted[0] ?? 0))).toEqual([
      0, 60_000, 120_000, 180_000,
    ]);
  });

  test('are each checked by one of their own probes, and a spare takes over', () => {
    const placed = choosing('Europe/Paris', officeId);
    expect(probeOf(placed, 'Europe/Paris', roster)?.id).toBe(paris.id);
    expect(shareOf(placed, frankfurt.id, roster)).toBeUndefined();
    expect(shareOf(placed, cluster.id, roster)).toBeUndefined();
    const first = probeOf(placed, officeId, roster);
    const members = [office, spare].map((probe) =>
      probe.id === first?.id ? { ...probe, ...lost } : probe,
    );
    const after = rosterOf(paris, ...members);
    const second = members.find(({ healthy }) => healthy);
    expect(probeOf(placed, officeId, after)?.id).toBe(second?.id);
    expect(shareOf(placed, second?.id ?? '', after)).toEqual(turns(placed, officeId, roster));
  });

  test('answer for their continent when that is asked', () => {
    const placed = choosing('Europe/Paris', officeId);
    expect(probeOf(placed, 'Europe', roster)?.id).toBe(paris.id);
    expect(probeOf(placed, 'Asia', roster)).toBeUndefined();
    expect(probeOf(placed, clusterId, roster)).toBeUndefined();
  });

  test('change the digest of an assignment, and only theirs', () => {
    const assigned: Assigned = {
      monitor: idOf(1),
      config_version: 1,
      interval_ms: 60_000,
      ordinal: 1,
      continents: null,
      probe: null,
      key: null,
    };
    expect(assignedElement({ ...assigned, places: null })).toEqual(assignedElement(assigned));
    expect(assignedElement({ ...assigned, places: ['Asia'] })).not.toEqual(
      assignedElement({ ...assigned, places: ['Europe'] }),
    );
  });
});
