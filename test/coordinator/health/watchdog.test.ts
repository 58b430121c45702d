import { expect, test } from 'vitest';
import { createWatchdog, type Part, readerOf } from '../../../coordinator/health/watches.ts';
import { createLog } from '../../../shared/base/log.ts';
import { eventually } from '../../support/eventually.ts';

const log = createLog({ name: 'test', level: 'silent' });

test('a part that never answers stands, one that moves does not, and one that goes on again is well', async () => {
  let answer = Promise.withResolvers<boolean>();
  const parts: Part[] = [
    { name: 'stuck', mayStandMs: 50, moved: () => answer.promise },
    { name: 'moving', mayStandMs: 50, moved: async () => true },
    { name: 'failing', mayStandMs: 50, moved: () => Promise.reject(new Error('no')) },
  ];
  const movement = createWatchdog({ parts: () => parts, log });
  await eventually(async () => {
    await movement.tick();
    return movement.standing().join() === 'stuck,failing';
  });
  const first = answer;
  answer = Promise.withResolvers<boolean>();
  first.resolve(true);
  await eventually(async () => {
    await movement.tick();
    return movement.standing().join() === 'failing';
  });
  answer.resolve(true);
});

test('a part that is not ours any more is not asked for', async () => {
  let parts: Part[] = [{ name: 'partition 3', mayStandMs: 1, moved: () => new Promise(() => undefined) }];
  const movement = createWatchdog({ parts: () => parts, log });
  await eventually(async () => {
    await movement.tick();
    return movement.standing().length === 1;
  });
  parts = [];
  await movement.tick();
  expect(movement.standing()).toEqual([]);
});

test('a reader moves when he came further or nothing waits for him', async () => {
  let reading: { waiting: number; acknowledged: number } | undefined = { waiting: 5, acknowledged: 10 };
  const moved = readerOf(async () => reading);
  expect(await moved()).toBe(true);
  expect(await moved()).toBe(false);
  reading = { waiting: 9, acknowledged: 11 };
  expect(await moved()).toBe(true);
  reading = { waiting: 0, acknowledged: 11 };
  expect(await moved()).toBe(true);
  reading = undefined;
  expect(await moved()).toBe(false);
});
