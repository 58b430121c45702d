import { insertAudit } from './store-audit.ts';
import type { Queryable } from './store-database.ts';
import { ownersOf } from './store-last-resorts.ts';
import { postMails } from './store-mails.ts';
import { tellOwners } from './store-monitors-at-once.ts';
import { outboxChannel } from './store-outbox.ts';
import { revokeProbe } from './store-probes.ts';

/**
 * What is left of organisations whose days are over goes in bites, each a transaction of its own: whoever is killed between two leaves a
 * smaller rest, and another goes on with it.
 */

type Ending = { readonly id: string; readonly name: string; readonly time_zone: string; readonly ends_at: Date };

const mailOwners = async (
  sql: Queryable,
  { id, name, time_zone, ends_at }: Ending,
  what: 'ends-soon' | 'gone',
  at: Date,
): Promise<void> => {
  const owners = (await ownersOf(sql, [id])).get(id) ?? [];
  const about = { what, organisation: name, by: null, ends_at: ends_at.toISOString(), time_zone };
  await postMails(
    sql,
    owners.map((recipient) => ({ kind: 'organisation', recipient, about, at })),
  );
};

/** Mails the owners of one organisation that ends soon for the last time. False: there is none that was not told. */
export const warnOfEnd = async (sql: Queryable, at: Date, endsBefore: Date): Promise<boolean> => {
  const [ending] = await sql<Ending[]>`
    select o.id, o.name, o.time_zone, o.ends_at from organisations o join endings e on e.organisation_id = o.id
    where o.ends_at <= ${endsBefore} and o.ends_at > ${at} and e.warned_at is null limit 1 for no key update of o skip locked`;
  if (!ending) return false;
  await sql`update endings set warned_at = ${at} where organisation_id = ${ending.id}`;
  await mailOwners(sql, ending, 'ends-soon', at);
  return true;
};

/** Organisations whose days are over, the longest first. */
export const organisationsToEnd = async (sql: Queryable, at: Date): Promise<string[]> =>
  (await sql<{ id: string }[]>`select id from organisations where ends_at <= ${at} order by ends_at, id limit 100`).map(({ id }) => id);

/** Nothing is undone any more, and no program and no probe comes in. */
const shut = async (sql: Queryable, id: string, at: Date): Promise<boolean> => {
  const { count } = await sql`update endings set begun_at = ${at} where organisation_id = ${id} and begun_at is null`;
  if (count === 0) return false;
  await sql`delete from tokens where organisation_id = ${id}`;
  await sql`delete from invitations where organisation_id = ${id}`;
  await sql`delete from probe_invitations where organisation_id = ${id}`;
  return true;
};

/** A bite of what many rows are; steps before the messages that they refer to. */
const forgetRows = async (sql: Queryable, id: string, bite: number): Promise<boolean> => {
  const steps =
    await sql`delete from alert_steps where ctid = any(array(select ctid from alert_steps where organisation_id = ${id} limit ${bite}))`;
  if (steps.count > 0) return true;
  const messages =
    await sql`delete from messages where ctid = any(array(select ctid from messages where organisation_id = ${id} limit ${bite}))`;
  if (messages.count > 0) return true;
  return (
    (await sql`delete from alerts where ctid = any(array(select ctid from alerts where organisation_id = ${id} limit ${bite}))`).count > 0
  );
};

/** People keep their accounts, and see nothing of it from here on. */
const letGo = async (sql: Queryable, ending: Ending, at: Date): Promise<boolean> => {
  await mailOwners(sql, ending, 'gone', at);
  return (await sql`delete from memberships where organisation_id = ${ending.id}`).count > 0;
};

/** Monitors as if each were deleted: their addresses for jobs end, whoever checks them hears of it, and the bulk of their history follows. */
const removeMonitors = async (sql: Queryable, id: string, most: number): Promise<boolean> => {
  const monitors = await sql<{ id: string; key: number; partition: number }[]>`
    select id, key, partition from monitors where organisation_id = ${id} order by key limit ${most}`;
  if (monitors.length === 0) return false;
  const ids = monitors.map((each) => each.id);
  const keys = await sql<{ key: string }[]>`
    delete from beat_tokens where organisation_id = ${id} and monitor_id = any(${ids}::uuid[]) returning encode(fingerprint, 'hex') as key`;
  if (keys.length > 0) {
    const payloads = JSON.stringify(keys.map(({ key }) => ({ payload: { key, monitor: null, until: null } })));
    await sql`insert into outbox (topic, partition, organisation_id, payload)
      select 'beat_key', null, ${id}, l.payload from json_to_recordset(${payloads}::text::json) as l (payload jsonb)`;
    await sql`select pg_notify(${outboxChannel}, 'beat_key')`;
  }
  await tellOwners(sql, id, monitors, 'deleted');
  await sql`insert into forgotten_monitors (monitor_key, monitor_id) select key, id from monitors where id = any(${ids}::uuid[])`;
  await sql`delete from monitors where id = any(${ids}::uuid[])`;
  return true;
};

const revokeOneProbe = async (sql: Queryable, id: string): Promise<boolean> => {
  const [probe] = await sql<{ id: string }[]>`select id from probes where organisation_id = ${id} and revoked_at is null limit 1`;
  if (probe) await revokeProbe(sql, probe.id);
  return probe !== undefined;
};

/** What partitions, jobs' addresses and probes are yet to hear refers to what would be gone. */
const isStillTold = async (sql: Queryable, id: string): Promise<boolean> =>
  (await sql`select 1 from outbox where done_at is null and organisation_id = ${id} limit 1`).length > 0;

/** What happened to the rest until now is written down as it goes: so this goes last. */
const forgetLog = async (sql: Queryable, id: string, bite: number): Promise<boolean> => {
  const events = await sql`delete from events where ctid = any(array(select ctid from events where organisation_id = ${id} limit ${bite}))`;
  if (events.count > 0) return true;
  const log =
    await sql`delete from audit_log where ctid = any(array(select ctid from audit_log where organisation_id = ${id} limit ${bite}))`;
  return log.count > 0;
};

const removeLast = async (sql: Queryable, { id, name }: Ending, at: Date): Promise<void> => {
  await sql`delete from organisations where id = ${id}`;
  await insertAudit(sql, {
    ...{ at, organisation: null, user: null, who: 'operator', through: 'operator', token_name: null, address: null },
    operation: 'endOrganisation',
    changed: { about: { id }, before: { name } },
  });
};

export type Bite = { readonly rows: number; readonly monitors: number };

/** The next bite of it. `more`: there is more to do now; `later`: others are to hear of it first; `gone`: nothing is left. */
export const endOrganisation = async (
  sql: Queryable,
  id: string,
  at: Date,
  { rows, monitors }: Bite,
): Promise<'more' | 'later' | 'gone'> => {
  const [ending] = await sql<Ending[]>`
    select id, name, time_zone, ends_at from organisations where id = ${id} and ends_at <= ${at} for no key update skip locked`;
  if (!ending) return 'later';
  if (await shut(sql, id, at)) return 'more';
  if (await forgetRows(sql, id, rows)) return 'more';
  if (await letGo(sql, ending, at)) return 'more';
  if (await removeMonitors(sql, id, monitors)) return 'more';
  if (await revokeOneProbe(sql, id)) return 'more';
  if (await isStillTold(sql, id)) return 'later';
  if (await forgetLog(sql, id, rows)) return 'more';
  await removeLast(sql, ending, at);
  return 'gone';
};
