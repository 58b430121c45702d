import { z } from 'zod';
import type { Continent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isViolationOf, type Queryable, type Sql, type Transaction } from './store-database.ts';
import { enqueue, outboxChannel } from './store-outbox.ts';
import { growSealEpoch } from './store-seal-epochs.ts';
import { inTransaction } from './store-sql-transactions.ts';

/** A probe as the coordinator knows it. */
export type ProbeRow = {
  readonly id: string;
  readonly key: number;
  readonly organisation_id: string | null;
  readonly name: string;
  readonly continent: Continent;
  /** The public nkeys that may speak for it, with the time until which a rotated-out one may (null: for good). */
  readonly keys: readonly ProbeKey[];
  readonly allowed_cidrs: readonly string[];
  readonly seal_key: string | null;
  readonly ear: string | null;
  readonly version: string | null;
  readonly created_at: Date;
  readonly revoked_at: Date | null;
  readonly last_seen_at: Date | null;
  /** Since when it is not believed, and why: it is sick, or its place is doubted. */
  readonly quarantined_at: Date | null;
  readonly quarantine_reason: string | null;
  /** Since when too much of what it saw was refuted. */
  readonly sick_at: Date | null;
  /** Since when it is known that it cannot be where it says, and how. */
  readonly doubted_at: Date | null;
  readonly doubt_reason: string | null;
  /** The continent that the operator knows it to be on. */
  readonly place_trusted_as: string | null;
  /** By how much it corrects the clock of its host. */
  readonly clock_offset_ms: number | null;
  /** Since when the credentials of a private probe let it publish to its relay alone. */
  readonly relayed_at: Date | null;
};

export type ProbeKey = { readonly key: string; readonly until: number | null };

const keysShape = z.array(z.object({ key: z.string(), until: z.number().nullable() }));

/** A probe that is sick and one whose place is doubted are held alike. */
export const notBelieved = (sql: Queryable) =>
  sql`coalesce(quarantined_at, doubted_at) as quarantined_at, coalesce(quarantine_reason, doubt_reason) as quarantine_reason`;

/** All of them, revoked ones included, because old results and watermarks refer to them; oldest first. */
export const allProbes = async (sql: Queryable, organisation?: string): Promise<ProbeRow[]> => {
  const rows = await sql<ProbeRow[]>`
    select id, key, organisation_id, name, continent, keys, allowed_cidrs, seal_key, ear, version, created_at, revoked_at, last_seen_at,
      ${notBelieved(sql)}, quarantined_at as sick_at, doubted_at, doubt_reason, place_trusted_as, clock_offset_ms,
      relayed_at
    from probes ${organisation === undefined ? sql`` : sql`where organisation_id = ${organisation}`} order by key`;
  return rows.map((row) => ({ ...row, keys: keysShape.parse(row.keys) }));
};

/** Whether the probe is there and this key speaks for it. */
export const isProbeAlive = async (sql: Queryable, id: string, key: string): Promise<boolean> => {
  const rows = await sql`select 1 from probes
    where id = ${id} and revoked_at is null and keys @> ${JSON.stringify([{ key, until: null }])}::text::jsonb`;
  return rows.length > 0;
};

/** What a key is already: the probe that it speaks for, or `ended` when it never may again. */
export const standingOfKey = async (sql: Queryable, key: string): Promise<(NamedProbe & { readonly id: string }) | 'ended' | undefined> => {
  const [probe] = await sql<(NamedProbe & { id: string })[]>`select id, name, continent, organisation_id as organisation from probes
    where revoked_at is null and keys @> ${JSON.stringify([{ key, until: null }])}::text::jsonb`;
  if (probe) return probe;
  return (await sql`select 1 from revoked_keys where key = ${key}`).length > 0 ? 'ended' : undefined;
};

export type NamedProbe = { readonly name: string; readonly continent: Continent; readonly organisation: string | null };

