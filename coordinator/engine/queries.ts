import pg from 'pg';
import { type Continent, isContinent } from '../../shared/base/continents.ts';
import { bucketLength } from '../../shared/bus/envelope.ts';
import { type Config, hashOf } from '../../shared/checks/assignment.ts';
import { defaultName } from '../../shared/checks/config.ts';
import { timeoutMs } from '../../shared/checks/kind-config.ts';
import { isHarmless, type Kind } from '../../shared/checks/kinds.ts';
import { abilityFor, insideOf } from '../../shared/checks/placement.ts';
import type { Bucket } from '../assignments/envelopes.ts';
import type { Watched } from '../core/types.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { enqueue } from '../database/outbox.ts';
import { inPages } from '../gate/cursors.ts';
import { parentsToAsk } from '../monitors/dependency-queries.ts';
import { newestBatch } from '../results/journal.ts';
import type { FreeLease, Others } from './division.ts';

/** What the owner of a partition knew at `takenAt`, packed by it. */
export type StoredCheckpoint = { readonly takenAt: number; readonly state: Uint8Array };

/** With how much of the journal it knew. */
export async function readCheckpoint(
  sql: Queryable,
  partition: number,
): Promise<(StoredCheckpoint & { readonly journal: number }) | undefined> {
  const [row] = await sql<
    { taken_at: number; state: Uint8Array; journal_id: number }[]
  >`select taken_at, state, journal_id from checkpoints where partition = ${partition}`;
  return row && { takenAt: row.taken_at, state: row.state, journal: row.journal_id };
}

export function writeCheckpoint(
  sql: Queryable,
  partition: number,
  checkpoint: StoredCheckpoint,
): Statement {
  return sql`insert into checkpoints (partition, taken_at, state, journal_id)
    values (${partition}, ${new Date(checkpoint.takenAt)}, ${checkpoint.state},
      ${newestBatch(sql, partition)})
    on conflict (partition) do update set taken_at = excluded.taken_at, state = excluded.state,
      journal_id = excluded.journal_id`;
}

type Alive = { readonly owner: string; readonly version: string; readonly hasBus: boolean };

/** Records that this coordinator is alive. Counts the others that are and have the bus. */
export async function recordCoordinator(
  sql: Queryable,
  { owner, version, hasBus }: Alive,
  { heardMs, countedMs }: { readonly heardMs: number; readonly countedMs: number },
): Promise<Others> {
  const [row] = await sql<{ heard: number; counted: number }[]>`
    with mine as (
      insert into coordinators (id, version, seen_at, has_bus)
      values (${owner}, ${version}, now(), ${hasBus})
      on conflict (id) do update set seen_at = excluded.seen_at, has_bus = excluded.has_bus
    )
    select count(*) filter (where has_bus) as counted,
      count(*) filter (where has_bus
        and seen_at > now() - ${heardMs} * interval '1 millisecond') as heard
    from coordinators
    where id <> ${owner} and seen_at > now() - ${countedMs} * interval '1 millisecond'`;
  return { heard: row?.heard ?? 0, counted: row?.counted ?? 0 };
}

/** Removes coordinators that ended without saying so, once no one needs to know about them. */
export async function forgetCoordinators(sql: Queryable): Promise<void> {
  await sql`delete from coordinators where seen_at < now() - interval '1 hour'`;
}

/**
 * Who owns which partition. The epoch rises with every change of owner, and every commit checks it.
 * So an owner that was frozen, and does not know that it was replaced, can write nothing. An
 * expired lease still holds until another coordinator takes it.
 */
export type Lease = { readonly partition: number; readonly epoch: number };

/**
 * Renews this owner's leases; another coordinator has taken those missing from the result. Rows are
 * locked in order of partition, as in commits. In any other order both could wait for each other,
 * and the database would end one of them after a second.
 */
export function renewLeases(sql: Queryable, owner: string, lastsMs: number): Promise<Lease[]> {
  return sql<Lease[]>`
    update leases set expires_at = now() + ${lastsMs} * interval '1 millisecond'
    where partition in (select partition from leases where owner = ${owner}
      order by partition for no key update)
    returning partition, epoch`;
}

export function freeLeases(sql: Queryable): Promise<FreeLease[]> {
  return sql<FreeLease[]>`
    select partition, extract(epoch from now() - expires_at)::float8 * 1000 as "freeMs"
    from leases where expires_at < now() order by partition`;
}

