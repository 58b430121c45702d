import { describe, expect, test } from 'vitest';
import { misjudgedWarnings, type StoredWarning } from './warnings.ts';

const told = { event: 'warning', details: { stage: 7, ends_at: 1 } };
const over = { event: 'warning_over', details: {} };
const certificate: StoredWarning = {
  place: 'certificate',
  code: 'certificate_expires',
  began_at: 1_000,
  ended_at: null,
  alerts: [told],
};
const domain: StoredWarning = {
  place: 'ends-1.com',
  code: 'domain_expires',
  began_at: 51_000,
  ended_at: 81_000,
  alerts: [told, over],
};
const periods = [{ place: 'ends-1.com', from: 50_000, until: 80_000 }];
const faults = (...warnings: readonly StoredWarning[]): string =>
  misjudgedWarnings(warnings, periods).join('; ');

describe('faults that torment finds in warnings', () => {
  test('none where each begins, is told and ends once', () => {
    expect(faults(certificate, domain)).toBe('');
    const deeper = { event: 'warning', details: { stage: 1, ends_at: 1 } };
    expect(faults({ ...certificate, alerts: [told, deeper] }, domain)).toBe('');
  });

  test.each<[string, readonly StoredWarning[]]>([
    ['has 0 warnings', [domain]],
    ['has 2 warnings', [certificate, { ...certificate, began_at: 90_000 }]],
    ['has 1 warnings', [{ ...certificate, ended_at: 2_000, alerts: [told, over] }]],
    ['not each once', [{ ...certificate, alerts: [told, told] }]],
    ['not each once', [{ ...certificate, alerts: [] }]],
    ['has 0 ends', [certificate, { ...domain, alerts: [told] }]],
    ['has 2 ends', [certificate, { ...domain, alerts: [told, over, over] }]],
    ['when nothing ended soon', [certificate, { ...domain, began_at: 40_000 }]],
    ['does not end', [certificate, { ...domain, ended_at: null, alerts: [told] }]],
    ['beyond the beginning', [certificate, domain, { ...domain, began_at: 79_000 }]],
  ])('"%s"', (fault, warnings) => {
    expect(faults(...warnings)).toContain(fault);
  });
});
