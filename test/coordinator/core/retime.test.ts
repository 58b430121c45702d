import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { maxObservations } from '../../../coordinator/core/observations.ts';
import { places, roster, type Seen, told } from './restarted-story.ts';
import { at, story } from './story.ts';

/** Rule 3: an open incident is dated by all that is stored, as if it had come in order of start, whatever came when and whoever was restarted. */

describe('rule 3: what is handed over late dates an open incident anew', () => {
  test('by all that was stored, not only by the newest of each view', () => {
    const life = told();
    life.tell(['Asia', 100], ['Asia', 140], ['Asia', 250]);
    life.tell(['Africa', 130]);
    expect(life.dates()).toEqual([['Asia', 100, 'Africa', 130, null]]);
  });

  test('also when it is confirmed, and beginning and confirmation stay of two continents', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 110], ['Africa', 112]);
    life.tell(['Europe', 90]);
    expect(life.dates()).toEqual([['Europe', 90, 'Asia', 100, null]]);
    expect([life.evidence('seen'), life.evidence('confirmed')]).toEqual([
      { from: 'Europe', second: 90 },
      { from: 'Asia', second: 100 },
    ]);
    life.tell(['Asia', 85]);
    expect(life.dates()).toEqual([['Asia', 85, 'Europe', 90, null]]);
  });

  test('a lonely failure that turns out to have been refuted is parted from the outage', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 120, 'ok'], ['Asia', 160], ['Asia', 280]);
    life.tell(['Africa', 200]);
    expect(life.dates()).toEqual([
      ['Asia', 100, null, null, 160],
      ['Asia', 160, 'Africa', 200, null],
    ]);
  });

  test('a pass that comes after it parts it again from a failure of before', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 101]);
    life.tell(['Africa', 60]);
    expect(life.dates()).toEqual([['Africa', 60, 'Asia', 100, null]]);
    life.tell(['Africa', 70, 'ok']);
    expect(life.dates()).toEqual([['Asia', 100, 'Europe', 101, null]]);
  });

  test('passes do not take back what was told as an outage', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 130]);
    life.tell(['Asia', 110, 'ok']);
    expect(life.dates()).toEqual([['Asia', 100, 'Europe', 130, null]]);
  });

  const outage: readonly Seen[] = [
    ['Africa', 44],
    ['Asia', 45],
    ['Europe', 45.1],
    ['Africa', 71],
    ['Asia', 74],
    ['Europe', 77],
  ];

  test('passes that come late end an outage that was over before the next one began', () => {
    const life = told();
    life.tell(...outage, ['Africa', 80, 'ok'], ['Africa', 89]);
    life.tell(['Asia', 83, 'ok'], ['Europe', 86, 'ok'], ['Asia', 90.4], ['Europe', 90.5]);
    expect(life.dates()).toEqual([
      ['Africa', 44, 'Asia', 45, 83],
      ['Africa', 89, 'Asia', 90.4, null],
    ]);
  });

  test('an outage that has ended long since stays what it was, also when a restart tells of it once more', () => {
    const life = told();
    life.tell(...outage, ['Africa', 80, 'ok'], ['Asia', 83, 'ok'], ['Europe', 84, 'ok']);
    life.tell(['Africa', 89], ['Asia', 90.4], ['Europe', 90.5]);
    const dates = life.dates();
    expect(dates).toEqual([
      ['Africa', 44, 'Asia', 45, 83],
      ['Africa', 89, 'Asia', 90.4, null],
    ]);
    life.restart();
    life.tell(['Africa', 95], ['Europe', 93], ['Asia', 97]);
    expect(life.dates()).toEqual(dates);
  });

  test('the same after a restart in between; an end that is told stays as it is', () => {
    const late: readonly Seen[] = [
      ['Asia', 83, 'ok'],
      ['Europe', 86, 'ok'],
    ];
    for (const [passes, end] of [[late, 83] as const, [late.toReversed(), 86] as const]) {
      const life = told();
      life.tell(...outage, ['Africa', 80, 'ok'], ['Africa', 89]);
      life.restart();
      life.tell(...passes, ['Asia', 90.4], ['Europe', 90.5]);
      expect(life.dates()).toEqual([
        ['Africa', 44, 'Asia', 45, end],
        ['Africa', 89, 'Asia', 90.4, null],
      ]);
    }
  });

  test('a confirmation by a failure that turns out to have been over is made by the next that comes', () => {
    const life = told();
    life.tell(['Europe', 77], ['Africa', 89]);
    expect(life.dates()).toEqual([['Europe', 77, 'Africa', 89, null]]);
    life.tell(['Europe', 86, 'ok']);
    expect(life.dates()).toEqual([['Europe', 77, 'Africa', 89, null]]);
    life.tell(['Asia', 90.4]);
    expect(life.dates()).toEqual([['Africa', 89, 'Asia', 90.4, null]]);
  });

  test('rule 25: a "down" that is raised is due by the dates as they are now', () => {
    const life = story(places, { alert_after_ms: 60_000 });
    life.fail('Asia', 100);
    life.fail('Africa', 101);
    life.fail('Europe', 60, { arrives: 102 });
    life.pass('Europe', 70, { arrives: 103 });
    life.fail('Africa', 104);
    expect(life.incidents()).toMatchObject([{ started_at: at(100), confirmed_at: at(101) }]);
    expect(life.effects('alert').map((effect) => effect.event === 'down' && effect.due_at)).toEqual([at(161), at(160), at(161)]);
  });

  test('what an incident saw before a probe was quarantined counts no more', () => {
    const life = told();
    life.tell(['Asia', 100], ['Europe', 110], ['Africa', 112]);
    expect(life.state().sightings.some(({ from }) => from.continent === 'Europe')).toBe(true);
    const { state } = decide(
      life.state(),
      { is: 'quarantined', at: at(200), probe: 'probe-Europe' },
      { now: at(200), network: roster, newId: () => 'new' },
    );
    expect(state.sightings.some(({ from }) => from.continent === 'Europe')).toBe(false);
  });

  test('of a monitor that is well, or a heartbeat, nothing is remembered; of a long lonely failure no more than so much', () => {
    const life = told();
    life.tell(['Asia', 100], ['Asia', 130, 'ok']);
    expect(life.state().sightings).toEqual([]);
    const beating = story(places, { kind: 'heartbeat' });
    beating.fail('Asia', 100);
    expect(beating.state().sightings).toEqual([]);
    const lonely = story(places);
    for (let second = 100; second < 100 + 3 * maxObservations; second += 2) lonely.fail('Asia', second);
    const { sightings } = lonely.state();
    expect(sightings.length).toBeLessThanOrEqual(maxObservations);
    expect(sightings.filter(({ evidence }) => evidence !== null).length).toBeLessThanOrEqual(2);
    // Long ago: it is neither forgotten at once, nor without one beside it.
    lonely.fail('Africa', 130, { arrives: 700 });
    expect(lonely.incidents()).toMatchObject([
      { started_at: at(100), confirmed_at: at(130), seen: { continent: 'Asia' }, confirmed: { continent: 'Africa' } },
    ]);
  });

  test.each([1.5, 20])('a long lonely failure of which most is forgotten began when it began, however short its turns are', (times) => {
    const lonely = story(['Africa', 'Asia'], { interval_ms: 5_000 });
    const until = 100 + times * maxObservations;
    for (let second = 100; second < until; second += 2) {
      lonely.fail('Asia', second);
      lonely.pass('Africa', second + 1);
    }
    lonely.pass('Africa', until - 5.5, { arrives: until });
    expect(lonely.incidents()).toMatchObject([{ started_at: at(100), confirmed_at: null, resolved_at: null }]);
  });

  const second = fc.integer({ min: 10, max: 300 });
  const failures = fc.uniqueArray(fc.tuple(fc.constantFrom(...places), second), {
    selector: ([, time]) => time,
    minLength: 2,
    maxLength: 12,
  });
  const unordered: readonly Seen[] = [
    ['Asia', 269],
    ['Asia', 118],
    ['Europe', 15],
    ['Africa', 185],
    ['Asia', 84],
    ['Europe', 17],
    ['Europe', 295],
  ];
  const isAsInOrder = ([list, restart]: readonly [readonly Seen[], number]): void => {
    const life = told();
    life.tell(...list.slice(0, restart));
    life.restart();
    life.tell(...list.slice(restart));
    expect(life.dates()).toEqual(inOrderOf(list));
  };
  const inOrderOf = (list: readonly Seen[]) => {
    const life = told();
    life.tell(...list.toSorted(([, a], [, b]) => a - b));
    return life.dates();
  };

  test('what the newest of each probe saw is known after a restart, though what came last was older', () => {
    isAsInOrder([unordered, 4]);
  });

  test('in whatever order it comes, and whenever somebody is restarted, as if it had come in order', () => {
    const shuffled = failures.chain((list) => fc.tuple(fc.shuffledSubarray(list, { minLength: list.length }), fc.nat(list.length)));
    fc.assert(fc.property(shuffled, isAsInOrder), { numRuns: 300 });
  });
});