/**
 * Takes those of these partitions that are still free. Those that are being written to are left for
 * the next time.
 */
export function takeLeases(
  sql: Queryable,
  owner: string,
  partitions: readonly number[],
  lastsMs: number,
): Promise<Lease[]> {
  return sql<Lease[]>`
    update leases
    set owner = ${owner}, epoch = epoch + 1,
      expires_at = now() + ${lastsMs} * interval '1 millisecond'
    where partition in (select partition from leases where expires_at < now()
      and partition = any(${partitions}) order by partition for update skip locked)
    returning partition, epoch`;
}

export class Fenced extends Error {
  readonly partitions: readonly number[];

  constructor(partitions: readonly number[]) {
    super(`the partitions ${partitions.join(', ')} belong to another coordinator now`);
    this.name = 'Fenced';
    this.partitions = partitions;
  }
}

/**
 * Gives the same owner a new epoch, under which it loads the partition again. A commit whose answer
 * never came may still run in the database. This waits for a commit that holds the lease; one that
 * comes later under the old epoch can write nothing. @throws Fenced when another coordinator owns
 * it.
 */
export async function renewEpoch(sql: Queryable, { partition, epoch }: Lease): Promise<Lease> {
  const [renewed] = await sql<Lease[]>`
    update leases set epoch = epoch + 1 where partition = ${partition} and epoch = ${epoch}
      and owner is not null returning partition, epoch`;
  if (!renewed) throw new Fenced([partition]);
  return renewed;
}

export const leasesChannel = 'leases';

/** Releases partitions and wakes the other coordinators, so that they take them at once. */
export async function releaseLeases(
  sql: Queryable,
  owner: string,
  partitions: readonly number[],
): Promise<void> {
  await sql`update leases set owner = null, expires_at = now() where owner = ${owner}
    and partition = any(${partitions})`;
  await sql`select pg_notify(${leasesChannel}, '')`;
}

/** This coordinator ends: the others stop counting it. */
export async function forgetCoordinator(sql: Queryable, owner: string): Promise<void> {
  await sql`delete from coordinators where id = ${owner}`;
}

/** The number of partitions with an owner and an unexpired lease. */
export async function ownedPartitions(sql: Queryable): Promise<number> {
  const [row] = await sql<
    { owned: number }[]
  >`select count(*) as owned from leases where expires_at > now()`;
  return row?.owned ?? 0;
}

/**
 * Locks these leases until the transaction ends, and fails when one of them was taken before: see
 * fencedBy().
 */
export function fence(sql: Queryable, owner: string, leases: readonly Lease[]): Statement {
  return sql`select hold_leases(${owner},
    ${leases.map(({ partition }) => partition)}::smallint[],
    ${leases.map(({ epoch }) => epoch)}::bigint[])`;
}

/** Turns an error of fence() into Fenced; returns any other error as it is. */
export function fencedBy(error: unknown): unknown {
  const isFence = error instanceof pg.DatabaseError && error.code === 'AP001';
  return isFence ? new Fenced((error.detail ?? '').split(',').map(Number)) : error;
}

type Pause = { readonly began_at: number; readonly ended_at: number | null };

/**
 * The last pause of each monitor of a partition, as the engine wrote it; the monitor's row may be
 * newer.
 */
export async function lastPauses(
  sql: Queryable,
  partition: number,
): Promise<ReadonlyMap<string, Pause>> {
  const rows = await sql<{ monitor_id: string; began_at: number; ended_at: number | null }[]>`
    select distinct on (l.monitor_id) l.monitor_id, l.began_at, l.ended_at from ledger l
    join monitors m on m.id = l.monitor_id
    where m.partition = ${partition} and l.kind = 'paused' order by l.monitor_id, l.began_at desc`;
  return new Map(
    rows.map(({ monitor_id, began_at, ended_at }) => [monitor_id, { began_at, ended_at }]),
  );
}

/** A message that could not be processed, kept for the operator; once, however often it came. */
export async function setAside(
  sql: Queryable,
  message: { subject: string; reason: string; data: Uint8Array },
): Promise<void> {
  await sql`insert into set_aside (subject, reason, data)
    select ${message.subject}, ${message.reason}, ${message.data}
    where not exists (select from set_aside
      where subject = ${message.subject} and data = ${message.data})`;
}

