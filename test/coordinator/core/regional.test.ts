import { describe, expect, test } from 'vitest';
import type { Continent } from '../../../shared/base/continents.ts';
import type { Cause } from '../../../shared/checks/result.ts';
import { at, refused, rosterOf, type Story, story } from './story.ts';

/** Which of the places that fail decide about an outage: rules 45 and 46. */

const blocked: Cause = { class: 'unexpected_status', params: { status: 403, expected: '2xx' } };
const three = ['Asia', 'Europe', 'Africa'] as const satisfies readonly Continent[];
const six = [...three, 'North America', 'South America', 'Oceania'] as const;

/** Asia fails and all others pass, from one second to another. */
const blockAsia = (told: Story, others: readonly Continent[], from: number, to: number): void => {
  for (let second = from; second <= to; second += 30) {
    told.fail('Asia', second, { cause: blocked });
    for (const [nth, place] of others.entries()) told.pass(place, second + 1 + nth / 10);
  }
};

const confirmed = (told: Story) =>
  told.incidents().filter(({ confirmed_at }) => confirmed_at !== null);

describe('rule 45: a place that has failed alone for five minutes', () => {
  test('has its incident closed, and opens no other', () => {
    const told = story(three);
    blockAsia(told, ['Europe', 'Africa'], 0, 270);
    expect(told.incidents()).toMatchObject([{ resolved_at: null }]);
    blockAsia(told, ['Europe', 'Africa'], 300, 1_200);
    expect(told.incidents()).toMatchObject([
      { started_at: at(0), confirmed_at: null, note: 'seen from one continent only' },
    ]);
    expect(told.effects('alert')).toEqual([]);
  });

  test('confirms nothing: a blip of one other continent is no outage', () => {
    const told = story(three);
    blockAsia(told, ['Europe', 'Africa'], 0, 600);
    told.fail('Europe', 610);
    told.fail('Asia', 610.2, { cause: blocked });
    told.pass('Africa', 610.3);
    told.fail('Europe', 620);
    told.fail('Asia', 620.2, { cause: blocked });
    told.pass('Europe', 630);
    expect(confirmed(told)).toEqual([]);
    expect(told.incidents().at(-1)).toMatchObject({
      seen: { continent: 'Europe' },
      resolved_at: at(630),
    });
  });

  test('leaves the outage to two others, whose cause is told', () => {
    const told = story(three);
    blockAsia(told, ['Europe', 'Africa'], 0, 600);
    told.fail('Europe', 610);
    told.fail('Africa', 610.2);
    expect(confirmed(told)).toMatchObject([
      {
        seen: { continent: 'Europe' },
        confirmed: { continent: 'Africa' },
        cause: refused,
        scope: 'everywhere',
      },
    ]);
    told.pass('Europe', 700);
    told.pass('Africa', 701);
    expect(confirmed(told)).toMatchObject([{ resolved_at: at(700) }]);
    told.fail('Asia', 710, { cause: blocked });
    expect(told.state().incident).toBeNull();
  });

  test('leaves it to the only other one, which confirms by two more failures', () => {
    const told = story(['Asia', 'Europe']);
    blockAsia(told, ['Europe'], 0, 600);
    told.fail('Europe', 610);
    told.fail('Europe', 615);
    expect(confirmed(told)).toEqual([]);
    told.fail('Europe', 620);
    expect(confirmed(told)).toMatchObject([
      { started_at: at(610), confirmed_at: at(620), confirmed: null },
    ]);
  });

  test('counts again after it has passed', () => {
    const told = story(three);
    blockAsia(told, ['Europe', 'Africa'], 0, 600);
    told.pass('Asia', 610);
    told.fail('Asia', 620);
    told.fail('Europe', 620.2);
    expect(confirmed(told)).toMatchObject([{ started_at: at(620) }]);
  });

  test('has not passed meanwhile by any of its probes', () => {
    const told = story(three);
    told.fail('Asia', 0, { probe: 'cut off' });
    blockAsia(told, ['Europe', 'Africa'], 10, 40);
    for (const place of three) told.pass(place, 60);
    told.fail('Asia', 700, { probe: 'cut off', cause: blocked });
    told.pass('Africa', 700.2);
    told.tick(701);
    expect(told.state().incident).toMatchObject({ started_at: at(700) });
    told.fail('Europe', 702);
    expect(confirmed(told)).toMatchObject([{ started_at: at(700), confirmed_at: at(702) }]);
  });

  test('was not alone where another that was asked at their end fails too', () => {
    for (const answers of [
      ['Europe', 'Africa'],
      ['Africa', 'Europe'],
    ] as const) {
      const told = story(three);
      blockAsia(told, ['Europe', 'Africa'], 0, 180);
      told.fail('Asia', 300);
      for (const [nth, place] of answers.entries())
        told.result(place === 'Africa' ? 'fail' : 'ok', place, 301 + nth / 10);
      told.tick(303);
      expect(confirmed(told)).toMatchObject([{ started_at: at(300), resolved_at: null }]);
    }
  });

  test('waits for no place that cannot check, and stays regional when that is back and fails', () => {
    const told = story(three);
    told.pass('Africa', 0);
    told.network(rosterOf(three, ['Africa']));
    blockAsia(told, ['Europe'], 100, 700);
    expect(told.incidents()).toMatchObject([{ note: 'seen from one continent only' }]);
    told.network(rosterOf(three));
    for (const second of [710, 720]) {
      told.fail('Africa', second);
      told.fail('Asia', second + 0.1, { cause: blocked });
      told.pass('Europe', second + 0.2);
    }
    expect(confirmed(told)).toEqual([]);
  });

  test('nor by one that is quarantined since', () => {
    const told = story(three);
    told.fail('Asia', 0, { probe: 'seldom asked' });
    for (let second = 30; second <= 660; second += 30)
      for (const [nth, place] of three.entries()) told.pass(place, second + nth / 10);
    told.tell({ is: 'quarantined', at: at(690), probe: 'probe-Asia' }, 690);
    told.fail('Asia', 700, { probe: 'seldom asked', cause: blocked });
    told.pass('Africa', 700.2);
    told.fail('Europe', 702);
    expect(confirmed(told)).toMatchObject([{ started_at: at(700), confirmed_at: at(702) }]);
  });

  test('is one that others did not see: an outage that lasts long is not regional', () => {
    const told = story(three);
    for (let second = 0; second < 900; second += 30)
      for (const [nth, place] of three.entries()) told.fail(place, second + nth / 10);
    told.pass('Europe', 910);
    told.pass('Africa', 911);
    expect(confirmed(told)).toMatchObject([{ resolved_at: at(911) }]);
    // It is alone only from here on.
    told.fail('Asia', 920);
    expect(told.state().incident).toMatchObject({
      confirmed_at: null,
      seen: { continent: 'Asia' },
    });
    blockAsia(told, ['Europe', 'Africa'], 950, 1_300);
    expect(told.state().incident).toBeNull();
  });

  test('stays regional through an outage of the others', () => {
    const told = story(three);
    blockAsia(told, ['Europe', 'Africa'], 0, 600);
    told.fail('Europe', 610);
    told.fail('Africa', 610.2);
    told.pass('Europe', 620);
    told.pass('Africa', 620.2);
    told.fail('Asia', 625, { cause: blocked });
    told.fail('Europe', 630);
    told.pass('Africa', 630.2);
    expect(confirmed(told)).toHaveLength(1);
  });
});

