import { describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { checkpointOf, restore } from '../../../coordinator/core/lifecycle.ts';
import {
  type Allowance,
  isForgotten,
  mayAsk,
  nextSample,
  type Purse,
  spend,
  unusedBudget,
} from '../../../coordinator/core/rechecks.ts';
import type { Watched } from '../../../coordinator/core/types.ts';
import { at, inTime, refused, rosterOf, story } from './story.ts';

/** Whom the core asks, when, and how often: sampling, and what was asked before a restart. */
describe('decide rechecks', () => {
  const rechecksOf = (effects: ReturnType<ReturnType<typeof story>['tick']>) =>
    effects.flatMap((effect) => (effect.is === 'look' ? [[effect.why, ...effect.places]] : []));

  test('rule 11: a failure asks whoever is back, also right after one that found nobody to ask', () => {
    const places = ['Asia', 'Europe'] as const;
    const told = story(places);
    told.network(rosterOf(places, ['Asia']));
    told.fail('Europe', 10);
    told.fail('Europe', 15);
    told.fail('Europe', 20);
    told.network(rosterOf(places));
    expect(rechecksOf(told.fail('Europe', 20.5))).toEqual([['again', 'Asia']]);
  });

  describe('rule 13: sampling', () => {
    test('takes the continents in turn, one every five seconds', () => {
      const told = story(['Africa', 'Asia', 'Europe']);
      told.fail('Europe', 10);
      expect(rechecksOf(told.tick(15))).toEqual([]);
      const asked = [15.1, 20.1, 25.1, 30.1].flatMap((second) => rechecksOf(told.tick(second)));
      expect(asked).toEqual([
        ['sample', 'Africa'],
        ['sample', 'Asia'],
        ['sample', 'Europe'],
        ['sample', 'Africa'],
      ]);
    });

    test('asks the only one each time, and none where none is able', () => {
      const told = story(['Europe']);
      told.fail('Europe', 10);
      expect([15.1, 20.1, 25.1].flatMap((second) => rechecksOf(told.tick(second)))).toEqual(
        Array(3).fill(['confirming', 'Europe']),
      );
      told.network(rosterOf(['Europe'], ['Europe']));
      expect(rechecksOf(told.tick(30.1))).toEqual([]);
    });

    test('restarts with the confirmation when it had ended before', () => {
      const told = story();
      told.fail('Europe', 10);
      for (let second = 11; second < 640; second += 1) {
        if (second % 60 === 10) told.fail('Europe', second);
        told.tick(second + 0.5);
      }
      expect(told.state().incident?.progress.sampling.next_at).toBeNull();
      told.fail('Asia', 650);
      expect(told.state().incident?.progress).toMatchObject({
        sampling: { since: at(650.1), next_at: at(655.1) },
        run: 0,
        below_since: null,
      });
    });

    test('rule 14: a method that is not sampled is rechecked only until a lone continent has decided', () => {
      const told = story(['Europe'], { sampled: false });
      told.fail('Europe', 10);
      expect(rechecksOf(told.tick(15.1))).toEqual([['confirming', 'Europe']]);
      told.fail('Europe', 15.2);
      expect(rechecksOf(told.tick(20.1))).toEqual([['confirming', 'Europe']]);
      told.fail('Europe', 20.2);
      expect(told.state().incident?.confirmed_at).toBe(at(20.2));
      told.tick(25.1);
      expect(told.state().incident?.progress.sampling.next_at).toBeNull();
      told.pass('Europe', 60);
      expect(rechecksOf(told.tick(65))).toEqual([]);
      expect(rechecksOf(told.tick(65.1))).toEqual([['confirming', 'Europe']]);
      expect(rechecksOf(told.tick(70.1))).toEqual([['confirming', 'Europe']]);
      told.pass('Europe', 70.2);
      expect(told.incidents()).toMatchObject([{ resolved_at: at(60) }]);
    });

    test('rule 14: where others may check too, a method that is not sampled is never rechecked by itself', () => {
      const told = story(['Europe', 'Asia'], { sampled: false });
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.pass('Europe', 20);
      expect(told.state().incident?.progress.sampling.next_at).toBeNull();
      expect(rechecksOf(told.tick(30))).toEqual([]);
    });
  });

  describe('after a restart', () => {
    const restarted = (told: ReturnType<typeof story>) => {
      const { watched, incident, gaps } = told.state();
      return restore({
        watched,
        checkpoint: checkpointOf(told.state()),
        results: [],
        resumed_at: null,
        incident,
        gaps,
      });
    };
    const asked = (state: ReturnType<typeof restarted>, second: number) => {
      const moment = {
        now: at(second),
        network: rosterOf(['Europe', 'Asia']),
        newId: () => 'look',
      };
      const { state: after, effects } = decide(state, { is: 'tick' }, moment);
      return {
        after,
        why: effects.flatMap((effect) =>
          effect.is === 'look' && effect.why !== 'sample' ? [effect.why] : [],
        ),
      };
    };

    test('rule 9: a question is asked once, however many ticks follow', () => {
      const told = story();
      told.fail('Europe', 10);
      const first = asked(restarted(told), 20);
      expect(first.why).toEqual(['again']);
      expect(asked(first.after, 25).why).toEqual([]);
    });

    test('rule 9: one that the past opened is asked about for the first time, a confirmed one again', () => {
      const past = { handed_over: true, arrives: 30 };
      const lonely = story();
      lonely.fail('Europe', 10, past);
      expect(asked(restarted(lonely), 31).why).toEqual(['first']);
      lonely.fail('Asia', 11, past);
      const { after, why } = asked(restarted(lonely), 31);
      expect(why).toEqual(['first']);
      expect(after.restored).toBe(false);
      expect(asked({ ...lonely.state(), restored: false }, 31).why).toEqual([]);
    });

    test('rule 9: also when nothing is left of what was seen, but not about what is long ago', () => {
      const told = story();
      told.fail('Europe', 10);
      const { watched, incident, gaps } = told.state();
      const bare = restore({
        watched,
        checkpoint: null,
        results: [],
        resumed_at: null,
        incident,
        gaps,
      });
      expect(asked(bare, 20).why).toEqual(['again']);
      told.pass('Asia', 240);
      expect(asked(restarted(told), 250).why).toEqual(['again']);
      expect(asked(restarted(told), 250.001).why).toEqual([]);
    });

    test('rule 20: a heartbeat that reported its failure itself is not sampled', () => {
      const told = story(['Europe', 'Asia'], { kind: 'heartbeat' });
      told.tell(
        {
          is: 'ping',
          ping: { ...inTime(10), is: 'bad', covers_until: at(10), cause: refused, evidence: null },
        },
        10,
      );
      expect(told.state().incident).toMatchObject({
        confirmed_at: at(10),
        progress: { sampling: { next_at: null }, below_since: null },
      });
    });

    test('no probe is asked about what the target reported itself', () => {
      const told = story(['Europe', 'Asia'], { kind: 'heartbeat' });
      told.tell(
        {
          is: 'ping',
          ping: { ...inTime(10), is: 'bad', covers_until: at(10), cause: refused, evidence: null },
        },
        10,
      );
      expect(asked(restarted(told), 20).why).toEqual([]);
    });
  });
});

/** Rule 13: when an open incident is looked at next, and how many looks there are at most. */
describe('sampling', () => {
  const now = 1_000_000_000;
  /** The distance to the next look so long after the sampling began. */
  const distance = (
    elapsed: number,
    watched: Partial<Watched>,
    { crowd = 0, ...is }: { confirmed?: boolean; undecidedAlone?: boolean; crowd?: number } = {},
  ): number | null => {
    const sampling = { since: now - elapsed, next_at: null, turn: 0 };
    const state = story(['Europe'], watched).state();
    const next = nextSample(
      state.watched,
      sampling,
      { now, crowd },
      { confirmed: false, undecidedAlone: false, ...is },
    );
    return next === null ? null : next - now;
  };

  describe('rule 13: the next recheck', () => {
    test.each([
      [0, 5_000],
      [119_999, 5_000],
      [120_000, 10_000],
      [129_999, 10_000],
      [130_000, 20_000],
      [149_999, 20_000],
      [150_000, 40_000],
      [190_000, 80_000],
      [270_000, 100_000],
    ])('%d ms after the first is %d ms away, never more than the interval', (elapsed, expected) => {
      expect(distance(elapsed, { interval_ms: 100_000 })).toBe(expected);
      expect(distance(elapsed, { interval_ms: 15_000 })).toBe(Math.min(expected, 15_000));
      expect(distance(elapsed, { interval_ms: 1_000 })).toBe(5_000);
    });

    test('waits while an organisation has so many open incidents that they share its budget', () => {
      const confirmed = { confirmed: true };
      expect(distance(0, {}, { ...confirmed, crowd: 100 })).toBe(5_000);
      expect(distance(0, {}, { ...confirmed, crowd: 200 })).toBe(10_000);
      expect(distance(0, {}, { ...confirmed, crowd: 10_000 })).toBe(500_000);
      expect(distance(0, {}, { undecidedAlone: true, crowd: 10_000 })).toBe(5_000);
    });

    test('ends after ten minutes while unconfirmed, and not once it is confirmed', () => {
      expect(distance(599_999, {})).toBe(60_000);
      expect(distance(600_000, {})).toBeNull();
      expect(distance(600_000, {}, { confirmed: true })).toBe(60_000);
    });

    test('rule 14: is every five seconds for two minutes where a lone continent has to decide on what is else not sampled', () => {
      expect(distance(0, { sampled: false })).toBeNull();
      expect(distance(119_999, { sampled: false }, { undecidedAlone: true })).toBe(5_000);
      expect(distance(120_000, { sampled: false }, { undecidedAlone: true })).toBeNull();
    });

    test('rule 20: of a late heartbeat comes half a minute after the last at the latest, without end until it is confirmed', () => {
      expect(distance(119_999, { kind: 'heartbeat' })).toBe(5_000);
      expect(distance(150_000, { kind: 'heartbeat' })).toBe(30_000);
      expect(distance(9_000_000, { kind: 'heartbeat', sampled: false })).toBe(30_000);
      expect(distance(0, { kind: 'heartbeat' }, { confirmed: true })).toBeNull();
    });
  });

  describe('rule 13: the budget', () => {
    const granted = (
      allowed: { readonly all: Allowance; readonly probe: Allowance },
      asked: readonly (readonly [probe: string, second: number])[],
    ) => {
      const budget = new Map<string, Purse>();
      return asked.map(([probe, second]) => {
        const whose = new Map([
          ['all', allowed.all],
          [probe, allowed.probe],
        ]);
        const { after, granted: isGranted } = spend(budget, whose, second * 1000);
        for (const [of, purse] of after) budget.set(of, purse);
        return isGranted;
      });
    };
    const wide = { perSecond: 100, burst: 100 };
    const narrow = { perSecond: 1, burst: 2 };
    const asked = [
      ['a', 100],
      ['a', 100],
      ['a', 100],
      ['a', 100.999],
      ['a', 101],
      ['a', 101],
      // Saved up again, and no more than for a burst.
      ['a', 500],
      ['a', 500],
      ['a', 500],
      // A clock that goes back gives nothing.
      ['a', 400],
    ] as const;
    const expected = [true, true, false, false, true, false, true, true, false, false];

    test('is a rate a second, saved up for a burst, for each probe', () => {
      expect(granted({ all: wide, probe: narrow }, asked)).toEqual(expected);
      expect(granted({ all: wide, probe: narrow }, [...asked.slice(0, 3), ['b', 100]])).toEqual([
        true,
        true,
        false,
        true,
      ]);
    });

    test('and for all of them', () => {
      expect(granted({ all: narrow, probe: wide }, asked)).toEqual(expected);
      expect(granted({ all: narrow, probe: wide }, [...asked.slice(0, 3), ['b', 100]])).toEqual([
        true,
        true,
        false,
        false,
      ]);
    });

    test('of an organisation whose monitors all fail leaves what others need', () => {
      const budget = new Map<string, Purse>();
      const ask = (organisation: string, times: number): number => {
        let granted = 0;
        for (let nth = 0; nth < times; nth += 1) {
          const spent = spend(
            budget,
            new Map([
              ['all', wide],
              [organisation, narrow],
            ]),
            1_000,
          );
          for (const [of, purse] of spent.after) budget.set(of, purse);
          granted += spent.granted ? 1 : 0;
        }
        return granted;
      };
      expect([ask('all fail', 1_000), ask('one fails', 2)]).toEqual([2, 2]);
    });

    test('costs nothing that is not granted', () => {
      const allowed = { all: { perSecond: 0, burst: 2 }, probe: { perSecond: 0, burst: 1 } };
      expect(
        granted(allowed, [
          ['a', 1],
          ['a', 1],
          ['b', 1],
          ['c', 1],
        ]),
      ).toEqual([true, false, true, false]);
    });
  });

  describe('rule 13: the limit of one monitor, whatever asks for rechecks', () => {
    const grantedOf = (isSample: boolean, everyMs: number, forMs: number): number[] => {
      let asked = unusedBudget;
      const granted: number[] = [];
      for (let now = 0; now < forMs; now += everyMs) {
        const next = mayAsk(asked, isSample, now);
        asked = next.asked;
        if (next.granted) granted.push(now);
      }
      return granted;
    };

    test('samples are four seconds apart at least, and none that comes in its time is left out', () => {
      expect(grantedOf(true, 100, 20_000)).toEqual([0, 4_000, 8_000, 12_000, 16_000]);
      expect(grantedOf(true, 5_000, 20_000)).toHaveLength(4);
    });

    test('others are asked twelve times at once, and then once in two seconds', () => {
      const granted = grantedOf(false, 50, 40_000);
      expect(granted.filter((time) => time < 1_000)).toHaveLength(12);
      expect(granted.length).toBe(12 + 19);
    });

    test('samples and questions are counted separately, and old ones are dropped', () => {
      const sampled = mayAsk(unusedBudget, true, 0).asked;
      expect(mayAsk(sampled, false, 1).granted).toBe(true);
      expect(isForgotten(mayAsk(sampled, false, 1).asked, 1_000)).toBe(false);
      expect(isForgotten(mayAsk(sampled, false, 1).asked, 10_000)).toBe(true);
    });
  });
});