type SetAside = {
  readonly id: number;
  readonly subject: string;
  readonly reason: string;
  readonly at: number;
  readonly bytes: number;
  /** How often another run failed. */
  readonly attempts: number;
  /** Since when it waits for another run; null when none was requested. */
  readonly retry_asked_at: number | null;
};

const columns = 'id, subject, reason, octet_length(data) as bytes, attempts, at, retry_asked_at';

/** The newest first. */
export function allSetAside(sql: Queryable): Promise<SetAside[]> {
  return sql<SetAside[]>`select ${sql.unsafe(columns)} from set_aside order by id desc limit 1000`;
}

export async function setAsideById(
  sql: Queryable,
  id: number,
): Promise<(SetAside & { readonly data: Uint8Array }) | undefined> {
  const [row] = await sql<
    (SetAside & { data: Uint8Array })[]
  >`select ${sql.unsafe(columns)}, data from set_aside where id = ${id}`;
  return row;
}

/**
 * Requests another run of one or all of them by the owners of their partitions; returns the
 * requested ones.
 */
export async function retrySetAside(sql: Queryable, id: number | null): Promise<number[]> {
  // Results and pings both have their partition as the third token of their subject.
  const rows = await sql<{ id: number; partition: number }[]>`
    update set_aside set retry_asked_at = now()
    where retry_asked_at is null
      and split_part(subject, '.', 3) ~ '^[0-9]+$' ${id === null ? sql`` : sql`and id = ${id}`}
    returning id, split_part(subject, '.', 3)::int as partition`;
  for (const row of rows)
    await enqueue(sql, {
      topic: 'set_aside',
      payload: { id: row.id },
      partition: row.partition,
      organisation: null,
    });
  return rows.map((row) => row.id).toSorted((a, b) => a - b);
}

/** The other run failed too. */
export async function keepSetAside(sql: Queryable, id: number, reason: string): Promise<void> {
  await sql`update set_aside set reason = ${reason}, attempts = attempts + 1, retry_asked_at = null
    where id = ${id}`;
}

/** Deletes one or all of them; returns the deleted ones. */
export async function dropSetAside(sql: Queryable, id: number | null): Promise<number[]> {
  const rows = await sql<
    { id: number }[]
  >`delete from set_aside ${id === null ? sql`` : sql`where id = ${id}`} returning id`;
  return rows.map((row) => row.id).toSorted((a, b) => a - b);
}

/** A monitor as the engine needs it: to decide about it, and to assign it to probes. */
export type MonitorRow = {
  readonly id: string;
  readonly key: number;
  readonly organisation_id: string;
  readonly partition: number;
  readonly type: Kind;
  readonly target: string;
  readonly interval_s: number;
  readonly config: Config;
  readonly places: readonly string[] | null;
  readonly secrets: Uint8Array | null;
  readonly config_version: number;
  readonly created_at: number;
  readonly paused_at: number | null;
};

/** All monitors of a partition, in pages. */
export function monitorsOfPartition(
  sql: Queryable,
  partition: number,
): AsyncGenerator<MonitorRow[]> {
  return inPages(
    0,
    ({ key }) => key,
    (after) => monitorsAfter(sql, partition, after),
  );
}

/** The only secret of a heartbeat is an address, which no probe needs. */
const watchedColumns =
  "id, key, organisation_id, partition, type, target, interval_s, config, places, case when type <> 'heartbeat' then secrets end as secrets, config_version, created_at, paused_at";

/**
 * With short pages, rows are collected while young; longer pages survive until the rare major
 * collection of garbage.
 */
const pageLength = 250;

/** A page of a partition's monitors: those after this key. */
function monitorsAfter(sql: Queryable, partition: number, after: number) {
  return sql<MonitorRow[]>`
    select ${sql.unsafe(watchedColumns)} from monitors where partition = ${partition}
      and key > ${after} order by key limit ${pageLength}`;
}

/** The first monitor of a partition after this key. */
export async function keyAfter(
  sql: Queryable,
  partition: number,
  after: number,
): Promise<number | undefined> {
  const [row] = await sql<{ key: number }[]>`
    select key from monitors where partition = ${partition} and key > ${after}
    order by key limit 1`;
  return row?.key;
}

/** The monitors of a bucket, which is a page as well. */
export function monitorsOfBucket(sql: Queryable, { partition, bucket }: Bucket) {
  return sql<MonitorRow[]>`
    select ${sql.unsafe(watchedColumns)} from monitors where partition = ${partition}
      and key >= ${bucket * bucketLength} and key < ${(bucket + 1) * bucketLength} order by key`;
}

