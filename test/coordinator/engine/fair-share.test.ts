import { describe, expect, test } from 'vitest';
import { fairShare } from '../../../coordinator/engine/ownership.ts';

const share = (cutOffMs: number | null, others: number) => fairShare(32, { cutOffMs, others, patienceMs: 12_000 });

describe('the fair share of a coordinator', () => {
  test('is the same for all who have the bus, rounded up so that none is left over', () => {
    expect([0, 1, 2, 31, 40].map((others) => share(null, others).most)).toEqual([32, 16, 11, 1, 1]);
    expect(share(null, 2).takes).toBe(true);
  });

  test('is nothing for who has been without the bus for a while, if somebody else has it', () => {
    expect(share(11_999, 1)).toEqual({ most: 32, takes: false });
    expect(share(12_000, 1)).toEqual({ most: 0, takes: false });
  });

  test('is whatever it holds, and what nobody holds, while nobody has the bus', () => {
    expect(share(0, 0)).toEqual({ most: 32, takes: true });
    expect(share(3_600_000, 0)).toEqual({ most: 32, takes: true });
  });
});
