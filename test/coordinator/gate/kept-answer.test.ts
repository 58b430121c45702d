import { describe, expect, test } from 'vitest';
import { fateOf, idempotencyKeptMs, isKept } from '../../../coordinator/gate/idempotency.ts';
import { type RefusalCode, refusalCodes } from '../../../shared/base/errors.ts';

describe('a call that names a key', () => {
  const known = { request: 'a', answered_at: 1_000 };

  test('is new where no record exists, and again after 24 hours', () => {
    expect(fateOf(undefined, 'a', 0)).toBe('new');
    expect(fateOf(known, 'a', 1_000 + idempotencyKeptMs - 1)).toBe('same');
    expect(fateOf(known, 'a', 1_000 + idempotencyKeptMs)).toBe('new');
    expect(fateOf(known, 'b', 1_000 + idempotencyKeptMs)).toBe('new');
  });

  test('is the same only for the same request', () => {
    expect(fateOf(known, 'a', 1_000)).toBe('same');
    expect(fateOf(known, 'b', 1_000)).toBe('other');
    // Another coordinator's clock may be a little behind.
    expect(fateOf(known, 'b', 900)).toBe('other');
  });
});

test('a refusal is kept where it was decided about what was asked, and not where sending it again may succeed', () => {
  const kept: readonly RefusalCode[] = [
    'plan_limit_monitors',
    'monitor_not_found',
    'target_invalid',
    'name_taken',
    'already_published',
  ];
  const open: readonly RefusalCode[] = [
    ...([
      'token_missing',
      'token_invalid',
      'scope_insufficient',
      'role_insufficient',
      'organisation_ending',
    ] as const),
    ...([
      'rate_limited',
      'channel_test_limit',
      'unavailable',
      'internal',
      'body_too_large',
      'request_malformed',
    ] as const),
    ...([
      'idempotency_key_in_use',
      'idempotency_key_reused',
      'idempotency_answer_too_large',
      'organisation_not_found',
    ] as const),
  ];
  expect(kept.filter((code) => !isKept(code))).toEqual([]);
  expect(open.filter(isKept)).toEqual([]);
  const kinds = new Set(
    Object.keys(refusalCodes)
      .filter((code): code is RefusalCode => Object.hasOwn(refusalCodes, code))
      .filter(isKept)
      .map((code) => refusalCodes[code][0]),
  );
  expect([...kinds].toSorted()).toEqual(['conflict', 'forbidden', 'invalid', 'not_found']);
});
