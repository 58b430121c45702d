import { describe, expect, test } from 'vitest';
import { createKeyLookup } from '../../../coordinator/heartbeats/keys.ts';
import { testLog } from '../../support/network.ts';

describe('what is not known by heart', () => {
  test('is not asked for while an answer is overdue, and is again once it has come', async () => {
    const asked: string[] = [];
    const overdue = Promise.withResolvers<string | undefined>();
    const ask = (key: string): Promise<string | undefined> => {
      asked.push(key);
      return key === 'silent' ? overdue.promise : Promise.resolve(key);
    };
    const lookUp = createKeyLookup({ ask, log: testLog(), mostPerSecond: 1_000, patienceMs: 20 });
    expect(await lookUp('before')).toBe('before');
    expect(await lookUp('silent')).toBeUndefined();
    expect(await lookUp('meanwhile')).toBeUndefined();
    overdue.reject(new Error('the connection broke'));
    await new Promise(setImmediate);
    expect(await lookUp('after')).toBe('after');
    expect(asked).toEqual(['before', 'silent', 'after']);
  });

  test('is asked for so often in a second and no more', async () => {
    const asked: string[] = [];
    const ask = async (key: string): Promise<string> => {
      asked.push(key);
      return key;
    };
    const lookUp = createKeyLookup({ ask, log: testLog(), mostPerSecond: 3, patienceMs: 1_000 });
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(lookUp))).toEqual(['a', 'b', 'c', undefined, undefined]);
    expect(asked).toEqual(['a', 'b', 'c']);
  });
});
