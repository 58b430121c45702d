import type { Queryable } from '../database/connect.ts';

/** What the operator's page reads: over all organisations, for the operator only. */

/** False when the user no longer exists. */
export async function writeOperator(
  sql: Queryable,
  id: string,
  is_operator: boolean,
): Promise<boolean> {
  return (await sql`update users set is_operator = ${is_operator} where id = ${id}`).count > 0;
}

type ListedOrganisation = {
  readonly id: string;
  readonly key: number;
  readonly name: string;
  readonly plan: string;
  readonly created_at: number;
  readonly ends_at: number | null;
  readonly monitors: number;
  readonly members: number;
};

/**
 * By name, after the organisation with this key; null: from the first. If that name changed
 * meanwhile, the walk continues from its present place.
 */
export function organisationsByName(
  sql: Queryable,
  after: number | null,
  limit: number,
): Promise<ListedOrganisation[]> {
  return sql<ListedOrganisation[]>`
    select o.id, o.key, o.name, o.plan, o.created_at, o.ends_at,
      (select coalesce(sum(c.monitors), 0)::int from monitor_counts c
        where c.organisation_id = o.id and c.facet = 'kind') as monitors,
      (select count(*)::int from memberships m where m.organisation_id = o.id) as members
    from organisations o
    ${
      after === null
        ? sql``
        : sql`where (lower(o.name), o.key) > (select lower(a.name), a.key
      from organisations a where a.key = ${after})`
    }
    order by lower(o.name), o.key limit ${limit}`;
}

type FiguresRow = {
  readonly organisations: number;
  readonly monitors: readonly { readonly kind: string; readonly count: number }[];
  readonly checks: { readonly from: string; readonly count: number } | null;
  readonly open_incidents: number;
  readonly alerts_waiting: number;
  readonly accepted_at: number | null;
};

/**
 * Checks are those of the newest finished hour with a sum: counting single results would read
 * millions of them.
 */
export async function installationFigures(sql: Queryable, now: number): Promise<FiguresRow> {
  const [row] = await sql<FiguresRow[]>`
    select (select count(*)::int from organisations) as organisations,
      (select coalesce(json_agg(json_build_object('kind', k.type, 'count', k.count)
        order by k.type), '[]')
        from (select type, count(*) as count from monitors group by type) k) as monitors,
      (select json_build_object('from', h.hour, 'count', h.count)
        from (select newest as hour, sum(checks) as count from sealed_hours
          where newest >= date_trunc('hour', ${new Date(now)}::timestamptz, 'UTC') - interval '2 hours'
            and newest < date_trunc('hour', ${new Date(now)}::timestamptz, 'UTC')
          group by 1 order by 1 desc limit 1) h) as checks,
      (select count(*)::int from incidents where resolved_at is null) as open_incidents,
      (select count(*)::int from deliveries
        where kind = 'alert' and state = 'waiting') + (select count(*)::int
        from alert_steps where state = 'held') as alerts_waiting,
      (select sign_of_life_at from installation) as accepted_at`;
  return (
    row ?? {
      organisations: 0,
      monitors: [],
      checks: null,
      open_incidents: 0,
      alerts_waiting: 0,
      accepted_at: null,
    }
  );
}
