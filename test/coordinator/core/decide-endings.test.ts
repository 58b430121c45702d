import { describe, expect, test } from 'vitest';
import type { Continent } from '../../../shared/base/continents.ts';
import { at, story } from './story.ts';

/** Rules 12, 14, 16 and 17: how a confirmed incident ends, and what happens to the monitor itself. */

const down = (places: readonly Continent[], failing: readonly Continent[], watched: Parameters<typeof story>[1] = {}) => {
  const told = story(places, watched);
  for (const [index, place] of failing.entries()) told.fail(place, 10 + index);
  expect(told.state().incident?.confirmed_at).not.toBeNull();
  return told;
};

describe('rule 12: an outage ends', () => {
  test('with the check with which fewer than two failed, not with an earlier pass of three', () => {
    const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia', 'Africa']);
    told.pass('Europe', 100);
    expect(told.state().incident?.progress.below_since).toBeNull();
    told.pass('Asia', 105);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(105) }]);
  });

  test('by a pass that started together with it, and by none from before', () => {
    for (const [second, ends] of [
      [10, true],
      [9.999, false],
    ] as const) {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.pass('Africa', second);
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.pass('Europe', 100);
      expect(told.incidents()[0]?.resolved_at).toBe(ends ? at(100) : null);
    }
  });

  test('with that check also when the one that still fails fails again before enough have passed', () => {
    const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
    told.pass('Europe', 100);
    told.fail('Asia', 130);
    told.pass('Africa', 140);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(100) }]);
  });

  test('and a further failure of it writes nothing', () => {
    const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
    told.fail('Europe', 40);
    expect(told.fail('Europe', 41)).toEqual([]);
  });

  test('and its first pass asks the others, a further pass nobody', () => {
    const told = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
    told.pass('Europe', 30);
    told.pass('Europe', 31);
    expect(told.effects('look').filter(({ why }) => why === 'recovery')).toMatchObject([{ continents: ['Africa', 'Asia'] }]);
    expect(told.state().incident?.progress.asked_at).toBe(at(30.1));
  });

  test('and until then a pass of now raises what the past had confirmed, when two still see it', () => {
    const past = { handed_over: true, arrives: 30 };
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10, past);
    told.fail('Asia', 11, past);
    expect(told.effects('alert')).toEqual([]);
    told.pass('Africa', 31);
    expect(told.effects('alert')).toHaveLength(1);
  });
});

describe('rule 14: where only one may check', () => {
  test('a failure between two passes makes the end begin anew', () => {
    const told = story(['Europe']);
    for (const second of [10, 15, 20]) told.fail('Europe', second);
    told.pass('Europe', 60);
    expect(told.state().incident?.progress).toMatchObject({ run: 1, run_at: at(60), below_since: at(60) });
    told.fail('Europe', 62);
    expect(told.state().incident?.progress).toMatchObject({ run: 0, below_since: null });
    told.pass('Europe', 65);
    expect(told.incidents()[0]?.resolved_at).toBeNull();
    told.pass('Europe', 70);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(65) }]);
  });

  test('the second pass is asked for within five seconds, or sooner if it was due', () => {
    const nextLook = (second: number) => {
      const told = story(['Europe'], { interval_ms: 300_000 });
      for (const early of [10, 15, 20]) told.fail('Europe', early);
      let due = told.state().incident?.progress.sampling.next_at ?? 0;
      while (due < at(second)) {
        told.tick((due - at(0)) / 1000);
        due = told.state().incident?.progress.sampling.next_at ?? 0;
      }
      const before = due;
      told.pass('Europe', second, { arrives: second });
      return { before, after: told.state().incident?.progress.sampling.next_at };
    };
    const late = nextLook(400);
    expect(late.before).toBeGreaterThan(at(405));
    expect(late.after).toBe(at(405));
    const soon = nextLook(27);
    expect(soon.before).toBeLessThan(at(32));
    expect(soon.after).toBe(soon.before);
  });
});

describe('rule 17: the monitor itself', () => {
  test('is paused once and resumed once, whatever is told twice', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 5);
    told.tell({ is: 'resumed', at: at(6) }, 6);
    expect(told.state().views).toHaveLength(1);
    told.tell({ is: 'paused', at: at(10) }, 10);
    expect(told.tell({ is: 'paused', at: at(12) }, 12)).toEqual([]);
    expect(told.state().watched.paused_at).toBe(at(10));
    told.tell({ is: 'resumed', at: at(20) }, 20);
    expect(told.state()).toMatchObject({ watched: { paused_at: null }, views: [], decides_from: at(20) });
    expect(told.tell({ is: 'resumed', at: at(25) }, 25)).toEqual([]);
    expect(told.effects('ledger').flatMap(({ kind, put }) => (kind === 'paused' ? [put] : []))).toEqual([
      [{ began_at: at(10), ended_at: null, interval_ms: 60_000 }],
      [{ began_at: at(10), ended_at: at(20), interval_ms: 60_000 }],
    ]);
  });

  test('that is edited forgets what it saw if it is checked otherwise, and else only those who may not check it any more', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    for (const [index, place] of (['Europe', 'Asia', 'Africa'] as const).entries()) told.pass(place, 5 + index);
    const watched = { ...told.state().watched, continents: ['Europe', 'Asia'] as const };
    told.tell({ is: 'edited', at: at(10), watched, changed: false }, 10);
    expect(told.state().views.map(({ from }) => from.continent)).toEqual(['Europe', 'Asia']);
    told.tell({ is: 'edited', at: at(11), watched: { ...watched, config_version: 2 }, changed: true }, 11);
    expect(told.state().views).toEqual([]);
  });
});

describe('rule 16: when a probe is quarantined', () => {
  const quarantine = (told: ReturnType<typeof story>, probe: string) => {
    told.tell({ is: 'quarantined', at: at(50), probe }, 50);
    return told.incidents().map(({ note, resolved_at }) => [note, resolved_at]);
  };
  const open = [[null, null]];

  test('what it alone opened closes with that reason, and what it saw is forgotten', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.pass('Asia', 11);
    expect(quarantine(told, 'probe-Europe')).toEqual([['the probe that saw it was quarantined', at(50)]]);
    expect(told.state().views.map(({ from }) => from.probe)).toEqual(['probe-Asia']);
  });

  test('what another opened stays, and what another sees too, and what was confirmed', () => {
    const lonely = story(['Europe', 'Asia']);
    lonely.fail('Europe', 10);
    expect(quarantine(lonely, 'probe-Asia')).toEqual(open);
    const seenToo = story(['Europe', 'Asia', 'Africa']);
    seenToo.fail('Europe', 10);
    seenToo.fail('Europe', 11, { probe: 'second' });
    expect(quarantine(seenToo, 'probe-Europe')).toEqual(open);
    expect(quarantine(down(['Europe', 'Asia'], ['Europe', 'Asia']), 'probe-Europe')).toEqual(open);
    expect(quarantine(story(['Europe', 'Asia']), 'probe-Europe')).toEqual([]);
    // Also when those who see it have long not said so.
    const long = story(['Europe', 'Asia', 'Africa']);
    long.fail('Europe', 10);
    long.pass('Africa', 900);
    expect(quarantine(long, 'probe-Asia')).toEqual(open);
    const confirmed = down(['Europe', 'Asia', 'Africa'], ['Europe', 'Asia']);
    confirmed.pass('Africa', 900);
    expect(quarantine(confirmed, 'probe-Europe')).toEqual(open);
  });
});