test('rule 10: the cause that is told is that of the newest failure', () => {
  const told = story(three);
  told.fail('Asia', 10, { cause: blocked });
  told.fail('Europe', 11);
  expect(confirmed(told)).toMatchObject([{ cause: refused, layer: 'tcp' }]);
});

describe('rule 46: two places fail and the others pass', () => {
  /** A probe that is sick fails its other targets, too. */
  const sick = { others: { passed: 1, failed: 6 } };
  const well = { others: { passed: 40, failed: 1 } };

  /** Every choice of so many of these places. */
  const choices = (places: readonly Continent[], count: number): readonly Continent[][] =>
    count === 0
      ? [[]]
      : places.flatMap((place, index) =>
          choices(places.slice(index + 1), count - 1).map((rest) => [place, ...rest]),
        );

  /** The first failure at 10 s, and the answers of all others, in this order. */
  const asked = (
    places: readonly Continent[],
    failing: readonly Continent[],
    said: typeof sick,
    isLate: boolean,
  ): Story => {
    const told = story(places, { interval_ms: 10_000 });
    for (const [nth, place] of places.entries()) told.pass(place, nth);
    const [first = 'Asia'] = failing;
    const others = places.filter((place) => place !== first);
    const answers = isLate
      ? others.toSorted((a, b) => Number(failing.includes(b)) - Number(failing.includes(a)))
      : others;
    told.fail(first, 10, said);
    const look = told.effects('look').at(-1)?.look ?? null;
    for (const [nth, place] of answers.entries())
      if (failing.includes(place)) told.fail(place, 10.1 + nth / 20, { ...said, look });
      else told.pass(place, 10.1 + nth / 20, { look });
    return told;
  };

  test.each([{ places: three }, { places: six }])(
    'two sick probes of $places never make an outage',
    ({ places }) => {
      for (const failing of choices(places, 2))
        for (const isLate of [false, true]) {
          const told = asked(places, failing, sick, isLate);
          for (let second = 20; second < 1_000; second += 10) {
            for (const [nth, place] of places.entries())
              if (failing.includes(place)) told.fail(place, second + nth / 10, sick);
              else told.pass(place, second + nth / 10);
            told.tick(second + 5);
          }
          expect(confirmed(told)).toEqual([]);
        }
    },
  );

  test.each([{ places: three }, { places: six }])(
    'of $places, a site that is gone for any two or more of them is an outage',
    ({ places }) => {
      for (let count = 2; count <= places.length; count += 1)
        for (const failing of choices(places, count))
          expect(confirmed(asked(places, failing, well, false))).toMatchObject([
            { started_at: at(10) },
          ]);
    },
  );

  test.each([{ places: three }, { places: six }])(
    'of $places, what all of them see is confirmed, whatever the probes know of themselves',
    ({ places }) => {
      const told = asked(places, places, sick, false);
      expect(confirmed(told)).toMatchObject([{ started_at: at(10), confirmed_at: at(10.1) }]);
    },
  );

  test.each([{ isLate: false }, { isLate: true }])(
    'those who fail are asked once more, and confirm once they are shown to be well, late: $isLate',
    ({ isLate }) => {
      const told = asked(three, ['Asia', 'Europe'], sick, isLate);
      expect(told.effects('look').at(-1)).toMatchObject({
        why: 'again',
        places: ['Asia', 'Europe'],
      });
      told.fail('Asia', 10.6, well);
      expect(confirmed(told)).toEqual([]);
      told.fail('Europe', 10.7, well);
      expect(confirmed(told)).toMatchObject([{ started_at: at(10), confirmed_at: at(10.7) }]);
    },
  );

  test('what all see costs one question, however slowly they answer', () => {
    const told = story(three, { interval_ms: 60_000 });
    told.fail('Asia', 10, sick);
    const look = told.effects('look')[0]?.look ?? null;
    told.fail('Europe', 11, { ...sick, look, arrives: 16 });
    told.fail('Africa', 11, { ...sick, look, arrives: 18 });
    expect(confirmed(told)).toHaveLength(1);
    expect(told.effects('look')).toMatchObject([{ why: 'first', places: ['Africa', 'Europe'] }]);
  });

  test('a third that fails confirms', () => {
    const told = asked(three, ['Asia', 'Europe'], sick, false);
    told.fail('Africa', 20, sick);
    expect(confirmed(told)).toHaveLength(1);
  });

  test('a place that does not answer is waited for until it would be lost', () => {
    const told = story(three, { interval_ms: 10_000 });
    told.fail('Asia', 10, sick);
    told.fail('Europe', 10.1, sick);
    told.fail('Asia', 34, sick);
    expect(confirmed(told)).toEqual([]);
    told.fail('Europe', 36, sick);
    expect(confirmed(told)).toHaveLength(1);
  });

  test('so is one that answers that it does not know', () => {
    const told = story(three, { interval_ms: 10_000 });
    told.fail('Asia', 10, sick);
    const look = told.effects('look')[0]?.look ?? '';
    told.result('unknown', 'Africa', 10.1, { look });
    told.fail('Europe', 10.2, sick);
    told.fail('Asia', 20, sick);
    expect(confirmed(told)).toEqual([]);
  });

  test('a place that passed counts until it would be lost, however short its turns are', () => {
    const told = story(three, { interval_ms: 1_000 });
    told.fail('Asia', 10, sick);
    told.pass('Africa', 10.1);
    for (let second = 10.2; second < 50; second += 3) {
      told.fail('Europe', second, sick);
      told.pass('Africa', second + 1);
      told.fail('Asia', second + 2, sick);
    }
    // It stands still for more than two turns.
    for (let second = 51; second < 70; second += 3) {
      told.fail('Europe', second, sick);
      told.fail('Asia', second + 2, sick);
    }
    expect(confirmed(told)).toEqual([]);
    told.fail('Asia', 79, sick);
    told.fail('Europe', 80, sick);
    expect(confirmed(told)).toHaveLength(1);
  });

  test('a late result leaves a confirmation where it was told', () => {
    const told = story(three, { interval_ms: 10_000 });
    told.fail('Asia', 10, sick);
    for (const second of [10.1, 23, 33, 43, 53]) {
      told.fail('Europe', second, sick);
      told.fail('Asia', second + 7, sick);
    }
    expect(confirmed(told)).toMatchObject([{ confirmed_at: at(33) }]);
    told.fail('Asia', 45, { ...sick, arrives: 61 });
    expect(confirmed(told)).toMatchObject([{ started_at: at(10), confirmed_at: at(33) }]);
  });

  test('a coordinator that takes over waits for an answer that it has not read yet', () => {
    const told = story(three);
    told.fail('Asia', 10, sick);
    for (const second of [70, 190]) {
      told.fail('Europe', second, { ...sick, arrives: 300 });
      told.pass('Africa', second + 20, { arrives: 300 });
      told.fail('Asia', second + 40, { ...sick, arrives: 300 });
    }
    expect(confirmed(told)).toEqual([]);
  });

  test('a coordinator that starts anew does not take the failures of two sick probes for those of well ones', () => {
    const told = story(three, { interval_ms: 10_000 });
    told.fail('Asia', 10, sick);
    told.fail('Europe', 10.2, sick);
    told.pass('Africa', 10.3);
    told.pass('Europe', 20);
    expect(told.state().incident).toMatchObject({ confirmed_at: null });
    told.restart();
    told.fail('Asia', 22, sick);
    // It comes late, and decides the past again.
    told.pass('Africa', 15, { arrives: 30 });
    expect(confirmed(told)).toEqual([]);
  });

  test('where nobody else is left to ask, two confirm as ever', () => {
    const told = story(three);
    told.network(rosterOf(three, ['Africa']));
    told.fail('Asia', 10, sick);
    told.fail('Europe', 10.1, sick);
    expect(confirmed(told)).toHaveLength(1);
  });
});

