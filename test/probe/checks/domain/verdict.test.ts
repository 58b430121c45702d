import { describe, expect, test } from 'vitest';
import { judgeDomain } from '../../../../probe/checks/domain/verdict.ts';
import { causeSentence } from '../../../../shared/checks/causes.ts';
import type { Registration } from '../../../../shared/checks/domain/registration.ts';
import { warningSentence } from '../../../../shared/checks/warnings.ts';

const now = Date.parse('2026-11-25T12:00:00Z');
const day = 86_400_000;

const registered = (
  days: number | null,
  statuses: string[] = ['active'],
  asked_at = now,
): Registration => ({
  is: 'registered',
  ends_at: days === null ? null : now + days * day,
  statuses,
  registrar: 'Names Ltd',
  server: 'rdap.example',
  asked_at,
});

const judge = (registration: Registration, from_days: number | null = null) =>
  judgeDomain(registration, { now, from_days, evidence_wanted: true });

describe('a domain check', () => {
  test.each([
    ['registered for long', registered(200), 'ok', undefined],
    ['registered without an end', registered(null), 'ok', undefined],
    ['over', registered(-1), 'fail', 'domain_expired'],
    ['over, but renewed by its registry', registered(-1, ['auto renew period']), 'ok', undefined],
    ['in redemption', registered(300, ['redemption period']), 'fail', 'domain_expired'],
    ['about to be deleted', registered(300, ['pending delete']), 'fail', 'domain_expired'],
    ['held by its registrar', registered(300, ['client hold']), 'fail', 'domain_on_hold'],
    ['held by its registry', registered(300, ['server hold']), 'fail', 'domain_on_hold'],
    ['not to be transferred', registered(300, ['client transfer prohibited']), 'ok', undefined],
    [
      'not registered',
      { is: 'unregistered', server: 'rdap.example', asked_at: now },
      'fail',
      'domain_unregistered',
    ],
    ['unknown', { is: 'unknown', why: 'no answer' }, 'unknown', 'registration_unknown'],
    ['known for too long', registered(200, [], now - 5 * day), 'unknown', 'registration_unknown'],
  ] satisfies [string, Registration, string, string | undefined][])(
    'of a domain that is %s',
    (_, registration, outcome, cause) => {
      const verdict = judge(registration);
      expect(verdict.outcome).toBe(outcome);
      expect(verdict.cause?.class).toBe(cause);
      if (verdict.cause) expect(causeSentence(verdict.cause)).toMatch(/^[A-Z].*[^.]$/);
    },
  );

  test.each([
    [40, null, undefined],
    [29, null, 30],
    [13, null, 14],
    [6, null, 7],
    [0.5, null, 1],
    [40, 60, 60],
    [0.5, 0, undefined],
  ])(
    '%s days before the end, with the first warning at %s, is at stage %s',
    (days, from, stage) => {
      const { outcome, warnings } = judge(registered(days), from);
      expect(outcome).toBe('ok');
      expect(warnings?.[0]?.details.stage).toBe(stage);
    },
  );

  test('warns in words of its own, and keeps what the registry said as evidence', () => {
    const { warnings, evidence } = judge(registered(6));
    const details = warnings?.[0]?.details ?? {};
    expect(warningSentence({ code: 'domain_expires', details }, now)).toBe(
      'Domain expires in 6 days',
    );
    expect(evidence).toEqual({
      registry: 'rdap.example',
      asked_at: '2026-11-25T12:00:00.000Z',
      registered: true,
      ends_at: '2026-12-01T12:00:00.000Z',
      statuses: ['active'],
      registrar: 'Names Ltd',
    });
  });
});
