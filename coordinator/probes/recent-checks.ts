import type { Queryable } from '../database/connect.ts';
import type { MonitorKey, Results } from '../results/reading.ts';

/** Which monitors of an organisation a probe checked of late, and how often, by the probe's key. */
export type RecentChecks = ReadonlyMap<
  number,
  { readonly monitors: ReadonlySet<number>; readonly checks: number }
>;

/** A probe's clock may be a little ahead of ours. */
const aheadMs = 60_000;

export async function recentChecks(
  sql: Queryable,
  results: Results,
  organisation: string,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<RecentChecks> {
  const monitors = await sql<MonitorKey[]>`
    select key, partition from monitors where organisation_id = ${organisation}`;
  const checks = await results.within(
    sql,
    monitors.map((monitor) => ({ ...monitor, from: since, to: now + aheadMs })),
  );
  const counts = new Map<number, { readonly monitors: Set<number>; checks: number }>();
  for (const [nth, { key }] of monitors.entries())
    for (const { probe } of checks[nth] ?? []) {
      const count = counts.getOrInsertComputed(probe, () => ({ monitors: new Set(), checks: 0 }));
      count.monitors.add(key);
      count.checks += 1;
    }
  return counts;
}