describe('rule 44.8: a place that fails alone for ten minutes is told', () => {
  const told = (life: Story) =>
    life.effects('warning').map(({ change, warning: { code, since, details }, ended_at }) => ({
      ...{ change, code, since, ended_at },
      places: details.places,
      cause: details.cause,
    }));
  const begun = {
    change: 'begun',
    code: 'place_fails',
    since: at(0),
    places: 'Asia',
    cause: 'Status 403, expected 2xx',
    ended_at: null,
  };

  test('once, named with its cause, until it passes', () => {
    const life = story(three);
    blockAsia(life, ['Europe', 'Africa'], 0, 570);
    expect(told(life)).toEqual([]);
    blockAsia(life, ['Europe', 'Africa'], 600, 1_200);
    expect(told(life)).toEqual([begun]);
    expect(life.effects('alert')).toEqual([]);
    life.pass('Asia', 1_210);
    expect(told(life)).toMatchObject([begun, { change: 'ended', ended_at: at(1_210) }]);
    expect(life.state().warnings).toEqual([]);
  });

  test('after three turns of a slow monitor', () => {
    const life = story(three, { interval_ms: 600_000 });
    blockAsia(life, ['Europe', 'Africa'], 0, 5_380);
    expect(told(life)).toEqual([]);
    blockAsia(life, ['Europe', 'Africa'], 5_400, 5_430);
    expect(told(life)).toEqual([begun]);
  });

  test('and ends when it is left out', () => {
    const life = story(three);
    blockAsia(life, ['Europe', 'Africa'], 0, 630);
    const watched = { ...life.state().watched, continents: ['Europe', 'Africa'] as const };
    life.tell(
      { is: 'edited', at: at(640), changed: true, watched: { ...watched, config_version: 2 } },
      640,
    );
    life.pass('Europe', 650);
    expect(told(life)).toMatchObject([begun, { change: 'ended' }]);
  });

  test('but not where others do not pass, nor during an outage of all', () => {
    const life = story(three);
    for (let second = 0; second < 1_200; second += 30)
      for (const [nth, place] of three.entries()) life.fail(place, second + nth / 10);
    expect(told(life)).toEqual([]);
    const lone = story(['Asia']);
    for (let second = 0; second < 1_200; second += 30) lone.fail('Asia', second);
    expect(told(lone)).toEqual([]);
  });
});
