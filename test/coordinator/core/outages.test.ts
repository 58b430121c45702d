import { describe, expect, test } from 'vitest';
import { type Seen, told } from './restarted-story.ts';
import { at, rosterOf, story } from './story.ts';

describe('decide outages', () => {
  test('rule 15: who passes long after the confirmation saw the recovery, and does not count', () => {
    for (const [second, passed] of [
      [60, ['Africa']],
      [80, []],
    ] as const) {
      const told = story(['Africa', 'Asia', 'Europe'], { interval_ms: 600_000 });
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.pass('Africa', second);
      expect(told.incidents()).toMatchObject([
        { confirmed_at: at(11), scope: 'some_continents', progress: { passed } },
      ]);
    }
  });

  describe('rule 12: the end of an outage', () => {
    const four = ['Europe', 'Asia', 'Africa', 'Oceania'] as const;

    test('rule 12: two passes end it, at the check with which fewer than two failed', () => {
      const told = story();
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.pass('Asia', 100);
      expect(told.state().incident).not.toBeNull();
      told.pass('Europe', 101);
      expect(told.incidents()).toMatchObject([{ resolved_at: at(100), note: null }]);
      expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
    });

    test('rule 12: the first pass of a failing continent asks all others to recheck at once', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Asia', 11);
      told.fail('Africa', 12);
      told.pass('Asia', 100);
      expect(told.effects('look').at(-1)).toMatchObject({
        why: 'recovery',
        places: ['Africa', 'Europe'],
      });
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
      expect(told.incidents()).toMatchObject([
        { confirmed_at: at(15), resolved_at: null, scope: 'some_continents' },
      ]);
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
      const told = story();
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

    test('rule 12: a continent that fails again restarts the end', () => {
      const told = story();
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
      for (
        let next = told.nextTick();
        next !== null && next < at(until) && times.length < 1000;
        next = told.nextTick()
      ) {
        const looks = told
          .tick((next - at(0)) / 1000)
          .filter((effect) => effect.is === 'look' && effect.why === 'sample');
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

    test.each([
      ['a 503 with Retry-After', { status: 503, retry_after_s: 40 }, [40, 45]],
      ['a 503 that asks for longer than ten minutes', { status: 503, retry_after_s: 3_600 }, [600]],
      ['a 429 without it', { status: 429 }, [60, 65]],
      ['a 503 without it', { status: 503 }, [5, 10]],
    ])('rule 13: slows down where the target limits our probes: %s', (_, params, first) => {
      const told = story(['Europe', 'Asia', 'North America']);
      const cause = { class: 'unexpected_status', params: { expected: '2xx', ...params } };
      told.fail('Europe', 0, { arrives: 0, cause });
      told.fail('Asia', 0.5, { arrives: 0, cause });
      expect(samples(told, 700).slice(0, first.length)).toEqual(first);
    });

    test('rule 13: a page of a firewall slows it down, and asks no others again', () => {
      const told = story(['Europe', 'Asia', 'North America']);
      const cause = { class: 'blocked_by_firewall', params: { vendor: 'Cloudflare', status: 403 } };
      told.fail('Europe', 0, { arrives: 0, cause });
      told.pass('Asia', 0.5);
      told.pass('North America', 0.5);
      const asked = told.effects('look').length;
      told.fail('Europe', 30, { arrives: 30, cause });
      expect(told.effects('look')).toHaveLength(asked);
      expect(samples(told, 200)[0]).toBe(90);
    });

    test('rule 13: it goes round the continents', () => {
      const told = down({});
      samples(told, 26);
      const sampled = told.effects('look').filter(({ why }) => why === 'sample');
      expect(sampled.map(({ places }) => places[0])).toEqual([
        'Asia',
        'Europe',
        'Asia',
        'Europe',
        'Asia',
      ]);
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
    ])(
      'rule 14: %s: two more failures in a row at 5 s confirm, two passes in a row close',
      (_, told) => {
        told.fail('Europe', 10);
        told.fail('Europe', 12);
        told.fail('Europe', 15);
        expect(told.state().incident?.confirmed_at).toBeNull();
        told.fail('Europe', 20);
        expect(told.incidents()).toMatchObject([
          { started_at: at(10), confirmed_at: at(20), confirmed: null },
        ]);
        told.pass('Europe', 30);
        told.fail('Europe', 35);
        told.pass('Europe', 40);
        expect(told.state().incident).not.toBeNull();
        told.pass('Europe', 45);
        expect(told.incidents()).toMatchObject([{ resolved_at: at(40) }]);
        expect(told.effects('alert').map(({ event }) => event)).toEqual(['down', 'up']);
        expect(told.effects('notice')).toEqual([]);
      },
    );

    test('rule 14: where others are configured but lost it stays verifying, and the operator is notified once', () => {
      const told = story();
      told.network(rosterOf(['Europe', 'Asia'], ['Asia']));
      for (let second = 10; second < 100; second += 5) told.fail('Europe', second);
      expect(told.incidents()).toMatchObject([{ confirmed_at: null, resolved_at: null }]);
      expect(told.effects('notice')).toEqual([
        { is: 'notice', about: 'alone', continent: 'Europe' },
      ]);
    });

    test('rule 14: a lone check that must not be sampled is still asked until it is decided', () => {
      const told = story(['Europe'], { sampled: false });
      told.fail('Europe', 10);
      expect(told.nextTick()).toBe(at(15.1));
      expect(told.tick(15.1)).toMatchObject([{ is: 'look', places: ['Europe'] }]);
    });
  });
});

/**
 * Rules 9 to 11 and 14: an incident that is not confirmed yet, who confirms it when several could,
 * and who is asked.
 */
describe('decide lonely', () => {
  const asked = (told: ReturnType<typeof story>, why: string) =>
    told.effects('look').filter((look) => look.why === why);

  describe('rule 10: when several could confirm', () => {
    test('it is the earliest of those beside the continent that saw it first', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.pass('Africa', 1);
      told.fail('Europe', 10);
      told.fail('Asia', 100);
      told.fail('Africa', 165);
      expect(told.state().incident?.confirmed_at).toBeNull();
      told.fail('Europe', 160, { arrives: 166 });
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), confirmed_at: at(100), confirmed: { continent: 'Asia' } },
      ]);
    });

    test('a refuted one is parted at the latest failure of the continent that saw it, though two others see it too', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.pass('Asia', 1);
      told.fail('Europe', 10);
      told.pass('Asia', 20);
      told.fail('Europe', 70);
      told.fail('Asia', 131);
      told.fail('Africa', 125, { arrives: 132 });
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), resolved_at: at(70), note: 'seen from one continent only' },
        {
          started_at: at(70),
          seen: { continent: 'Europe' },
          confirmed_at: at(125),
          confirmed: { continent: 'Africa' },
        },
      ]);
      // The new incident has a matrix of its own.
      expect(asked(told, 'first').at(-1)?.places).toEqual(['Africa', 'Asia']);
    });

    test('a refuted one that its continent sees no longer is parted at the earlier of the two others', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.pass('Asia', 20);
      told.fail('Asia', 200);
      told.fail('Africa', 230);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), resolved_at: at(200), note: 'seen from one continent only' },
        {
          started_at: at(200),
          seen: { continent: 'Asia' },
          confirmed_at: at(230),
          confirmed: { continent: 'Africa' },
        },
      ]);
      expect(asked(told, 'first').at(-1)?.places).toEqual(['Africa', 'Europe']);
    });

    test('one that opens beside a failure of within a minute is confirmed at once', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Asia', 100);
      told.pass('Europe', 110);
      told.fail('Africa', 130);
      expect(told.incidents()).toMatchObject([
        { started_at: at(10), confirmed_at: null, resolved_at: at(110) },
        {
          started_at: at(130),
          seen: { continent: 'Africa' },
          confirmed_at: at(130),
          confirmed: { continent: 'Asia' },
          scope: 'some_continents',
          progress: { failed: ['Africa', 'Asia'], passed: [] },
        },
      ]);
    });

    test('a failure more than a minute apart confirms nothing and counts for the scope', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      told.fail('Asia', 100);
      expect(told.incidents()).toMatchObject([
        {
          confirmed_at: null,
          scope: 'some_continents',
          progress: { failed: ['Europe', 'Asia'], passed: [] },
        },
      ]);
      told.pass('Africa', 101);
      expect(told.incidents()).toMatchObject([
        { scope: 'some_continents', progress: { passed: ['Africa'] } },
      ]);
      expect(told.pass('Africa', 102)).toEqual([]);
    });
  });

  describe('rule 9: which continents are asked, and when', () => {
    test('again with each further failure, but not within a second, and not once it is confirmed', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10, { arrives: 10.1 });
      told.fail('Europe', 11, { arrives: 11.099 });
      expect(asked(told, 'again')).toEqual([]);
      told.fail('Europe', 11.05, { arrives: 11.1 });
      expect(asked(told, 'again')).toMatchObject([{ places: ['Africa', 'Asia'] }]);
      told.fail('Asia', 20);
      expect(asked(told, 'again')).toHaveLength(1);
    });

    test('about what started two turns ago at most', () => {
      for (const [arrives, looks] of [
        [250, 1],
        [250.001, 0],
      ] as const) {
        const told = story();
        told.fail('Europe', 10, { arrives });
        expect(asked(told, 'first')).toHaveLength(looks);
        told.fail('Europe', 10.5, { arrives: arrives + 2 });
        expect(asked(told, 'again')).toEqual([]);
      }
    });

    test('about nothing that was handed over, however young', () => {
      const told = story();
      told.fail('Europe', 10);
      told.fail('Europe', 20, { handed_over: true, arrives: 40 });
      expect(asked(told, 'again')).toEqual([]);
      told.fail('Europe', 41);
      expect(asked(told, 'again')).toHaveLength(1);
    });

    test('rule 14: none where there is no other, and then there is no matrix', () => {
      const told = story(['Europe']);
      told.fail('Europe', 10);
      expect(told.effects('look')).toEqual([]);
      expect(told.effects('notice')).toEqual([]);
      expect(told.state().incident?.progress.matrix).toBeNull();
    });

    test('rule 14: the operator is notified once that all others are lost, from the first or later', () => {
      const lost = rosterOf(['Europe', 'Asia'], ['Asia']);
      for (const before of [true, false]) {
        const told = story();
        if (before) told.network(lost);
        told.fail('Europe', 10);
        told.network(lost);
        for (const second of [30, 60, 90]) told.fail('Europe', second);
        expect(told.effects('notice')).toEqual([
          { is: 'notice', about: 'alone', continent: 'Europe' },
        ]);
        expect(told.state().incident?.confirmed_at).toBeNull();
      }
    });

    test('rule 11: every continent that still fails, when it closes; not for the past, and not a lost one', () => {
      const closing = (told: ReturnType<typeof story>, handed_over = false) => {
        told.fail('Europe', 10);
        told.fail('Asia', 100);
        told.pass('Europe', 110, { handed_over });
        expect(told.incidents()).toMatchObject([{ resolved_at: at(110) }]);
        return asked(told, 'recovery').map(({ places }) => places);
      };
      expect(closing(story(['Europe', 'Asia', 'Africa']))).toEqual([['Asia']]);
      expect(closing(story(['Europe', 'Asia', 'Africa']), true)).toEqual([]);
      const told = story(['Europe', 'Asia', 'Africa']);
      told.network(rosterOf(['Europe', 'Asia', 'Africa'], ['Asia']));
      expect(closing(told)).toEqual([]);
    });
  });

  describe('rule 14: the only continent', () => {
    test.each([
      [4.5, true],
      [4.499, false],
    ])('confirms with failures %d s apart: %s', (distance, confirms) => {
      const told = story(['Europe']);
      told.fail('Europe', 10);
      told.fail('Europe', 10 + distance);
      expect(told.state().incident?.progress.run).toBe(confirms ? 1 : 0);
      told.fail('Europe', 10 + 2 * distance);
      expect(told.state().incident?.confirmed_at).toBe(confirms ? at(19) : null);
    });
  });

  describe('rule 11: no longer observed', () => {
    test('not while the past is still being handed over: five seconds after its last message, with the same time', () => {
      const told = story();
      told.fail('Europe', 10, { handed_over: true, arrives: 500 });
      told.tick(504.999);
      expect(told.state().incident).not.toBeNull();
      expect(told.nextTick()).toBe(at(505));
      told.tick(505);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(250), note: 'no longer observed' },
      ]);
    });

    test('when its continent may not check it any more: two turns after it began', () => {
      const told = story(['Europe', 'Asia', 'Africa']);
      told.fail('Europe', 10);
      const watched = { ...told.state().watched, continents: ['Asia', 'Africa'] as const };
      told.tell({ is: 'edited', at: at(20), watched, changed: false }, 20);
      told.tick(249.999);
      expect(told.state().incident).not.toBeNull();
      told.tick(250);
      expect(told.incidents()).toMatchObject([
        { resolved_at: at(250), note: 'no longer observed' },
      ]);
    });
  });
});

