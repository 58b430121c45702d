import { describe, expect, test } from 'vitest';
import {
  asWritten,
  type ComparedCheck,
  isSameShare,
  maxHosts,
  observe,
  type Share,
  shareOf,
  shownBy,
  smallestOf,
  type Trust,
  together,
  trusting,
} from '../../../coordinator/core/quarantine.ts';
import type { ProbeView, SeenResult } from '../../../coordinator/core/types.ts';
import { see } from '../../../coordinator/core/views.ts';
import type { Continent } from '../../../shared/base/continents.ts';
import { hashOf } from '../../../shared/checks/assignment.ts';
import { at, refused } from './story.ts';

/** Rule 16: who is trusted, check by check, on the lines that the rule draws. */
describe('decide quarantine', () => {
  const turn_ms = 180_000;
  const shown = (
    target: string,
    at: number,
    ok: boolean,
    others: ComparedCheck['others'] = 'pass',
    turn = turn_ms,
  ): ComparedCheck => ({
    target,
    at,
    ok,
    others,
    turn_ms: turn,
  });
  const trustAfter = (
    checks: readonly ComparedCheck[],
    targets: number,
    trust: Trust = trusting,
    isOnly = false,
  ): Trust =>
    checks.reduce((known, each) => observe(known, each, { targets, isOnly, isAll: true }), trust);
  const refuted = (...targets: string[]) =>
    targets.map((target, index) => shown(target, index, false));

  describe('rule 16: a probe is quarantined', () => {
    test('with three refuted targets, not with two, however few it has', () => {
      expect(trustAfter(refuted('a', 'b'), 2).sick_since).toBeNull();
      expect(trustAfter(refuted('a', 'b', 'c'), 3)).toEqual({
        refuted: new Map(),
        sick_since: 2,
        clean: 0,
        cleanTargets: [],
      });
    });

    test('with four in ten of its targets, not with fewer', () => {
      expect(trustAfter(refuted('a', 'b', 'c', 'd'), 10).sick_since).toBe(3);
      expect(trustAfter(refuted('a', 'b', 'c', 'd'), 11).sick_since).toBeNull();
    });

    test('the only one of its continent with half of its targets or with twenty, not with fewer', () => {
      const sickOf = (wrong: number, targets: number) =>
        trustAfter(
          refuted(...Array.from({ length: wrong }, (_, index) => `host-${index}`)),
          targets,
          trusting,
          true,
        ).sick_since !== null;
      expect([sickOf(2, 2), sickOf(3, 6)]).toEqual([false, true]);
      expect([sickOf(4, 9), sickOf(5, 9)]).toEqual([false, true]);
      expect([sickOf(19, 40), sickOf(20, 40)]).toEqual([false, true]);
      // A large share all the same.
      expect([sickOf(20, 51), sickOf(20, 50)]).toEqual([false, true]);
    });

    test('by results of the last ten minutes, or of two turns where those are longer', () => {
      const then = (turn: number, time: number) =>
        trustAfter(
          [
            shown('a', 0, false, 'pass', turn),
            shown('b', 1, false, 'pass', turn),
            shown('c', time, false, 'pass', turn),
          ],
          3,
        ).sick_since;
      expect(then(300_000, 599_999)).toBe(599_999);
      expect(then(300_000, 600_000)).toBeNull();
      expect(then(turn_ms, 599_999)).toBe(599_999);
      expect(then(turn_ms, 600_000)).toBeNull();
      expect(then(300_001, 600_001)).toBe(600_001);
      expect(then(300_001, 600_002)).toBeNull();
    });

    test('not by what it got right since, nor by what others saw fail since, and an open question changes nothing', () => {
      for (const others of ['pass', 'fail', 'nothing'] as const) {
        const known = trustAfter(
          [...refuted('a', 'b'), shown('a', 10, true, others), shown('c', 11, false)],
          3,
        );
        expect(known.sick_since).toBeNull();
      }
      expect(
        trustAfter([...refuted('a', 'b'), shown('a', 10, false, 'fail'), shown('c', 11, false)], 3)
          .sick_since,
      ).toBeNull();
      const known = trustAfter(refuted('a', 'b'), 3);
      expect(
        observe(known, shown('a', 10, false, 'nothing'), {
          targets: 3,
          isOnly: false,
          isAll: true,
        }),
      ).toBe(known);
      expect(
        observe(known, shown('c', 10, false, 'nothing'), {
          targets: 3,
          isOnly: false,
          isAll: true,
        }),
      ).toBe(known);
      expect(observe(known, shown('c', 10, true), { targets: 3, isOnly: false, isAll: true })).toBe(
        known,
      );
    });
  });

  describe('rule 16: a probe in quarantine', () => {
    const sick: Trust = { ...trusting, sick_since: 100 };
    const clean = (count: number, targets: readonly string[], from = 200): ComparedCheck[] =>
      Array.from({ length: count }, (_, index) =>
        shown(targets[index % targets.length] ?? 'a', from + index, true),
      );

    test('returns after twenty clean shadow checks in a row of three targets', () => {
      expect(trustAfter(clean(19, ['a', 'b', 'c']), 8, sick)).toMatchObject({
        sick_since: 100,
        clean: 19,
        cleanTargets: ['a', 'b', 'c'],
      });
      // So many are enough, and each is known once.
      expect(trustAfter(clean(19, ['a', 'a', 'b', 'c', 'd']), 8, sick).cleanTargets).toEqual([
        'a',
        'b',
        'c',
      ]);
      expect(trustAfter(clean(20, ['a', 'b', 'c', 'd']), 8, sick)).toBe(trusting);
      expect(trustAfter(clean(40, ['a', 'b']), 8, sick)).toMatchObject({
        sick_since: 100,
        clean: 40,
        cleanTargets: ['a', 'b'],
      });
    });

    test('returns with those that it has, where it has fewer', () => {
      expect(trustAfter(clean(20, ['a', 'b']), 2, sick)).toBe(trusting);
      expect(trustAfter(clean(20, ['a']), 1, sick)).toBe(trusting);
    });

    test('restarts its run after a wrong one, with its targets too', () => {
      const known = trustAfter([...clean(19, ['a', 'b', 'c']), shown('a', 300, false)], 8, sick);
      expect(known).toMatchObject({ sick_since: 100, clean: 0, cleanTargets: [] });
      expect(trustAfter(clean(20, ['d'], 400), 8, known).sick_since).toBe(100);
    });

    test('is judged by checks that started since, the first of them in that very moment', () => {
      expect(observe(sick, shown('a', 99, true), { targets: 8, isOnly: false, isAll: true })).toBe(
        sick,
      );
      expect(
        observe(sick, shown('a', 100, true), { targets: 8, isOnly: false, isAll: true }).clean,
      ).toBe(1);
    });
  });

  test('rule 16: what is written down of a probe wins over what one coordinator believes', () => {
    const own = observe(trusting, shown('a', 0, false), { targets: 8, isOnly: false, isAll: true });
    const sick: Trust = { ...trusting, sick_since: 5, clean: 7 };
    expect(asWritten(undefined, null)).toBe(trusting);
    expect(asWritten(undefined, 9)).toEqual({ ...trusting, sick_since: 9 });
    expect(asWritten(own, null)).toBe(own);
    expect(asWritten(sick, 5)).toBe(sick);
    expect(asWritten(sick, null)).toBe(trusting);
    expect(asWritten(own, 9)).toEqual({ ...trusting, sick_since: 9 });
  });
});

