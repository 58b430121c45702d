import { expect, test } from 'vitest';
import { endAll } from '../../../shared/base/async.ts';

const ended: string[] = [];
const part = (name: string, failure?: Error) => async (): Promise<void> => {
  ended.push(name);
  if (failure) throw failure;
};

test('what was begun ends, the latest first, though some of it fails, and the failures are told when all has ended', async () => {
  const [bus, disk] = [new Error('the bus is gone'), new Error('the disk is full')];
  await endAll([part('a'), part('b')]);
  await expect(endAll([part('c'), part('d', bus), part('e')])).rejects.toBe(bus);
  await expect(endAll([part('f', disk), part('g', bus)])).rejects.toMatchObject({ errors: [bus, disk] });
  expect(ended.join('')).toBe('baedcgf');
});
