/** For test files: a month of the house's own record, made up. */
import { dayOf, type ServiceDay, sumOf } from '../../coordinator/health/service-record.ts';

const first = Date.UTC(2026, 9, 24);

const days: readonly ServiceDay[] = Array.from({ length: 30 }, (_, index) => ({
  day: dayOf(first + index * 86_400_000),
  confirmed: index % 7 === 3 ? 0 : 4 + ((index * 5) % 9),
  p50_ms: index % 7 === 3 ? null : 1_650 + ((index * 137) % 700),
  p95_ms: index % 7 === 3 ? null : 2_900 + ((index * 411) % 2_100),
  doubted: index % 11 === 5 ? 1 : 0,
  false_by_word: index === 16 ? 1 : 0,
  results_lost: index === 9 ? 1_204 : 0,
  own_outages: index % 9 === 4 ? 2 : 0,
  own_outage_s: index % 9 === 4 ? 372 : 0,
}));

export const ownRecordOfTest = { days, sum: sumOf(days) };
