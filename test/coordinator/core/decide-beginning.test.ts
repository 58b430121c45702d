import { describe, expect, test } from 'vitest';
import type { Cause } from '../../../shared/checks/result.ts';
import { at, story } from './story.ts';

/** Rule 3: where an unconfirmed incident begins when older failures come, to the millisecond: as if all had come in order of start. */

const expired: Cause = { class: 'certificate_expired', params: {} };
const beginsAt = (told: ReturnType<typeof story>) => told.incidents().map(({ started_at }) => (started_at - at(0)) / 1000);

describe('rule 3: an older failure', () => {
  test('brings along what it saw: its place, cause and layer', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 100);
    told.fail('Asia', 20, { cause: expired, arrives: 101 });
    expect(told.incidents()).toMatchObject([
      {
        ...{ started_at: at(20), confirmed_at: null, seen: { continent: 'Asia' }, cause: expired, layer: 'tls' },
        ...{ scope: 'some_continents', progress: { failed: ['Europe', 'Asia'] } },
      },
    ]);
    expect(told.effects('incident').at(-1)?.change).toBe('moved');
  });

  test('moves the beginning back as far as its continent was observed all the while: two turns from one to the next', () => {
    const told = story(['Europe', 'Asia']);
    told.fail('Europe', 500);
    told.fail('Europe', 259.999, { arrives: 501 });
    expect(beginsAt(told)).toEqual([500]);
    told.fail('Europe', 260, { arrives: 501 });
    expect(beginsAt(told)).toEqual([259.999]);
    const alone = story(['Europe', 'Asia']);
    alone.fail('Europe', 500);
    alone.fail('Europe', 260, { arrives: 501 });
    expect(beginsAt(alone)).toEqual([260]);
  });

  test('is parted from the incident by a pass between them, and by none that started with one of the two', () => {
    const parted = (second: number) => {
      const told = story(['Europe', 'Asia']);
      told.pass('Europe', second, { probe: 'second' });
      told.fail('Europe', 20);
      told.fail('Europe', 10, { arrives: 21 });
      return beginsAt(told);
    };
    expect(parted(9)).toEqual([10]);
    expect(parted(10)).toEqual([10]);
    expect(parted(10.001)).toEqual([20]);
    expect(parted(19.999)).toEqual([20]);
    expect(parted(20)).toEqual([10]);
  });

  test('is parted by passes of its own continent alone', () => {
    const third = story(['Europe', 'Asia', 'Africa']);
    third.pass('Africa', 15);
    third.fail('Europe', 20);
    third.fail('Europe', 10, { arrives: 21 });
    expect(beginsAt(third)).toEqual([10]);
    const seeing = story(['Europe', 'Asia', 'Africa']);
    seeing.pass('Europe', 15);
    seeing.fail('Europe', 20);
    seeing.fail('Asia', 10, { arrives: 21 });
    expect(seeing.incidents()).toMatchObject([
      { started_at: at(10), seen: { continent: 'Asia' }, confirmed_at: at(20), confirmed: { continent: 'Europe' } },
    ]);
    const other = story(['Europe', 'Asia', 'Africa']);
    other.fail('Europe', 200);
    other.pass('Asia', 130, { arrives: 201 });
    other.fail('Asia', 110, { probe: 'second', arrives: 202 });
    expect(beginsAt(other)).toEqual([200]);
    other.fail('Asia', 135, { arrives: 203 });
    other.fail('Asia', 120, { probe: 'third', arrives: 204 });
    expect(beginsAt(other)).toEqual([135]);
  });

  test('is parted by a pass of its own continent, which has failed again since', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.pass('Asia', 130);
    told.fail('Europe', 200);
    told.fail('Asia', 270);
    told.fail('Asia', 110, { probe: 'second', arrives: 271 });
    expect(told.incidents()).toMatchObject([{ started_at: at(200), seen: { continent: 'Europe' }, confirmed_at: null }]);
  });

  test('is the beginning also when its own continent has passed since: two had seen it by then', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 20);
    told.pass('Asia', 30);
    told.fail('Asia', 15, { probe: 'second', arrives: 31 });
    expect(told.incidents()).toMatchObject([{ started_at: at(15), confirmed_at: at(20), confirmed: { continent: 'Europe' } }]);
    // Not an outage of now: one of the two passes.
    expect(told.effects('alert')).toEqual([]);
  });

  test('leaves it refuted if it was, and refutes it if somebody had passed since', () => {
    const refuted = (told: ReturnType<typeof story>) => told.state().incident?.progress.refuted;
    const before = story(['Europe', 'Asia', 'Africa']);
    before.fail('Europe', 20);
    before.pass('Asia', 21);
    before.fail('Europe', 20 - 5, { arrives: 22 });
    expect([beginsAt(before), refuted(before)]).toEqual([[15], true]);
    const forgotten = story(['Europe', 'Asia', 'Africa']);
    forgotten.fail('Europe', 20);
    forgotten.pass('Asia', 21);
    forgotten.tell({ is: 'quarantined', at: at(22), probe: 'probe-Asia' }, 22);
    forgotten.fail('Europe', 15, { arrives: 23 });
    expect([beginsAt(forgotten), refuted(forgotten)]).toEqual([[15], true]);
    const since = story(['Europe', 'Asia', 'Africa']);
    since.pass('Asia', 17);
    since.fail('Europe', 20);
    expect(refuted(since)).toBe(false);
    since.fail('Europe', 15, { arrives: 21 });
    expect([beginsAt(since), refuted(since)]).toEqual([[15], true]);
    const never = story(['Europe', 'Asia', 'Africa']);
    never.pass('Asia', 14);
    never.fail('Europe', 20);
    never.fail('Europe', 15, { arrives: 21 });
    expect(refuted(never)).toBe(false);
  });

  test('that is as old as the incident moves nothing', () => {
    const told = story(['Europe', 'Asia', 'Africa']);
    told.fail('Europe', 200);
    told.fail('Europe', 200, { probe: 'second' });
    expect(told.effects('incident').map(({ change }) => change)).toEqual(['opened']);
  });
});