/** The monitors of a partition with changes that are not published yet. */
export async function changingMonitors(
  sql: Queryable,
  partition: number,
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ monitor: string }[]>`
    select distinct payload ->> 'monitor' as monitor from outbox
    where done_at is null and topic = 'monitor' and partition = ${partition}`;
  return new Set(rows.map(({ monitor }) => monitor));
}

export function monitorsById(sql: Queryable, ids: readonly string[]) {
  return sql<
    MonitorRow[]
  >`select ${sql.unsafe(watchedColumns)} from monitors where id = any(${ids})`;
}

/** Whatever these monitors depend on, each once (rule 47). */
export function parentsToAskOf(sql: Queryable, monitors: readonly string[]) {
  return sql<MonitorRow[]>`
    select ${sql.unsafe(watchedColumns)} from monitors where id in (
      select a.id from monitors c cross join lateral ${parentsToAsk(sql)} a
      where c.id = any(${monitors})
        and (c.depends_on_monitors <> '{}' or c.depends_on_groups <> '{}'))`;
}

export function watchedOf(row: MonitorRow): Watched {
  const { config } = row;
  const after = config.alert_after_s;
  return {
    id: row.id,
    organisation: row.organisation_id,
    kind: row.type,
    interval_ms: row.interval_s * 1_000,
    timeout_ms: timeoutMs(config, row.interval_s),
    continents: continentsIn(config),
    probe: placeIn(config),
    places: row.places,
    inside_counts: config.inside_counts === true,
    inside: insideOf(row.type, row.target, config)?.addresses,
    ability: abilityFor(row.type, config),
    config_version: row.config_version,
    alert_after_ms: typeof after === 'number' ? after * 1_000 : 0,
    sampled: isHarmless[row.type](config),
    created_at: row.created_at,
    paused_at: row.paused_at,
  };
}

/** The continents that the config allows; null when it allows all. */
export function continentsIn(config: Config): readonly Continent[] | null {
  const given = config.continents;
  return Array.isArray(given) ? given.filter(isContinent) : null;
}

/** The private place that its config names. */
export function placeIn(config: Config): string | null {
  return typeof config.probe === 'string' ? config.probe : null;
}

/** Equal for targets on the same host. */
export function targetHash({ type, target }: Pick<MonitorRow, 'type' | 'target'>): number {
  return hashOf(defaultName(type, target) ?? target);
}

/** How far the results of one generation of a probe's spool are committed in a partition. */
export type Watermark = {
  readonly probe_key: number;
  readonly generation: string;
  readonly partition: number;
  readonly seq: number;
};

export function writeWatermarks(sql: Queryable, rows: readonly Watermark[]): Statement[] {
  if (rows.length === 0) return [];
  const statement = sql`
    insert into watermarks (probe_key, generation, partition, seq)
    select * from unnest(
      ${rows.map((row) => row.probe_key)}::int[],
        ${rows.map((row) => row.generation)}::uuid[],
      ${rows.map((row) => row.partition)}::smallint[],
        ${rows.map((row) => row.seq)}::bigint[])
    on conflict (probe_key, generation, partition) do update
    set seq = excluded.seq, changed_at = now()`;
  return [statement];
}

export function watermarksOfPartition(sql: Queryable, partition: number): Promise<Watermark[]> {
  return sql<
    Watermark[]
  >`select probe_key, generation, partition, seq from watermarks where partition = ${partition}`;
}

/** Partition → seq of one generation: up to there a probe may trim its spool. */
export async function committedOf(
  sql: Queryable,
  probeKey: number,
  generation: string,
): Promise<Record<string, number>> {
  const rows = await sql<{ partition: number; seq: number }[]>`
    select partition, seq from watermarks where probe_key = ${probeKey}
      and generation = ${generation}`;
  return Object.fromEntries(rows.map(({ partition, seq }) => [partition, seq]));
}

/** Deletes generations that a probe left a month ago; it cannot return with results of them. */
export async function forgetWatermarks(sql: Queryable): Promise<void> {
  await sql`delete from watermarks where changed_at < now() - interval '30 days' and exists (
    select 1 from watermarks newer where newer.probe_key = watermarks.probe_key
      and newer.generation <> watermarks.generation
      and newer.changed_at > watermarks.changed_at)`;
}
