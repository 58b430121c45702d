import { describe, expect, test } from 'vitest';
import { at, rosterOf, story } from './story.ts';

test('rule 15: who passes long after the confirmation saw the recovery, and does not count', () => {
  for (const [second, passed] of [
    [60, ['Africa']],
    [80, []],
  ] as const) {
    const told = story(['Africa', 'Asia', 'Europe'], { interval_ms: 600_000 });
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Africa', second);
    expect(told.incidents()).toMatchObject([{ confirmed_at: at(11), scope: 'some_continents', progress: { passed } }]);
  }
});

describe('rule 12: the end of an outage', () => {
  const four = ['Europe', 'Asia', 'Africa', 'Oceania'] as const;

  test('rule 12: two that pass end it, dated by the check with which fewer than two failed', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Asia', 100);
    expect(told.state().incident).not.toBeNull();
    told.pass('Europe', 101);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(100), note: null }]);
    expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
  });

  test('rule 12: the first pass of a failing continent asks all others to look at once', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.fail('Africa', 12);
    told.pass('Asia', 100);
    expect(told.effects('look').at(-1)).toMatchObject({ why: 'recovery', continents: ['Africa', 'Europe'] });
  });

  test('rule 12: two down and two up is one steady outage', () => {
    const told = story(four);
    for (let round = 0; round < 20; round += 1) {
      const second = 10 + round * 240;
      told.fail('Europe', second);
      told.fail('Asia', second + 5);
      told.pass('Africa', second + 60);
      told.pass('Oceania', second + 120);
      told.tick(second + 200);
    }
    expect(told.incidents()).toMatchObject([{ confirmed_at: at(15), resolved_at: null, scope: 'some_continents' }]);
    expect(told.effects('alert')).toHaveLength(1);
  });

  test('rule 12: a continent that still fails alone opens an unconfirmed incident of its own', () => {
    const told = story(four);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Asia', 100);
    expect(told.incidents()).toMatchObject([{ resolved_at: null }]);
    told.pass('Africa', 100.5);
    told.fail('Europe', 101);
    expect(told.incidents()).toMatchObject([
      { resolved_at: at(100) },
      { started_at: at(101), confirmed_at: null, seen: { continent: 'Europe' } },
    ]);
  });

  test('rule 12: where only one is left to check, its pass is all that can be had', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.network(rosterOf(['Europe', 'Asia'], ['Asia']));
    told.pass('Europe', 100);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(100) }]);
  });

  test('rule 12: a pass from before the outage says nothing of its end', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.pass('Africa', 5);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Asia', 100);
    expect(told.state().incident).not.toBeNull();
    told.pass('Africa', 100.4);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(100) }]);
  });

  test('rule 12: a failing continent that falls back makes the end begin anew', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Asia', 11);
    told.pass('Asia', 100);
    told.fail('Asia', 105);
    told.pass('Europe', 110);
    told.pass('Asia', 115);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(110) }]);
  });
});

describe('rule 13: sampling', () => {
  const samples = (told: ReturnType<typeof story>, until: number): number[] => {
    const times: number[] = [];
    for (let next = told.nextTick(); next !== null && next < at(until) && times.length < 1000; next = told.nextTick()) {
      const looks = told.tick((next - at(0)) / 1000).filter((effect) => effect.is === 'look' && effect.why === 'sample');
      if (looks.length > 0) times.push((next - at(0)) / 1000);
    }
    return times;
  };

  const down = (watched: Parameters<typeof story>[1]) => {
    const told = story(['Europe', 'Asia'], watched);
    told.fail('Europe', 0, { arrives: 0 });
    told.fail('Asia', 0.5, { arrives: 0.5 });
    return told;
  };

  test('rule 13: every 5 s for two minutes, then at doubling distances up to the interval', () => {
    const told = down({});
    expect(samples(told, 500)).toEqual([
      ...Array.from({ length: 24 }, (_, index) => 5 + 5 * index),
      130,
      150,
      190,
      250,
      310,
      370,
      430,
      490,
    ]);
  });

  test('rule 13: it goes round the continents', () => {
    const told = down({});
    samples(told, 26);
    const sampled = told.effects('look').filter(({ why }) => why === 'sample');
    expect(sampled.map(({ continents }) => continents[0])).toEqual(['Asia', 'Europe', 'Asia', 'Europe', 'Asia']);
  });

  test('rule 13: an unconfirmed incident is sampled for ten minutes at most', () => {
    const told = story(['Europe', 'Asia'], { interval_ms: 600_000 });
    told.fail('Europe', 0, { arrives: 0 });
    expect(samples(told, 2400).at(-1)).toBeLessThan(920);
    expect(told.state().incident?.progress.sampling.next_at).toBeNull();
  });

  test('rule 13: what more checks could harm is not sampled', () => {
    expect(samples(down({ sampled: false }), 600)).toEqual([]);
  });
});

describe('rule 14: where only one continent may check', () => {
  test.each([
    ['an installation with one', story(['Europe'])],
    ['continents with one', story(['Europe', 'Asia'], { continents: ['Europe'] })],
    ['a private probe', story(['Europe', 'Asia'], { probe: 'probe-Europe' })],
  ])('rule 14: %s: two more failures in a row at 5 s confirm, two passes in a row close', (_, told) => {
    told.fail('Europe', 10);
    told.fail('Europe', 12);
    told.fail('Europe', 15);
    expect(told.state().incident?.confirmed_at).toBeNull();
    told.fail('Europe', 20);
    expect(told.incidents()).toMatchObject([{ started_at: at(10), confirmed_at: at(20), confirmed: null }]);
    told.pass('Europe', 30);
    told.fail('Europe', 35);
    told.pass('Europe', 40);
    expect(told.state().incident).not.toBeNull();
    told.pass('Europe', 45);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(40) }]);
    expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
    expect(told.effects('notice')).toEqual([]);
  });

  test('rule 14: where others are configured but lost it stays verifying, and the operator is told once', () => {
    const told = story(['Europe', 'Asia']);
    told.network(rosterOf(['Europe', 'Asia'], ['Asia']));
    for (let second = 10; second < 100; second += 5) told.fail('Europe', second);
    expect(told.incidents()).toMatchObject([{ confirmed_at: null, resolved_at: null }]);
    expect(told.effects('notice')).toEqual([{ is: 'notice', about: 'alone', continent: 'Europe' }]);
  });

  test('rule 14: a lone check that must not be sampled is still asked until it is decided', () => {
    const told = story(['Europe'], { sampled: false });
    told.fail('Europe', 10);
    expect(told.nextTick()).toBe(at(15.1));
    expect(told.tick(15.1)).toMatchObject([{ is: 'look', continents: ['Europe'] }]);
  });
});
