import type { Queryable } from './store-database.ts';
import { jsonText } from './store-incidents-write.ts';
import { numbersLiteral } from './store-sql-arrays.ts';

/** What nobody took, and channels that do not deliver (rule 38). */

export type UntakenDown = {
  readonly incident: string;
  readonly organisation_id: string;
  readonly monitor_name: string;
  readonly first_told_at: Date;
  readonly full_at: Date;
};

/** Open incidents whose "down" left before this for at least one channel, that none has taken, and whose owners were not mailed; held fast. */
export const untakenDowns = (sql: Queryable, toldBefore: number, most: number): Promise<UntakenDown[]> =>
  sql<UntakenDown[]>`
    select i.id as incident, i.organisation_id, m.name as monitor_name, t.first_told_at, o.last_resort_full_at as full_at
    from (select s.incident_id, min(s.first_told_at) as first_told_at from alert_steps s left join messages g on g.id = s.message_id
      where s.event in ('down', 'flapping') and s.first_told_at is not null
        and s.incident_id in (select incident_id from alert_steps w join messages x on x.id = w.message_id
          where x.state in ('waiting', 'refused', 'given_up') and w.first_told_at <= ${new Date(toldBefore)} and w.event in ('down', 'flapping'))
      group by s.incident_id having not coalesce(bool_or(g.state = 'taken'), false)) t
    join incidents i on i.id = t.incident_id and i.resolved_at is null
    join monitors m on m.id = i.monitor_id
    join organisations o on o.id = i.organisation_id
    where t.first_told_at <= ${new Date(toldBefore)} and not exists (select 1 from last_resorts l where l.incident_id = i.id)
    order by t.first_told_at limit ${most} for no key update of i skip locked`;

export const ownersOf = async (sql: Queryable, organisations: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = await sql<{ organisation_id: string; emails: string[] }[]>`
    select m.organisation_id, array_agg(u.email order by u.email) as emails from memberships m join users u on u.id = m.user_id
    where m.role = 'owner' and m.organisation_id = any(${[...organisations]}::uuid[]) group by m.organisation_id`;
  return new Map(rows.map(({ organisation_id, emails }) => [organisation_id, emails]));
};

export type LastResort = { readonly incident: string; readonly organisation: string; readonly mailed: readonly string[] };

export const writeLastResorts = async (sql: Queryable, resorts: readonly LastResort[], now: number): Promise<void> => {
  if (resorts.length === 0) return;
  await sql`
    insert into last_resorts (incident_id, organisation_id, at, mailed)
    select incident, organisation, ${new Date(now)}, array(select json_array_elements_text(mailed))
    from json_to_recordset(${jsonText([...resorts])}::text::json) as r (incident uuid, organisation uuid, mailed json)
    on conflict do nothing`;
};

export const writeResortBuckets = async (
  sql: Queryable,
  buckets: readonly { readonly organisation: string; readonly fullAt: number }[],
): Promise<void> => {
  if (buckets.length === 0) return;
  await sql`update organisations o set last_resort_full_at = to_timestamp(b.full_at / 1000)
    from unnest(${buckets.map(({ organisation }) => organisation)}::uuid[], ${numbersLiteral(buckets.map(({ fullAt }) => fullAt))}::float8[]) as b (id, full_at)
    where o.id = b.id`;
};

export type ProbeNotice = { readonly id: number; readonly organisation_id: string; readonly message: string };

/** Open notices about private probes, of which the owners were not mailed, nor of one of the kind since `since`; held fast. */
export const noticesOfPrivateProbes = (
  sql: Queryable,
  { beganBefore, since }: { readonly beganBefore: number; readonly since: number },
  most: number,
): Promise<ProbeNotice[]> =>
  sql<ProbeNotice[]>`
    select n.id, p.organisation_id, n.message from notices n
    join probes p on p.id::text = n.subject and p.organisation_id is not null and p.revoked_at is null
    where n.ended_at is null and n.owners_told_at is null and n.began_at <= ${new Date(beganBefore)}
      and not exists (select 1 from notices e where e.subject = n.subject and e.kind = n.kind and e.owners_told_at > ${new Date(since)})
    order by n.id limit ${most} for update of n skip locked`;

export const noticesTold = async (sql: Queryable, notices: readonly number[], now: number): Promise<void> => {
  await sql`update notices set owners_told_at = ${new Date(now)} where id = any(${numbersLiteral(notices)}::bigint[])`;
};

export type FailingChannel = {
  readonly id: string;
  readonly organisation_id: string;
  readonly name: string;
  readonly failure: string | null;
  readonly failing_since: Date | null;
  readonly refused_at: Date | null;
  readonly owners_told_at: Date | null;
};

/** Channels that failed or refused last, held fast. */
export const failingChannels = (sql: Queryable, most: number): Promise<FailingChannel[]> =>
  sql<FailingChannel[]>`
    select id, organisation_id, name, failure, failing_since, refused_at, owners_told_at from channels
    where deleted_at is null and (failing_since is not null or refused_at is not null) and enabled
    order by owners_told_at nulls first limit ${most} for no key update skip locked`;

export const ownersTold = async (sql: Queryable, channels: readonly string[], now: number): Promise<void> => {
  await sql`update channels set owners_told_at = ${new Date(now)} where id = any(${[...channels]}::uuid[])`;
};
