import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPulse } from '../../../probe/presence/clock.ts';

/** Keeps this process from doing anything else. */
const standStill = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test('a stretch in which the process stood still is known at once, and later, and not to those who began after it', async () => {
  const pulse = createPulse();
  const began = performance.now();
  standStill(800);
  const atOnce = pulse.heldUp(began).longest;
  expect(atOnce).toBeGreaterThanOrEqual(650);
  await expect.poll(() => pulse.heldUp(performance.now()).inAll).toBeLessThan(300);
  expect(pulse.heldUp(began).longest).toBeGreaterThanOrEqual(650);
  pulse.stop();
});

test('many short ones, none of them long enough to be told by itself, hold a check up together, as each of its steps waits', async () => {
  const pulse = createPulse();
  const began = performance.now();
  for (let turn = 0; turn < 20; turn++) {
    standStill(180);
    await setImmediate();
  }
  expect(pulse.heldUp(began).inAll).toBeGreaterThanOrEqual(400);
  pulse.stop();
});
