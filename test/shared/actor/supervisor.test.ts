import { pino } from 'pino';
import { expect, test } from 'vitest';
import { supervise } from '../../../shared/actor/supervisor.ts';

const log = pino({ level: 'silent' });

test('work that fails or ends is started again, and stops when told', async () => {
  let starts = 0;
  const third = new Promise<void>((resolve) => {
    const part = supervise({
      name: 'part',
      log,
      onGiveUp: () => {},
      run: async (signal) => {
        starts += 1;
        if (starts === 1) throw new Error('once');
        if (starts === 2) return;
        signal.addEventListener('abort', () => resolve());
        setImmediate(() => void part.stop());
        await new Promise<void>((done) => signal.addEventListener('abort', () => done()));
      },
    });
  });
  await third;
  expect(starts).toBe(3);
});

test('too many failures in too short a time are given up, with the last one named', async () => {
  const given = await new Promise<unknown>((resolve) => {
    supervise({
      name: 'hopeless',
      log,
      mostFailures: 2,
      run: () => Promise.reject(new Error('always')),
      onGiveUp: (_, error) => resolve(error),
    });
  });
  expect(String(given)).toContain('always');
});