describe('rule 16: a failure', () => {
  const turn_ms = 180_000;

  const everywhere: readonly Continent[] = ['Africa', 'Asia', 'Europe'];

  const result = (continent: Continent, second: number, ok: boolean): SeenResult => ({
    monitor: 'monitor',
    seq: 1,
    config_version: 1,
    at: at(second),
    took_ms: 20,
    outcome: ok ? 'ok' : 'fail',
    cause: ok ? null : refused,
    phases: null,
    evidence: null,
    look: null,
    from: { probe: `probe-${continent}`, name: continent, continent },
    quarantined: false,
    handed_over: false,
  });

  /**
   * What the last of these results shows, all of them being known, as "probe: word of the others".
   */
  const shown = (
    results: readonly SeenResult[],
    sick: readonly Continent[] = [],
    able: readonly Continent[] = everywhere,
  ): readonly string[] => {
    let views: readonly ProbeView[] = [];
    for (const each of results) views = see(views, each).views;
    const last = results.at(-1);
    if (!last) return [];
    const state = { views, clock: Math.max(...results.map((each) => each.at)) };
    const isSick = (probe: string) => sick.some((continent) => probe === `probe-${continent}`);
    return shownBy(last, { state, reach: { able, turn_ms }, isSick }).map(
      ({ probe, shown: { ok, others } }) => `${probe} ${ok ? 'ok' : 'fail'}: ${others}`,
    );
  };

  const wellBefore = [
    result('Asia', 0, true),
    result('Europe', 1, true),
    result('Africa', 2, true),
  ];

  test('that is the first of an outage is not refuted by passes from before it', () => {
    expect(shown([...wellBefore, result('Asia', 10, false)])).toEqual(['probe-Asia fail: nothing']);
  });

  test('is refuted when all others passed right after it, and not while one of them has not answered', () => {
    const asked = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, true)];
    expect(shown(asked)).toEqual(['probe-Europe ok: pass', 'probe-Asia fail: nothing']);
    expect(shown([...asked, result('Africa', 10.2, true)])).toEqual([
      'probe-Africa ok: pass',
      'probe-Asia fail: pass',
    ]);
  });

  test('that others see too is refuted where as many pass as fail beside it, so that two sick ones do not vouch for each other', () => {
    const two = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, false)];
    expect(shown([...two, result('Africa', 10.2, true)])).toEqual([
      'probe-Africa ok: fail',
      'probe-Asia fail: pass',
      'probe-Europe fail: pass',
    ]);
    const four: readonly Continent[] = [...everywhere, 'Oceania'];
    expect(
      shown([...two, result('Oceania', 10.15, false), result('Africa', 10.2, true)], [], four),
    ).toEqual([
      'probe-Africa ok: fail',
      'probe-Asia fail: fail',
      'probe-Europe fail: fail',
      'probe-Oceania fail: fail',
    ]);
  });

  test('is not refuted by passes of much later', () => {
    expect(
      shown([
        ...wellBefore,
        result('Asia', 10, false),
        result('Europe', 11, true),
        result('Africa', 60, true),
      ]).at(-1),
    ).toBe('probe-Asia fail: nothing');
  });

  test('that took its whole time limit is refuted by those asked when it ended', () => {
    const slow = { ...result('Asia', 10, false), took_ms: 10_000 };
    const asked = [...wellBefore, slow, result('Europe', 20.1, true), result('Africa', 20.2, true)];
    expect(shown(asked).at(-1)).toBe('probe-Asia fail: pass');
    expect(
      shown([...wellBefore, slow, result('Europe', 20.1, true), result('Africa', 60, true)]).at(-1),
    ).toBe('probe-Asia fail: nothing');
  });

  test('waits for no continent that cannot check now', () => {
    const asked = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, true)];
    expect(shown(asked, [], ['Asia', 'Europe']).at(-1)).toBe('probe-Asia fail: pass');
  });

  test('from a backlog says nothing about its probe', () => {
    expect(shown([...wellBefore, { ...result('Asia', 10, false), handed_over: true }])).toEqual([]);
    expect(shown([...wellBefore, { ...result('Asia', 10, true), handed_over: true }])).toEqual([
      'probe-Asia ok: pass',
    ]);
  });

  test('of a shadow check is compared with what others saw last, because it asks for no recheck', () => {
    expect(shown([...wellBefore, result('Asia', 10, false)], ['Asia'])).toEqual([
      'probe-Asia fail: pass',
    ]);
  });

  test('is refuted by passes from its start until ten seconds after its end', () => {
    const failure = { ...result('Asia', 10, false), took_ms: 2_000 };
    const word = (second: number) =>
      shown([
        ...wellBefore,
        failure,
        result('Africa', 10, true),
        result('Europe', second, true),
      ]).at(-1);
    expect(word(10)).toBe('probe-Asia fail: pass');
    expect(word(22)).toBe('probe-Asia fail: pass');
    expect(word(22.001)).toBe('probe-Asia fail: nothing');
    expect(
      shown([...wellBefore, failure, result('Africa', 9.999, true), result('Europe', 11, true)]).at(
        -1,
      ),
    ).toBe('probe-Asia fail: nothing');
  });

  test('is not refuted where no other probe can check', () => {
    expect(shown([result('Asia', 10, false)], [], ['Asia'])).toEqual(['probe-Asia fail: nothing']);
    expect(shown([...wellBefore, result('Asia', 10, false)], [], ['Asia'])).toEqual([
      'probe-Asia fail: nothing',
    ]);
  });

  test('seen by two is open until the third answers, and a pass of its own continent does not refute it', () => {
    const two = [...wellBefore, result('Asia', 10, false), result('Europe', 10.1, false)];
    expect(shown(two)).toEqual(['probe-Europe fail: nothing']);
    const second = {
      ...result('Asia', 10.2, true),
      from: { probe: 'second', name: 'second', continent: 'Asia' as const },
    };
    expect(shown([...wellBefore, result('Asia', 10, false), second])).toEqual(['second ok: pass']);
  });

  test('is not judged by an older result of its own continent, or by a failure that its probe has left behind', () => {
    const second = {
      ...result('Asia', 9, true),
      from: { probe: 'second', name: 'second', continent: 'Asia' as const },
    };
    expect(shown([...wellBefore, result('Asia', 10, false), second])).toEqual(['second ok: pass']);
    const answered = [
      ...wellBefore,
      result('Asia', 10, false),
      result('Europe', 10.1, true),
      result('Africa', 10.2, true),
    ];
    expect(shown([...answered, result('Europe', 9, false)])).toEqual(['probe-Europe fail: pass']);
  });

  test('is not judged by unknown results', () => {
    expect(
      shown([
        ...wellBefore,
        result('Asia', 10, false),
        { ...result('Europe', 10.1, true), outcome: 'unknown' },
      ]),
    ).toEqual([]);
  });
});