describe('rule 3: a late failure from within a confirmed outage that is over is an incident of its own', () => {
  const over: readonly Seen[] = [
    ['Asia', 100],
    ['Africa', 101],
    ['Asia', 137, 'ok'],
    ['Africa', 138, 'ok'],
  ];
  const outage = ['Asia', 100, 'Africa', 101, 137];

  test('and is not confirmed by the earlier outage', () => {
    const life = told();
    life.tell(...over, ['Europe', 135], ['Asia', 135.3], ['Europe', 136]);
    expect(life.dates()).toEqual([outage, ['Europe', 135, null, null, null]]);
    life.tell(['Asia', 151], ['Europe', 139, 'ok'], ['Europe', 152]);
    expect(life.dates()).toEqual([outage, ['Asia', 151, 'Europe', 152, null]]);
  });

  test('and confirms no later one, also after a restart', () => {
    for (const isRestarted of [false, true]) {
      const life = told();
      life.tell(...over, ['Europe', 136]);
      if (isRestarted) life.restart();
      life.tell(['Asia', 151]);
      expect(life.dates()).toEqual([outage, ['Europe', 136, null, null, null]]);
      life.tell(['Europe', 139, 'ok'], ['Europe', 152]);
      expect(life.dates()).toEqual([outage, ['Asia', 151, 'Europe', 152, null]]);
    }
  });

  test('also when the next has begun by then', () => {
    for (const isRestarted of [false, true]) {
      const life = told();
      life.tell(...over, ['Asia', 151]);
      if (isRestarted) life.restart();
      life.tell(['Europe', 136], ['Asia', 135.3]);
      expect(life.dates()).toEqual([outage, ['Asia', 151, null, null, null]]);
      life.tell(['Europe', 139, 'ok'], ['Europe', 152]);
      expect(life.dates()).toEqual([outage, ['Asia', 151, 'Europe', 152, null]]);
    }
  });
});
