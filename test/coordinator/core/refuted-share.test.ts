import { describe, expect, test } from 'vitest';
import { maxHosts, type Share, saysTheSame, shareOf, smallestOf, together } from '../../../coordinator/core/quarantine.ts';
import { hashOf } from '../../../shared/checks/assignment.ts';

/** Rule 16: what several coordinators know of a probe is counted as if one knew it all. */

const now = 1_000;
const share = (hosts: readonly number[], refuted: readonly number[], until = 2_000): Share =>
  shareOf(smallestOf(new Set(hosts)), new Map(refuted.map((host) => [host, until])), now);

describe('rule 16: what all coordinators know together', () => {
  test('counts each host once, however many of them know it', () => {
    expect(together([share([1, 2, 3], [1, 2]), share([3, 4, 5], [3])], now)).toEqual({ targets: 5, refuted: 3 });
    expect(together([share([1, 2, 3], [1, 2]), share([1, 2, 3], [2])], now)).toEqual({ targets: 3, refuted: 2 });
    expect(together([], now)).toEqual({ targets: 0, refuted: 0 });
  });

  test('counts what is refuted until its time is over, and of hosts that are checked', () => {
    const told = share([1, 2], [1, 2, 9]);
    expect(together([told], 1_999)).toEqual({ targets: 2, refuted: 2 });
    expect(together([told], 2_000)).toEqual({ targets: 2, refuted: 0 });
    expect(share([1, 2], [1], now).refuted.size).toBe(0);
  });

  test('of more hosts than are told, both are estimated from a fair sample', () => {
    const hosts = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => hashOf(`host-${from + index}.example`));
    const one = share(hosts(0, 6_000), hosts(0, 3_000));
    const other = share(hosts(4_000, 10_000), hosts(4_000, 5_000));
    expect(one.hosts).toHaveLength(maxHosts);
    const known = together([one, other, share(hosts(9_990, 10_010), [])], now);
    // 10,010 hosts, of which 4,000 are refuted; a sample of 256 is right to a tenth or so.
    expect(known.targets).toBeGreaterThan(8_500);
    expect(known.targets).toBeLessThan(11_500);
    expect(known.refuted / known.targets).toBeGreaterThan(0.33);
    expect(known.refuted / known.targets).toBeLessThan(0.47);
  });
});

test('what says nothing new is not told again', () => {
  const told = share([1, 2, 3], [1, 2]);
  expect(saysTheSame(share([3, 2, 1], [2, 1]), told)).toBe(true);
  expect(saysTheSame(share([1, 2, 3], [1, 2], 61_999), told)).toBe(true);
  expect(saysTheSame(share([1, 2, 3], [1, 2], 62_000), told)).toBe(false);
  expect(saysTheSame(share([1, 2, 3], [1, 3]), told)).toBe(false);
  expect(saysTheSame(share([1, 2, 3], [1]), told)).toBe(false);
  expect(saysTheSame(share([1, 2, 4], [1, 2]), told)).toBe(false);
  expect(saysTheSame(told, undefined)).toBe(false);
});
