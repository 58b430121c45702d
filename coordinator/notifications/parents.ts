import type { Queryable } from '../database/connect.ts';
import { parentsOf, parentsToAsk } from '../monitors/dependency-queries.ts';
import type { Results } from '../results/reading.ts';
import { type ParentOutage, parentOutage, passesSince, waitForParents } from './policy.ts';

/** What rule 47 needs to know of the parents of monitors whose "down" is being decided. */
export type Parents = {
  /** By monitor. */
  readonly outages: ReadonlyMap<string, readonly ParentOutage[]>;
  /** The monitors with a parent that has not answered yet. */
  readonly unanswered: ReadonlySet<string>;
};

type Step = {
  readonly monitor_id: string;
  readonly confirmed_at: number | null;
  readonly created_at: number;
};

/** `since`: of outages that ended long before, nothing needs to be known. */
export async function readParents(
  sql: Queryable,
  results: Pick<Results, 'within'>,
  steps: readonly Step[],
  { since, now }: { readonly since: number; readonly now: number },
): Promise<Parents> {
  const monitors = [...new Set(steps.map(({ monitor_id }) => monitor_id))];
  if (monitors.length === 0) return { outages: new Map(), unanswered: new Set() };
  const rows = await outagesOfParents(sql, monitors, since);
  const confirmed = new Map(
    steps
      .filter(({ created_at }) => now < waitForParents(created_at).to)
      .map(({ monitor_id, confirmed_at }) => [monitor_id, confirmed_at ?? now]),
  );
  const asked = confirmed.size === 0 ? [] : await askedParents(sql, [...confirmed.keys()]);
  const checks = await results.within(
    sql,
    asked.map(({ monitor, key, partition }) => ({
      key,
      partition,
      from: confirmed.get(monitor) ?? now,
      to: now + 1,
    })),
  );
  return {
    outages: new Map(
      [...Map.groupBy(rows, ({ monitor }) => monitor)].map(([monitor, its]) => [
        monitor,
        its.map((row) => parentOutage(row, now)),
      ]),
    ),
    unanswered: new Set(
      asked.flatMap(({ monitor }, nth) => (passesSince(checks[nth] ?? []) ? [] : [monitor])),
    ),
  };
}

function outagesOfParents(sql: Queryable, monitors: readonly string[], since: number) {
  return sql<
    {
      readonly monitor: string;
      readonly called: string;
      readonly started_at: number;
      readonly resolved_at: number | null;
      readonly interval_s: number;
    }[]
  >`
    select c.id as monitor, o.called, i.started_at, i.resolved_at, c.interval_s
    from monitors c cross join lateral ${parentsOf(sql)} o
    join incidents i on i.monitor_id = o.id and i.confirmed_at is not null
      and (i.resolved_at is null or i.resolved_at > ${new Date(since)})
    where c.id = any(${monitors}::uuid[])`;
}

function askedParents(sql: Queryable, monitors: readonly string[]) {
  return sql<{ readonly monitor: string; readonly key: number; readonly partition: number }[]>`
    select c.id as monitor, a.key, a.partition
    from monitors c cross join lateral ${parentsToAsk(sql)} a
    where c.id = any(${monitors}::uuid[])`;
}
