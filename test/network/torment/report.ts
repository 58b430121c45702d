/** What a run came to, and how it is told. */

import type { PingVerdict } from './checks.ts';
import type { FaultKind } from './faults.ts';
import type { Balance, Verdict } from './ledger.ts';
import type { MessagesVerdict } from './receivers.ts';

export type Report = {
  readonly seed: number;
  readonly rounds: number;
  readonly struck: Readonly<Partial<Record<FaultKind, number>>>;
  /** From the last start of anything to equal ledgers; null when they never became equal. */
  readonly rest_ms: number | null;
  readonly balance: Balance;
  readonly verdict: Verdict;
  readonly pings: PingVerdict;
  readonly told: MessagesVerdict;
  readonly warnings: { readonly stored: number; readonly wrong: readonly string[] };
  /** What was seen while it happened, and cannot mend itself. */
  readonly dates: readonly string[];
  readonly floods: readonly string[];
  readonly standing: readonly string[];
  /** How often the database was looked at as a whole. */
  readonly looks: number;
  /**
   * How often the machine had no turn for the targets for a second and more; incidents that begin
   * then are not false.
   */
  readonly stalls: number;
};

type Lists = Readonly<Record<string, readonly string[]>>;
type Found = Omit<Report, 'rest_ms'>;

/** What comes right by itself while all is still coming to rest. */
const passing = ({ balance, verdict, pings, told, warnings }: Found): Lists => ({
  lost: balance.lost,
  doubled: balance.doubled,
  invented: balance.invented,
  'outages that nothing tells of': verdict.missed,
  'false alerts': verdict.false_alerts,
  'incidents that overlap, stay open, or are not one for each outage': verdict.crooked,
  'alerts that are not in pairs': verdict.unpaired,
  'alerts that did not arrive': told.lost,
  'pings that were taken and lost': pings.lost,
  'heartbeats that were misjudged': pings.crooked,
  'warnings that were misjudged': warnings.wrong,
});

/** Every list of the report that must be empty, by what it is a list of. */
export const faultsOf = (found: Found): Lists => ({
  ...passing(found),
  'dates that no stored check has': found.dates,
  'alerts that should not have arrived': found.told.wrong,
  'targets that were flooded': found.floods,
  'partitions that stood': found.standing,
});

const areEmpty = (lists: Lists): boolean => Object.values(lists).every((list) => list.length === 0);

/**
 * Whether there is nothing to wait for: what was wrong while it happened stays in the report,
 * however long anybody waits.
 */
export const isAtRest = (found: Found): boolean => areEmpty(passing(found));

export const holds = (report: Report): boolean =>
  report.rest_ms !== null && areEmpty(faultsOf(report));

const few = (name: string, entries: readonly string[]): string =>
  `  ${name}: ${entries.length}${entries
    .slice(0, 10)
    .map((entry) => `\n    ${entry}`)
    .join('')}`;

export const linesOf = (report: Report): string[] => {
  const { seed, rounds, struck, rest_ms, balance, verdict, pings, told, stalls, looks } = report;
  const all = Object.entries(struck).map(([kind, count]) => `${kind} ${count}`);
  return [
    `\nseed ${seed}: ${rounds} rounds; ${all.join(', ')}`,
    rest_ms === null
      ? 'it did not come to rest'
      : `at rest ${(rest_ms / 1_000).toFixed(1)} s after the last fault`,
    `checks seen by the targets ${balance.seen}, results in the database ${balance.stored}, under way in a probe that was killed ${balance.in_flight}`,
    `outages seen from two continents ${verdict.outages}, confirmed incidents ${verdict.confirmed}, "down" alerts ${verdict.told}; messages taken ${told.taken}; pings taken ${pings.taken}; warnings ${report.warnings.stored}; the database looked at ${looks} times`,
    ...(stalls > 0
      ? [`this machine had no turn for the targets for a second and more: ${stalls} times`]
      : []),
    ...Object.entries(faultsOf(report)).map(([name, list]) => few(name, list)),
  ];
};
