import { expect, test } from 'vitest';
import { createTurn, createTurns } from '../../../shared/base/async.ts';

/** Works that are begun in some order and end when they are told to. */
const works = () => {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    work: (name: string) => (): Promise<string> => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: (name: string) => ends.get(name)?.resolve(name),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  };
};

const asSoonAsMayBe = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

test('works of one key come one after the other, and wait for no other key', async () => {
  const { begun, work, end } = works();
  const inTurn = createTurns<string>();
  const first = inTurn('one', work('first'));
  const second = inTurn('one', work('second'));
  void inTurn('other', work('third'));
  await asSoonAsMayBe();
  expect(begun).toEqual(['first', 'third']);
  end('first');
  expect(await first).toBe('first');
  await asSoonAsMayBe();
  expect(begun).toEqual(['first', 'third', 'second']);
  end('second');
  expect(await second).toBe('second');
});

test('a failure is told to whoever asked for the work, and to nobody after him', async () => {
  const { begun, work, end, fail } = works();
  const inTurn = createTurn();
  const first = inTurn(work('first'));
  const second = inTurn(work('second'));
  await asSoonAsMayBe();
  expect(begun).toEqual(['first']);
  fail('first');
  await expect(first).rejects.toThrow('first');
  await asSoonAsMayBe();
  end('second');
  expect(await second).toBe('second');
});
