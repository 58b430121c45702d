import type { Log } from '../../shared/base/log.ts';
import { type Clock, isoText } from '../../shared/base/time.ts';
import { postMails } from '../account-mail/queries.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { insertAudit } from '../gate/audit.ts';
import { endPingKeysOf } from '../heartbeats/ping-key-queries.ts';
import { endPingTokens, notifyOwners } from '../monitors/queries.ts';
import { purgeOrganisation } from '../monitors/trash-queries.ts';
import { ownersOf } from '../notifications/last-resort.ts';
import { beginMute, endMute } from '../notifications/mute-queries.ts';
import { revokeProbe } from '../probes/queries.ts';

/**
 * Organisations past their deletion date are deleted in batches, each in a transaction of its own:
 * a coordinator that is killed between two leaves a smaller rest, and another continues.
 */

type Ending = {
  readonly id: string;
  readonly name: string;
  readonly time_zone: string;
  readonly ends_at: number;
};

/**
 * Mails the owners of one organisation a last time before its deletion. Returns false when all were
 * notified.
 */
async function warnOfEnd(sql: Queryable, at: number, endsBefore: number): Promise<boolean> {
  const [ending] = await sql<Ending[]>`
    select o.id, o.name, o.time_zone, o.ends_at from organisations o join endings e
      on e.organisation_id = o.id
    where o.ends_at <= ${new Date(endsBefore)} and o.ends_at > ${new Date(at)} and e.warned_at is null
    limit 1 for no key update of o skip locked`;
  if (!ending) return false;
  await sql`update endings set warned_at = ${new Date(at)} where organisation_id = ${ending.id}`;
  await mailOwners(sql, ending, 'ends-soon', at);
  return true;
}

async function mailOwners(
  sql: Queryable,
  { id, name, time_zone, ends_at }: Ending,
  what: 'ends-soon' | 'gone',
  at: number,
): Promise<void> {
  const owners = (await ownersOf(sql, [id])).get(id) ?? [];
  const about = { what, organisation: name, by: null, ends_at: isoText(ends_at), time_zone };
  await postMails(
    sql,
    owners.map((recipient) => ({ kind: 'organisation', recipient, about, at })),
  );
}

/** Organisations past their deletion date, the longest first. */
async function organisationsToEnd(sql: Queryable, at: number): Promise<string[]> {
  return (
    await sql<
      { id: string }[]
    >`select id from organisations where ends_at <= ${new Date(at)} order by ends_at, id limit 100`
  ).map(({ id }) => id);
}

type BatchSize = { readonly rows: number; readonly monitors: number };

/**
 * The next batch of an organisation. `more`: there is more to do now; `later`: it was kept, another
 * coordinator works on it, or others must receive announcements first; `gone`: nothing is left.
 */
export async function endOrganisation(
  sql: Queryable,
  id: string,
  at: number,
  { rows, monitors }: BatchSize,
): Promise<'more' | 'later' | 'gone'> {
  const [ending] = await sql<Ending[]>`
    select id, name, time_zone, ends_at from organisations where id = ${id}
      and ends_at <= ${new Date(at)} for no key update skip locked`;
  if (!ending) return 'later';
  if (await shut(sql, id, at)) return 'more';
  if (await forgetRows(sql, id, rows)) return 'more';
  if (await letGo(sql, ending, at)) return 'more';
  if (await removeMonitors(sql, id, monitors)) return 'more';
  if (await endPingKeysOf(sql, id)) return 'more';
  if (await revokeOneProbe(sql, id)) return 'more';
  if (await isStillNotified(sql, id)) return 'later';
  if (await forgetLog(sql, id, rows)) return 'more';
  await removeLast(sql, ending, at);
  return 'gone';
}

/** From here on nothing can be undone; API tokens and invitations stop working. */
async function shut(sql: Queryable, id: string, at: number): Promise<boolean> {
  const { count } =
    await sql`update endings set begun_at = ${new Date(at)} where organisation_id = ${id}
      and begun_at is null`;
  if (count === 0) return false;
  await sql`delete from tokens where organisation_id = ${id}`;
  await sql`delete from invitations where organisation_id = ${id}`;
  await sql`delete from probe_invitations where organisation_id = ${id}`;
  return true;
}

