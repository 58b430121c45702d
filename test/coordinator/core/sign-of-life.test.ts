import { describe, expect, test } from 'vitest';
import { type SignsOfWork, whySilent } from '../../../coordinator/core/sign-of-life.ts';

const patience = {
  heardMs: 15_000,
  allCommittedMs: 180_000,
  lateMs: 30_000,
};
const well: SignsOfWork = {
  bus: true,
  streams: true,
  partitions: true,
  heard_ms: 15_000,
  committed_ms: 30_000,
  all_committed_ms: 180_000,
  result_ms: 90_000,
  expected: { interval_ms: 60_000, for_ms: 3_600_000 },
  alert_ms: 30_000,
};
const said = (changed: Partial<SignsOfWork>) => whySilent({ ...well, ...changed }, patience);

describe('rule 53: whoever watches this installation gets a ping', () => {
  test('while everything is as late as it may be', () => {
    expect(said({})).toBeUndefined();
  });

  test('without a monitor, or with none that is not paused', () => {
    expect(said({ expected: undefined, result_ms: null, alert_ms: null })).toBeUndefined();
    expect(said({ expected: undefined, result_ms: 86_400_000 })).toBeUndefined();
  });

  test('while the first checks, or those after a pause, may still come', () => {
    const expected = { interval_ms: 60_000, for_ms: 90_000 };
    expect(said({ expected, result_ms: null })).toBeUndefined();
    expect(said({ expected, result_ms: 86_400_000 })).toBeUndefined();
  });
});

describe('rule 53: nobody gets a ping', () => {
  test('while the database does not answer', () => {
    expect(whySilent(undefined, patience)).toBe('the database does not answer');
  });

  const expected = { interval_ms: 60_000, for_ms: 90_001 };
  const all: readonly (readonly [why: string, signs: readonly Partial<SignsOfWork>[]])[] = [
    ['the bus cannot be reached', [{ bus: false }]],
    ['streams of the bus have no leader, or are not read', [{ streams: false }]],
    ['not every partition is worked on', [{ partitions: false }]],
    ['no probe is heard', [{ heard_ms: 15_001 }, { heard_ms: Number.POSITIVE_INFINITY }]],
    ['the database takes no decisions', [{ committed_ms: 30_001 }]],
    [
      'a partition commits no decisions',
      [{ all_committed_ms: 180_001 }, { all_committed_ms: null }],
    ],
    [
      'no checks come in',
      [
        { expected, result_ms: 90_001 },
        { expected, result_ms: null },
      ],
    ],
    ['alerts do not leave', [{ alert_ms: 30_001 }]],
  ];
  test.each(all)('because %s', (why, signs) => {
    for (const changed of signs) expect(said(changed)).toBe(why);
  });

  test('because of what explains the rest', () => {
    expect(said({ bus: false, partitions: false, heard_ms: 60_000, alert_ms: 60_000 })).toBe(
      'the bus cannot be reached',
    );
  });
});
