import { describe, expect, test } from 'vitest';
import { restOf, type Standing, sentenceOf } from '../../../shared/base/text.ts';
import { briefDuration, durationText } from '../../../shared/base/time.ts';

const none = { down: 0, verifying: 0, up: 0, maintenance: 0, pending: 0, paused: 0 };
const standing = (counts: Partial<Standing['counts']>, down: readonly string[] = [], verifying: readonly string[] = []): Standing => {
  const all = { ...none, ...counts };
  return { counts: { ...all, all: Object.values({ ...none, ...counts }).reduce((sum, count) => sum + count, 0) }, down, verifying };
};

describe('the sentence', () => {
  test.each([
    [standing({}), 'Nothing is watched yet.', ''],
    [standing({ up: 1 }), 'Everything is up.', ''],
    [standing({ up: 48 }), 'Everything is up.', '48 monitors.'],
    [standing({ down: 1, up: 3 }, ['Checkout']), 'Checkout is down.', '3 of 4 are up.'],
    [standing({ down: 2, up: 3 }, ['A', 'B']), 'A and B are down.', '3 of 5 are up.'],
    [standing({ down: 3 }, ['A', 'B', 'C']), 'A, B and C are down.', ''],
    [standing({ down: 12, up: 1 }, ['A', 'B', 'C']), '12 monitors are down.', '1 of 13 are up.'],
    [
      standing({ down: 1, verifying: 1, maintenance: 1, up: 45 }, ['Checkout'], ['Search API']),
      'Checkout is down.',
      'One more is being verified, one is in maintenance and 45 of 48 are up.',
    ],
    [standing({ verifying: 1, up: 1 }, [], ['Search API']), 'Search API is being verified.', '1 of 2 are up.'],
    [standing({ verifying: 4 }, [], ['a', 'b', 'c']), 'Four monitors are being verified.', ''],
    [standing({ paused: 2 }), 'Everything is paused.', ''],
    [standing({ pending: 1 }), 'Waiting for the first look.', 'One waits to be looked at.'],
    [standing({ pending: 2, up: 1 }), 'Everything that was looked at is up.', 'Two wait to be looked at and 1 of 3 are up.'],
    [standing({ maintenance: 1 }), 'Everything is in maintenance.', 'One is in maintenance.'],
    [standing({ maintenance: 1, up: 1 }), 'All that is watched is up.', 'One is in maintenance and 1 of 2 are up.'],
  ])('%#: says in the present tense whether all is well, and then the rest', (of, sentence, rest) => {
    expect([sentenceOf(of), restOf(of)]).toEqual([sentence, rest]);
  });

  test('cuts a name that would push everything else out of sight', () => {
    expect(sentenceOf(standing({ down: 1 }, ['x'.repeat(2_000)])).length).toBeLessThan(60);
  });
});

describe('a length of time', () => {
  test.each([
    [0, '0 ms', '0 s'],
    [263, '263 ms', '0 s'],
    [4_000, '4 s', '4 s'],
    [372_000, '6 min 12 s', '6 min'],
    [3_600_000, '1 h', '1 h'],
    [4_864_000, '1 h 21 min', '1 h'],
    [1_828_800_000, '21 d 4 h', '21 d'],
    [-5, '0 ms', '0 s'],
  ])('of %i ms is told by its largest units, rounded down', (ms, text, brief) => {
    expect([durationText(ms), briefDuration(ms)]).toEqual([text, brief]);
  });
});