/** A batch of the tables with many rows; steps before the messages that they refer to. */
async function forgetRows(sql: Queryable, id: string, batchSize: number): Promise<boolean> {
  const steps = await sql`delete from alert_steps
      where ctid = any(array(select ctid from alert_steps where organisation_id = ${id}
        limit ${batchSize}))`;
  if (steps.count > 0) return true;
  const deliveries = await sql`
    delete from deliveries where ctid = any(array(
      (select ctid from deliveries where kind = 'alert' and organisation_id = ${id}
        limit ${batchSize})
      union all
      (select d.ctid from webhooks w join deliveries d on d.webhook_id = w.id
        where w.organisation_id = ${id} limit ${batchSize})
      union all
      (select d.ctid from status_pages p join status_page_subscribers s on s.page_id = p.id
        join deliveries d on d.subscriber_id = s.id
        where p.organisation_id = ${id} limit ${batchSize})))`;
  if (deliveries.count > 0) return true;
  return (
    (
      await sql`delete from alerts
        where ctid = any(array(select ctid from alerts where organisation_id = ${id}
          limit ${batchSize}))`
    ).count > 0
  );
}

/** Users keep their accounts, and lose access to the organisation. */
async function letGo(sql: Queryable, ending: Ending, at: number): Promise<boolean> {
  await mailOwners(sql, ending, 'gone', at);
  return (await sql`delete from memberships where organisation_id = ${ending.id}`).count > 0;
}

/**
 * Deletes monitors one by one: their ping addresses end, their probes are notified, and the bulk of
 * their history is deleted later. Those in the trash come last.
 */
async function removeMonitors(sql: Queryable, id: string, limit: number): Promise<boolean> {
  const monitors = await sql<{ id: string; key: number; partition: number }[]>`
    select id, key, partition from monitors where organisation_id = ${id} order by key
    limit ${limit}`;
  if (monitors.length === 0) return (await purgeOrganisation(sql, id, limit)) > 0;
  const ids = monitors.map((each) => each.id);
  await endPingTokens(sql, id, ids);
  await notifyOwners(
    sql,
    id,
    monitors.map((each) => ({ id: each.id, partition: each.partition, change: 'deleted' })),
  );
  await sql`insert into forgotten_monitors (monitor_key, monitor_id) select key, id from monitors
    where id = any(${ids}::uuid[])`;
  await sql`delete from monitors where id = any(${ids}::uuid[])`;
  return true;
}

async function revokeOneProbe(sql: Queryable, id: string): Promise<boolean> {
  const [probe] = await sql<
    { id: string }[]
  >`select id from probes where organisation_id = ${id} and revoked_at is null limit 1`;
  if (probe) await revokeProbe(sql, probe.id);
  return probe !== undefined;
}

/**
 * Pending announcements to partitions, ping receivers and probes refer to rows that would be gone.
 */
async function isStillNotified(sql: Queryable, id: string): Promise<boolean> {
  return (
    (await sql`select 1 from outbox where done_at is null and organisation_id = ${id} limit 1`)
      .length > 0
  );
}

/** Deleting the rest still writes to the log, so the log is deleted last. */
async function forgetLog(sql: Queryable, id: string, batchSize: number): Promise<boolean> {
  const events = await sql`delete from events
      where ctid = any(array(select ctid from events where organisation_id = ${id}
        limit ${batchSize}))`;
  if (events.count > 0) return true;
  const log = await sql`delete from audit_log
      where ctid = any(array(select ctid from audit_log where organisation_id = ${id}
        limit ${batchSize}))`;
  return log.count > 0;
}

async function removeLast(sql: Queryable, { id, name }: Ending, at: number): Promise<void> {
  await sql`delete from organisations where id = ${id}`;
  await insertAudit(sql, {
    at,
    organisation: null,
    user: null,
    who: 'operator',
    through: 'operator',
    token_name: null,
    address: null,
    operation: 'endOrganisation',
    changed: { about: { id }, before: { name } },
  });
}

/**
 * Small enough that no one waits for it: a monitor takes its incidents, their evidence and its
 * ledger along.
 */
const usualBatchSize: BatchSize = { rows: 10_000, monitors: 20 };

/** Mails the owners of organisations that end soon, and deletes those past their date. */
type OrganisationEndings = { readonly tick: (isTime: () => boolean) => Promise<void> };

