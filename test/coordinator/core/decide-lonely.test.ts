import { describe, expect, test } from 'vitest';
import { at, rosterOf, story } from './story.ts';

/** Rules 9 to 11 and 14: an incident that is not confirmed yet, who confirms it when several could, and who is asked. */

const asked = (told: ReturnType<typeof story>, why: string) => told.effects('look').filter((look) => look.why === why);

describe('rule 10: when several could confirm', () => {
  test('it is the earliest of those beside the continent that saw it first', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.pass('Africa', 1);
    told.fail('Europe', 10);
    told.fail('Asia', 100);
    told.fail('Africa', 165);
    expect(told.state().incident?.confirmed_at).toBeNull();
    told.fail('Europe', 160, { arrives: 166 });
    expect(told.incidents()).toMatchObject([{ started_at: at(10), confirmed_at: at(100), confirmed: { continent: 'Asia' } }]);
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
      { started_at: at(70), seen: { continent: 'Europe' }, confirmed_at: at(125), confirmed: { continent: 'Africa' } },
    ]);
    // The new incident has a matrix of its own.
    expect(asked(told, 'first').at(-1)?.continents).toEqual(['Africa', 'Asia']);
  });

  test('a refuted one that its continent sees no longer is parted at the earlier of the two others', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    told.pass('Asia', 20);
    told.fail('Asia', 200);
    told.fail('Africa', 230);
    expect(told.incidents()).toMatchObject([
      { started_at: at(10), resolved_at: at(200), note: 'seen from one continent only' },
      { started_at: at(200), seen: { continent: 'Asia' }, confirmed_at: at(230), confirmed: { continent: 'Africa' } },
    ]);
    expect(asked(told, 'first').at(-1)?.continents).toEqual(['Africa', 'Europe']);
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
        ...{ started_at: at(130), seen: { continent: 'Africa' }, confirmed_at: at(130), confirmed: { continent: 'Asia' } },
        ...{ scope: 'some_continents', progress: { failed: ['Africa', 'Asia'], passed: [] } },
      },
    ]);
  });

  test('whoever fails more than a minute apart confirms nothing and counts for the scope', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    told.fail('Asia', 100);
    expect(told.incidents()).toMatchObject([
      { confirmed_at: null, scope: 'some_continents', progress: { failed: ['Europe', 'Asia'], passed: [] } },
    ]);
    told.pass('Africa', 101);
    expect(told.incidents()).toMatchObject([{ scope: 'some_continents', progress: { passed: ['Africa'] } }]);
    expect(told.pass('Africa', 102)).toEqual([]);
  });
});

describe('rule 9: who is asked, and when', () => {
  test('again with each further failure, but not within a second, and not once it is confirmed', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10, { arrives: 10.1 });
    told.fail('Europe', 11, { arrives: 11.099 });
    expect(asked(told, 'again')).toEqual([]);
    told.fail('Europe', 11.05, { arrives: 11.1 });
    expect(asked(told, 'again')).toMatchObject([{ continents: ['Africa', 'Asia'] }]);
    told.fail('Asia', 20);
    expect(asked(told, 'again')).toHaveLength(1);
  });

  test('about what started two turns ago at most', () => {
    for (const [arrives, looks] of [
      [250, 1],
      [250.001, 0],
    ] as const) {
      const told = story(['Europe', 'Asia']);
      told.fail('Europe', 10, { arrives });
      expect(asked(told, 'first')).toHaveLength(looks);
      told.fail('Europe', 10.5, { arrives: arrives + 2 });
      expect(asked(told, 'again')).toEqual([]);
    }
  });

  test('about nothing that was handed over, however young', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10);
    told.fail('Europe', 20, { handed_over: true, arrives: 40 });
    expect(asked(told, 'again')).toEqual([]);
    told.fail('Europe', 41);
    expect(asked(told, 'again')).toHaveLength(1);
  });

  test('rule 14: nobody where there is nobody else, and then there is no matrix', () => {
    const told = story(['Europe']);
    told.fail('Europe', 10);
    expect(told.effects('look')).toEqual([]);
    expect(told.effects('notice')).toEqual([]);
    expect(told.state().incident?.progress.matrix).toBeNull();
  });

  test('rule 14: the operator is told once that all others are lost, from the first or later', () => {
    const lost = rosterOf(['Europe', 'Asia'], ['Asia']);
    for (const before of [true, false]) {
      const told = story(['Europe', 'Asia']);
      if (before) told.network(lost);
      told.fail('Europe', 10);
      told.network(lost);
      for (const second of [30, 60, 90]) told.fail('Europe', second);
      expect(told.effects('notice')).toEqual([{ is: 'notice', about: 'alone', continent: 'Europe' }]);
      expect(told.state().incident?.confirmed_at).toBeNull();
    }
  });

  test('rule 11: whoever else still fails, when it closes; not the past, and not who is lost', () => {
    const closing = (told: ReturnType<typeof story>, handed_over = false) => {
      told.fail('Europe', 10);
      told.fail('Asia', 100);
      told.pass('Europe', 110, { handed_over });
      expect(told.incidents()).toMatchObject([{ resolved_at: at(110) }]);
      return asked(told, 'recovery').map(({ continents }) => continents);
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
  test('not while the past is still being told: five seconds after its last word, dated all the same', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 10, { handed_over: true, arrives: 500 });
    told.tick(504.999);
    expect(told.state().incident).not.toBeNull();
    expect(told.nextTick()).toBe(at(505));
    told.tick(505);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(250), note: 'no longer observed' }]);
  });

  test('when its continent may not check it any more: two turns after it began', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 10);
    const watched = { ...told.state().watched, continents: ['Asia', 'Africa'] as const };
    told.tell({ is: 'edited', at: at(20), watched, changed: false }, 20);
    told.tick(249.999);
    expect(told.state().incident).not.toBeNull();
    told.tick(250);
    expect(told.incidents()).toMatchObject([{ resolved_at: at(250), note: 'no longer observed' }]);
  });
});
