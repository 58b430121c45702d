import { expect, test } from 'vitest';
import { createAgain } from '../../../shared/actor/again.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

test('what is asked for while it is done is done once more, one at a time, however often it was asked', async () => {
  const begun: PromiseWithResolvers<void>[] = [];
  const ask = createAgain(() => {
    const one = Promise.withResolvers<void>();
    begun.push(one);
    return one.promise;
  });
  ask();
  ask();
  ask();
  await turns();
  expect(begun).toHaveLength(1);
  begun[0]?.resolve();
  await turns();
  expect(begun).toHaveLength(2);
  begun[1]?.resolve();
  await turns();
  expect(begun).toHaveLength(2);
  ask();
  expect(begun).toHaveLength(3);
});