export function createOrganisationEndings({
  sql,
  clock,
  log,
  batchSize = usualBatchSize,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly batchSize?: BatchSize;
}): OrganisationEndings {
  return {
    tick: async (isTime) => {
      const at = clock.now();
      const soon = at + lastWordMs;
      while (
        isTime() &&
        (await inTransaction(sql, (transaction) => warnOfEnd(transaction, at, soon)))
      );
      for (const id of await organisationsToEnd(sql, at))
        for (let state: 'more' | 'later' | 'gone' = 'more'; state === 'more' && isTime(); ) {
          state = await inTransaction(sql, (transaction) =>
            endOrganisation(transaction, id, at, batchSize),
          );
          if (state === 'gone')
            log.info({ organisation: id }, 'deleted an organisation whose notice period has ended');
        }
    },
  };
}

/**
 * Organisations awaiting deletion: what changes at once, and what undoing restores. All of it runs
 * under the organisation's lock.
 */
type NewEnding = {
  readonly organisation: string;
  readonly user: string | null;
  readonly at: number;
  readonly endsAt: number;
};

/** Pauses monitors and mutes notifications. Returns the number of monitors. */
export async function beginEnding(
  sql: Queryable,
  { organisation, user, at, endsAt }: NewEnding,
): Promise<number> {
  const ids = await switchMonitors(sql, organisation, 'paused', sql`true`);
  await sql`update organisations set ends_at = ${new Date(endsAt)} where id = ${organisation}`;
  await sql`insert into endings (organisation_id, asked_at, asked_by, paused, muted_until, muted_by)
    select ${organisation}, ${new Date(at)}, ${user}, ${ids}::uuid[], m.until, m.muted_by
    from (select 1) as one
    left join (select until, muted_by from mutes where organisation_id = ${organisation}
      and monitor_id is null and ended_at is null and until > ${new Date(at)}
      order by until desc limit 1) m on true`;
  await beginMute(sql, { organisation, user, at, until: endsAt });
  return ids.length;
}

/** Switches those that are not so yet, and returns them. */
async function switchMonitors(
  sql: Queryable,
  organisation: string,
  change: 'paused' | 'resumed',
  which: ReturnType<Queryable>,
): Promise<readonly string[]> {
  const enabled = change === 'resumed';
  const monitors = await sql<{ id: string; partition: number }[]>`
    with switched as (update monitors
      set enabled = ${enabled}, paused_at = case when not ${enabled}::boolean then now() end
      where organisation_id = ${organisation} and enabled <> ${enabled} and ${which}
      returning id, partition, key)
    select id, partition from switched order by key`;
  await notifyOwners(
    sql,
    organisation,
    monitors.map((each) => ({ ...each, change })),
  );
  return monitors.map(({ id }) => id);
}

/**
 * Restores everything; what was paused before stays paused. Returns how many monitors are checked
 * again; undefined when it is too late.
 */
export async function undoEnding(
  sql: Queryable,
  organisation: string,
  at: number,
): Promise<number | undefined> {
  const [ending] = await sql<
    { paused: string[]; muted_until: number | null; muted_by: string | null }[]
  >`
    delete from endings e using organisations o where e.organisation_id = ${organisation}
      and o.id = e.organisation_id
      and e.begun_at is null and o.ends_at > ${new Date(at)}
    returning e.paused, e.muted_until, e.muted_by`;
  if (!ending) return undefined;
  await sql`update organisations set ends_at = null where id = ${organisation}`;
  const { paused, muted_until, muted_by } = ending;
  const resumed = await switchMonitors(
    sql,
    organisation,
    'resumed',
    sql`id = any(${paused}::uuid[])`,
  );
  await endMute(sql, organisation, at);
  if (muted_until !== null && muted_until > at)
    await beginMute(sql, { organisation, user: muted_by, at, until: muted_until });
  return resumed.length;
}

const day = 86_400_000;

/** How long everything is kept. */
export const keptMs = 7 * day;

/** How long before the end its owners are mailed for the last time. */
const lastWordMs = day;

export function isSameName(typed: string, name: string): boolean {
  return asTyped(typed) === asTyped(name);
}

/**
 * As people see and type it: invisible blanks and different encodings of one letter do not count.
 */
function asTyped(name: string): string {
  return name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
}