type Made = NamedProbe & { readonly key: string };

/** @throws Refusal `name_taken`. */
export const insertProbe = async (sql: Queryable, id: string, { name, continent, organisation, key }: Made): Promise<void> => {
  const keys: ProbeKey[] = [{ key, until: null }];
  try {
    await sql`insert into probes (id, organisation_id, name, continent, keys, relayed_at)
      values (${id}, ${organisation}, ${name}, ${continent}, ${JSON.stringify(keys)}::text::jsonb, ${organisation === null ? null : sql`now()`})`;
  } catch (error) {
    if (isViolationOf(error, 'probes_name_key'))
      throw new Refusal('name_taken', `name: there is a probe "${name}" already; choose another name.`);
    throw error;
  }
  await enqueue(sql, { topic: 'probe', payload: { probe: id, change: 'created' }, partition: null, organisation });
};

const lockedProbe = async (
  sql: Queryable,
  id: string,
): Promise<{ name: string; continent: Continent; organisation_id: string | null; keys: ProbeKey[] }> => {
  const [row] = await sql<{ name: string; continent: Continent; organisation_id: string | null; keys: unknown }[]>`
    select name, continent, organisation_id, keys from probes where id = ${id} and revoked_at is null for update`;
  if (!row) throw new Refusal('probe_not_found', 'There is no such probe, or it was revoked.');
  return { ...row, keys: keysShape.parse(row.keys) };
};

/** Adds a key; the older ones end at `until`. @throws Refusal `probe_not_found`. */
export const addProbeKey = async (
  sql: Queryable,
  id: string,
  issue: (of: { name: string; continent: Continent; organisation: string | null }) => string,
  until: number,
): Promise<void> => {
  const { name, continent, organisation_id, keys } = await lockedProbe(sql, id);
  const next: ProbeKey[] = [
    ...keys.map(({ key, until: before }) => ({ key, until: Math.min(before ?? until, until) })),
    { key: issue({ name, continent, organisation: organisation_id }), until: null },
  ];
  await sql`update probes set keys = ${JSON.stringify(next)}::text::jsonb where id = ${id}`;
  await enqueue(sql, { topic: 'probe', payload: { probe: id, change: 'rotated' }, partition: null, organisation: organisation_id });
};

/** These keys are void, and so is the key of the network that whoever held them has. */
const voidKeys = async (
  sql: Queryable,
  { id, continent, organisation_id }: { id: string; continent: Continent; organisation_id: string | null },
  keys: readonly ProbeKey[],
): Promise<void> => {
  await sql`insert into revoked_keys (key) select unnest(${keys.map(({ key }) => key)}::text[]) on conflict do nothing`;
  await growSealEpoch(sql, organisation_id === null ? continent : id);
};

/** Takes every key away for good. @throws Refusal `probe_not_found`. */
export const revokeProbe = async (sql: Queryable, id: string): Promise<void> => {
  const { organisation_id, continent, keys } = await lockedProbe(sql, id);
  await voidKeys(sql, { id, continent, organisation_id }, keys);
  await sql`update probes set keys = '[]', revoked_at = now() where id = ${id}`;
  await enqueue(sql, { topic: 'probe', payload: { probe: id, change: 'revoked' }, partition: null, organisation: organisation_id });
};

const endOldKeysOf = async (sql: Transaction, id: string, now: number): Promise<void> => {
  const { organisation_id, continent, keys } = await lockedProbe(sql, id);
  const over = keys.filter(({ until }) => until !== null && until <= now);
  if (over.length === 0) return;
  await voidKeys(sql, { id, continent, organisation_id }, over);
  await sql`update probes set keys = ${JSON.stringify(keys.filter((key) => !over.includes(key)))}::text::jsonb where id = ${id}`;
  await sql`select pg_notify(${outboxChannel}, 'probe')`;
};

