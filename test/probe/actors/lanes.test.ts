import { expect, test } from 'vitest';
import { createLanes } from '../../../probe/actors/lanes.ts';

test('a lane begins what it has room for at once, and the rest in order as room comes', async () => {
  const lanes = createLanes({ concurrency: 8 });
  const begun: number[] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  for (let nth = 0; nth < 5; nth += 1) {
    const end = Promise.withResolvers<void>();
    ends.push(end);
    lanes.run('fast', () => {
      begun.push(nth);
      return end.promise;
    });
  }
  expect(begun).toEqual([0, 1]);
  expect(lanes.inFlight()).toBe(2);
  // Another lane has room of its own.
  lanes.run('look', () => {
    begun.push(100);
    return Promise.resolve();
  });
  expect(begun).toEqual([0, 1, 100]);
  ends[1]?.resolve();
  await expect.poll(() => begun).toEqual([0, 1, 100, 2]);
  ends[0]?.resolve();
  ends[2]?.resolve();
  await expect.poll(() => begun).toEqual([0, 1, 100, 2, 3, 4]);
  for (const end of ends) end.resolve();
  await expect.poll(lanes.inFlight).toBe(0);
  lanes.close();
});
