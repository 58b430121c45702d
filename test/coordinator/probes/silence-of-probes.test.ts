import { describe, expect, test } from 'vitest';
import { judgeSilence } from '../../../coordinator/probes/roster.ts';

/** Rule 7: who is lost, in seconds since each was last heard. */

const now = 1_000_000;
const judge = (silent: Readonly<Record<string, number>>, listening = 100_000) =>
  judgeSilence(
    Object.entries(silent).map(([probe, seconds]) => ({ probe, at: now - seconds * 1000 })),
    now - listening,
    now,
  );
const noOne = { lost: [], busAway: false };

describe('rule 7: a probe', () => {
  test('is lost when it has been silent for fifteen seconds, and no sooner', () => {
    expect(judge({ a: 15, b: 1, c: 2 })).toEqual({ lost: ['a'], busAway: false });
    expect(judge({ a: 14.999, b: 1, c: 2 })).toEqual(noOne);
    expect(judge({})).toEqual(noOne);
  });

  test('is lost also when it is the only one', () => {
    expect(judge({ a: 15 })).toEqual({ lost: ['a'], busAway: false });
  });

  test('that was never heard counts from when we began to listen', () => {
    expect(judge({ a: 999, b: 1, c: 1 }, 14_999)).toEqual(noOne);
    expect(judge({ a: 999, b: 1, c: 1 }, 15_000)).toEqual({ lost: ['a'], busAway: false });
    // By that count these three fell silent together, whenever they were last heard.
    expect(judge({ a: 999, b: 500, c: 50, d: 1 }, 15_000)).toEqual({ lost: [], busAway: true });
  });
});

describe('rule 7: when most fall silent at once', () => {
  test('it is the bus: nobody is lost yet', () => {
    expect(judge({ a: 16, b: 15, c: 1 })).toEqual({ lost: [], busAway: true });
    expect(judge({ a: 16, b: 15, c: 14 })).toEqual({ lost: [], busAway: true });
  });

  test('half of them are not most', () => {
    expect(judge({ a: 16, b: 15, c: 1, d: 1 })).toEqual({ lost: ['a', 'b'], busAway: false });
    expect(judge({ a: 16, b: 15, c: 15, d: 1, e: 1, f: 1 })).toEqual({ lost: ['a', 'b', 'c'], busAway: false });
  });

  test('at once means within one ping and a little', () => {
    // The last of them was heard 9 s ago: who was heard 6 s before that belongs to them, who was heard earlier does not.
    expect(judge({ a: 15, b: 9, c: 1 })).toEqual({ lost: [], busAway: true });
    expect(judge({ a: 15.001, b: 9, c: 1 })).toEqual({ lost: ['a'], busAway: false });
    // Who was heard within a ping has not fallen silent.
    expect(judge({ a: 15, b: 6, c: 1 })).toEqual({ lost: ['a'], busAway: false });
  });

  test('one that was lost before them is lost all the same', () => {
    expect(judge({ a: 60, b: 16, c: 15, d: 15, e: 1 })).toEqual({ lost: ['a'], busAway: true });
  });

  test('the doubt ends after twice the time when others are heard all the while, and with the last of them', () => {
    expect(judge({ a: 31, b: 29.999, c: 1 })).toEqual({ lost: [], busAway: true });
    expect(judge({ a: 31, b: 30, c: 1 })).toEqual({ lost: ['a', 'b'], busAway: false });
  });

  test('the doubt lasts as long as nobody is heard at all', () => {
    expect(judge({ a: 64, b: 60, c: 62 })).toEqual({ lost: [], busAway: true });
  });
});
