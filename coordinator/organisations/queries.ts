import type { Queryable } from '../database/connect.ts';
import { searchText } from '../database/sql.ts';
import type { AuditEntry } from '../gate/audit.ts';
import type { Counted } from '../gate/plans.ts';
import type { NewOrganisation, OrganisationRow } from '../gate/records.ts';
import { windowsNotOver } from '../maintenance/queries.ts';

export type AuditRow = Omit<AuditEntry, 'organisation' | 'user'> & {
  readonly key: number;
  /** What the entry is about is called this now; null: it is gone, or has no name. */
  readonly subject: string | null;
};

type AuditFilter = {
  readonly who: string | null;
  readonly operation: string | null;
  readonly from: number | null;
  readonly until: number | null;
  /** Operations that are left out. */
  readonly without: readonly string[];
};

/** The audit log of an organisation, newest first. */
export function auditPage(
  sql: Queryable,
  organisation: string,
  { who, operation, from, until, without }: AuditFilter,
  before: number,
  limit: number,
): Promise<AuditRow[]> {
  return sql<AuditRow[]>`
    select key, at, who, through, token_name, address, operation, changed, coalesce(
      (select name from monitors where organisation_id = ${organisation}
        and id = ${idIn(sql, 'monitor_id')}),
      (select name from groups where organisation_id = ${organisation}
        and id = ${idIn(sql, 'group_id')}),
      (select name from channels where organisation_id = ${organisation}
        and id = ${idIn(sql, 'channel_id')}),
      (select coalesce(nullif(description, ''), host) from webhooks
        where organisation_id = ${organisation} and id = ${idIn(sql, 'webhook_id')}),
      (select m.name from incidents i join monitors m on m.id = i.monitor_id
        where i.organisation_id = ${organisation}
          and i.id = ${idIn(sql, 'incident_id')}),
      (select name from status_pages where organisation_id = ${organisation}
        and id = ${idIn(sql, 'page_id')})) as subject
    from audit_log
    where organisation_id = ${organisation} and key < ${before}
      and operation <> all(${without})
      ${who === null ? sql`` : sql`and who = ${searchText(who)}`}
      ${operation === null ? sql`` : sql`and operation = ${searchText(operation)}`}
      ${from === null ? sql`` : sql`and at >= ${new Date(from)}`} ${until === null ? sql`` : sql`and at < ${new Date(until)}`}
    order by key desc limit ${limit}`;
}

function idIn(sql: Queryable, key: string) {
  return sql`
  case when changed->'about'->>${key} ~ '^[0-9a-f-]{36}$'
    then (changed->'about'->>${key})::uuid end`;
}

/** The actors and operations that occur in the log. */
export async function auditChoices(
  sql: Queryable,
  organisation: string,
): Promise<{ readonly who: readonly string[]; readonly operations: readonly string[] }> {
  const [row] = await sql<{ who: string[] | null; operations: string[] | null }[]>`
    select array_agg(distinct who order by who) as who,
      array_agg(distinct operation order by operation) as operations
    from audit_log where organisation_id = ${organisation}`;
  return { who: row?.who ?? [], operations: row?.operations ?? [] };
}

export async function forgetAudit(sql: Queryable, before: number): Promise<void> {
  await sql`delete from audit_log where at < ${new Date(before)}`;
}

export async function insertOrganisation(
  sql: Queryable,
  { id, name, plan, time_zone }: NewOrganisation,
): Promise<void> {
  await sql`insert into organisations (id, name, plan, time_zone)
    values (${id}, ${name}, ${plan}, ${time_zone})`;
}

export async function writeOrganisation(
  sql: Queryable,
  id: string,
  { name, time_zone }: Pick<OrganisationRow, 'name' | 'time_zone'>,
): Promise<void> {
  await sql`update organisations set name = ${name}, time_zone = ${time_zone} where id = ${id}`;
}

type Usage = Readonly<Record<Counted, number>>;

/** How much of the plan's limits it uses. */
export async function usageOf(sql: Queryable, id: string, now: number): Promise<Usage> {
  const [row] = await sql<Usage[]>`
    select (select count(*) from monitors where organisation_id = ${id}) as monitors,
      (select count(*) from status_pages where organisation_id = ${id}) as status_pages,
      (select count(*) from memberships where organisation_id = ${id}) as members,
      (select count(*) from probes where organisation_id = ${id}
        and revoked_at is null) as private_probes,
      (select count(*) from channels where organisation_id = ${id}
        and deleted_at is null) as channels,
      (select count(*) from webhooks where organisation_id = ${id}) as webhooks,
      (select count(*) from groups where organisation_id = ${id}) as groups,
      (select count(*) from objectives where organisation_id = ${id}) as objectives,
        (${windowsNotOver(sql, id, now)}) as windows`;
  return (
    row ?? {
      monitors: 0,
      status_pages: 0,
      members: 0,
      private_probes: 0,
      channels: 0,
      webhooks: 0,
      groups: 0,
      objectives: 0,
      windows: 0,
    }
  );
}

type FirstSteps = Readonly<
  Record<'is_hidden' | 'monitor' | 'channel' | 'colleague' | 'continent', boolean>
>;

/** Where they are hidden, nothing else is asked: every dashboard asks this. */
export async function firstStepsOf(sql: Queryable, id: string): Promise<FirstSteps> {
  const [row] = await sql<FirstSteps[]>`
    select false as is_hidden,
      exists (select 1 from monitors where organisation_id = ${id}) as monitor,
      exists (select 1 from channels where organisation_id = ${id} and deleted_at is null
          and last_delivered_at is not null)
        or exists (select 1 from audit_log where organisation_id = ${id}
          and operation in ('testChannel', 'tryChannel')
          and changed->'after'->>'verdict' = 'delivered') as channel,
      (select count(*) from memberships where organisation_id = ${id}) > 1
        or exists (select 1 from audit_log where organisation_id = ${id}
          and operation = 'inviteMember') as colleague,
      (select count(distinct continent) from probes where revoked_at is null
        and last_seen_at is not null
        and (organisation_id is null or organisation_id = ${id})) > 1 as continent
    from organisations where id = ${id} and first_steps_hidden_at is null`;
  return row ?? { is_hidden: true, monitor: true, channel: true, colleague: true, continent: true };
}

export async function writeFirstStepsHidden(sql: Queryable, id: string, at: number): Promise<void> {
  await sql`update organisations set first_steps_hidden_at = ${new Date(at)} where id = ${id}`;
}