/** Rotated-out keys whose time is over are taken away. True when there were any. */
export const endOldKeys = async (sql: Sql, now: number): Promise<boolean> => {
  const probes = (await allProbes(sql)).filter(({ keys }) => keys.some(({ until }) => until !== null && until <= now));
  for (const { id } of probes) await inTransaction(sql, (transaction) => endOldKeysOf(transaction, id, now));
  return probes.length > 0;
};

/** Key → when it was revoked, of all that ever were. */
export const revokedKeys = async (sql: Queryable): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql<{ key: string; revoked_at: Date }[]>`select key, revoked_at from revoked_keys`;
  return new Map(rows.map(({ key, revoked_at }) => [key, revoked_at.getTime()]));
};

export type Seen = {
  readonly id: string;
  readonly at: number;
  readonly version: string;
  readonly seal_key: string;
  readonly ear: string | null;
  readonly allowed_cidrs: readonly string[];
  readonly clock_offset_ms: number | null;
};

/** Writes down what probes said of themselves, in bulk. */
export const writeSeen = async (sql: Queryable, seen: readonly Seen[]): Promise<void> => {
  if (seen.length === 0) return;
  const rows = seen.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
  await sql`
    update probes p set last_seen_at = s.at, version = s.version, seal_key = s.seal_key, ear = s.ear, allowed_cidrs = s.allowed_cidrs,
      clock_offset_ms = s.clock_offset_ms
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as s (id uuid, at timestamptz, version text, seal_key text, ear text, allowed_cidrs text[], clock_offset_ms int)
    where p.id = s.id`;
};

export const setQuarantine = async (sql: Queryable, id: string, reason: string | null): Promise<void> => {
  await sql`update probes set quarantined_at = ${reason === null ? null : sql`coalesce(quarantined_at, now())`}, quarantine_reason = ${reason} where id = ${id}`;
};

/** It cannot be where it says. False when the operator has said that it is there, or this is known already. */
export const doubtPlace = async (sql: Queryable, id: string, reason: string): Promise<boolean> => {
  const rows = await sql`update probes set doubted_at = now(), doubt_reason = ${reason}
    where id = ${id} and revoked_at is null and doubted_at is null and place_trusted_as is distinct from continent returning 1`;
  if (rows.length > 0) await sql`select pg_notify(${outboxChannel}, 'probe')`;
  return rows.length > 0;
};

/** The operator's word on where it is, or its end. Undefined when there is no such probe. */
export const trustPlace = async (sql: Queryable, id: string, isTrusted: boolean): Promise<NamedProbe | undefined> => {
  const [row] = await sql<NamedProbe[]>`
    update probes set place_trusted_as = ${isTrusted ? sql`continent` : null},
      doubted_at = ${isTrusted ? null : sql`doubted_at`}, doubt_reason = ${isTrusted ? null : sql`doubt_reason`}
    where id = ${id} and revoked_at is null returning name, continent, organisation_id as organisation`;
  if (row) await sql`select pg_notify(${outboxChannel}, 'probe')`;
  return row;
};

/** What a probe says it has dropped since it was started; true when that is more than was known. */
export const writeDropped = async (sql: Queryable, id: string, session: string, dropped: number): Promise<boolean> => {
  // Those of the public are counted by the day, too.
  const rows = await sql`
    with before as (select id, organisation_id, dropped_session, dropped from probes where id = ${id} for update),
    news as (update probes p set dropped = ${dropped}, dropped_session = ${session} from before b
      where p.id = b.id and (b.dropped_session is distinct from ${session} or b.dropped < ${dropped})
      returning p.id, case when b.dropped_session is distinct from ${session} then ${dropped} else ${dropped} - b.dropped end as lost, b.organisation_id),
    counted as (insert into own_losses as o (day, results)
      select (now() at time zone 'UTC')::date, lost from news where organisation_id is null
      on conflict (day) do update set results = o.results + excluded.results)
    select id from news`;
  return rows.length > 0;
};