/** Rule 16: what several coordinators know of a probe is counted as if one knew it all. */
describe('refuted share', () => {
  const now = 1_000;
  const share = (hosts: readonly number[], refuted: readonly number[], until = 2_000): Share =>
    shareOf(smallestOf(new Set(hosts)), new Map(refuted.map((host) => [host, until])), now);

  describe('rule 16: what all coordinators know together', () => {
    test('counts each host once, however many of them know it', () => {
      expect(together([share([1, 2, 3], [1, 2]), share([3, 4, 5], [3])], now)).toEqual({
        targets: 5,
        refuted: 3,
      });
      expect(together([share([1, 2, 3], [1, 2]), share([1, 2, 3], [2])], now)).toEqual({
        targets: 3,
        refuted: 2,
      });
      expect(together([], now)).toEqual({ targets: 0, refuted: 0 });
    });

    test('counts what is refuted until its time is over, and of hosts that are checked', () => {
      const told = share([1, 2], [1, 2, 9]);
      expect(together([told], 1_999)).toEqual({ targets: 2, refuted: 2 });
      expect(together([told], 2_000)).toEqual({ targets: 2, refuted: 0 });
      expect(share([1, 2], [1], now).refuted.size).toBe(0);
    });

    test('of more hosts than the message holds, both are estimated from a fair sample', () => {
      const hosts = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, index) => hashOf(`host-${from + index}.example`));
      const one = share(hosts(0, 6_000), hosts(0, 3_000));
      const other = share(hosts(4_000, 10_000), hosts(4_000, 5_000));
      expect(one.hosts).toHaveLength(maxHosts);
      const known = together([one, other, share(hosts(9_990, 10_010), [])], now);
      // 10,010 hosts, of which 4,000 are refuted; a sample of 256 is right to a tenth or so.
      expect(known.targets).toBeGreaterThan(8_500);
      expect(known.targets).toBeLessThan(11_500);
      expect(known.refuted / known.targets).toBeGreaterThan(0.33);
      expect(known.refuted / known.targets).toBeLessThan(0.47);
    });
  });

  test('an unchanged state is not published again', () => {
    const told = share([1, 2, 3], [1, 2]);
    expect(isSameShare(share([3, 2, 1], [2, 1]), told)).toBe(true);
    expect(isSameShare(share([1, 2, 3], [1, 2], 61_999), told)).toBe(true);
    expect(isSameShare(share([1, 2, 3], [1, 2], 62_000), told)).toBe(false);
    expect(isSameShare(share([1, 2, 3], [1, 3]), told)).toBe(false);
    expect(isSameShare(share([1, 2, 3], [1]), told)).toBe(false);
    expect(isSameShare(share([1, 2, 4], [1, 2]), told)).toBe(false);
    expect(isSameShare(told, undefined)).toBe(false);
  });
});
