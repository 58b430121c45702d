import { describe, expect, test } from 'vitest';
import { type PlacedProbe, sitesOf } from '../../../coordinator/probes/sites.ts';

const probe = (place: string, host?: string, address?: string): PlacedProbe => ({
  place,
  organisation: 'organisation',
  host,
  address,
});

describe('rule 10: private places are at one site', () => {
  test.each<[string, readonly PlacedProbe[], Record<string, string | null>]>([
    [
      'not with other hosts behind other addresses',
      [probe('berlin', 'a', '93.184.216.34'), probe('paris', 'b', '93.184.216.35')],
      { berlin: 'berlin', paris: 'paris' },
    ],
    [
      'behind one address',
      [probe('berlin', 'a', '93.184.216.34'), probe('attic', 'b', '93.184.216.34')],
      { berlin: 'attic', attic: 'attic' },
    ],
    [
      'on one host',
      [probe('berlin', 'a', '93.184.216.34'), probe('attic', 'a', '93.184.216.35')],
      { berlin: 'attic', attic: 'attic' },
    ],
    [
      'through a third',
      [
        probe('a', '1', '93.184.216.34'),
        probe('b', '2', '93.184.216.35'),
        probe('c', '2', '93.184.216.36'),
        probe('c', '1', '93.184.216.37'),
        probe('d', '4', '93.184.216.38'),
      ],
      { a: 'a', b: 'a', c: 'a', d: 'd' },
    ],
    [
      'on one line of IPv6',
      [probe('a', '1', '2606:2800:220:1::1'), probe('b', '2', '2606:2800:220:2::9')],
      { a: 'a', b: 'a' },
    ],
    [
      'nobody knows which, without a host, without an address, behind none that is public',
      [
        probe('a', '1', '93.184.216.34'),
        probe('b', undefined, '93.184.216.35'),
        probe('c', '3'),
        probe('d', '4', '10.0.0.1'),
      ],
      { a: 'a', b: null, c: null, d: null },
    ],
    [
      'nobody knows which, where the others come by the other family',
      [probe('a', '1', '93.184.216.34'), probe('b', '2', '2606:2800:220:1::1')],
      { a: 'a', b: null },
    ],
  ])('%s', (_, probes, sites) => {
    expect(Object.fromEntries(sitesOf(probes))).toEqual(sites);
  });

  test('and those of another organisation are no matter', () => {
    const other = { ...probe('paris', 'a', '93.184.216.34'), organisation: 'other' };
    const sites = sitesOf([probe('berlin', 'a', '93.184.216.34'), other]);
    expect(Object.fromEntries(sites)).toEqual({ berlin: 'berlin', paris: 'paris' });
  });
});
