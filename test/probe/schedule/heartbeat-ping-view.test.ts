import { expect, test } from 'vitest';
import { settlingAfter } from '../../../probe/schedule/heartbeats.ts';

test('a view of the pings settles the longer, the longer the bus was away, and never for long', () => {
  expect([0, 1_000, 60_000, 300_000, 3_600_000].map((away) => settlingAfter(away, 5_000))).toEqual([5_000, 5_100, 11_000, 35_000, 35_000]);
});
