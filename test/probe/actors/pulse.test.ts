import { expect, test } from 'vitest';
import { createPulse } from '../../../probe/actors/pulse.ts';

/** Keeps this process from doing anything else. */
const standStill = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test('a stretch in which the process stood still is known at once, and later, and not to those who began after it', async () => {
  const pulse = createPulse();
  const began = performance.now();
  standStill(800);
  const atOnce = pulse.longestGap(began);
  expect(atOnce).toBeGreaterThanOrEqual(650);
  await expect.poll(() => pulse.longestGap(performance.now())).toBeLessThan(300);
  expect(pulse.longestGap(began)).toBeGreaterThanOrEqual(650);
  pulse.stop();
});
