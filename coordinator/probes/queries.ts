import { z } from 'zod';
import type { Continent } from '../../shared/base/continents.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { DirectoryProof } from '../../shared/base/http-signatures.ts';
import { requestKey } from '../../shared/bus/messages.ts';
import { type Share, together } from '../core/quarantine.ts';
import { isViolationOf, type Queryable, type Sql, type Transaction } from '../database/connect.ts';
import { enqueue, outboxChannel } from '../database/outbox.ts';
import { countOf, inTransaction } from '../database/sql.ts';
import type { CursorPlace } from '../gate/cursors.ts';
import { growSealEpoch } from '../secrets/at-rest.ts';
import { placeOf } from './places.ts';
import type { RecentChecks } from './recent-checks.ts';

/** The private probes of an organisation, for their removal. */

export type OwnProbe = {
  readonly id: string;
  readonly name: string;
  readonly continent: Continent;
  readonly place_id: string;
};

/** One that is not removed yet, locked so that no other transaction removes it. */
export async function lockedOwnProbe(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<OwnProbe | undefined> {
  const [row] = await sql<OwnProbe[]>`
    select p.id, p.name, p.continent, ${placeOf(sql)} as place_id from probes p
    where p.id = ${id} and p.organisation_id = ${organisation} and p.revoked_at is null for update`;
  return row;
}

const mostNamed = 50;

/** The monitors that only it may check: those of its place, when no other probe is there. */
export async function monitorsOfProbe(
  sql: Queryable,
  organisation: string,
  { id, place_id }: OwnProbe,
): Promise<{
  readonly monitors: readonly { readonly id: string; readonly name: string }[];
  readonly monitor_count: number;
}> {
  const rows = await sql<{ id: string; name: string; count: number }[]>`
    select id, name, (count(*) over ())::int as count from monitors
    where organisation_id = ${organisation}
      and (config ->> 'probe' = ${place_id} or places = array[${place_id}])
      and not exists (select 1 from probes p where p.organisation_id = ${organisation}
        and p.revoked_at is null and p.id <> ${id} and ${placeOf(sql)} = ${place_id})
    order by name, id limit ${mostNamed}`;
  return {
    monitors: rows.map(({ id, name }) => ({ id, name })),
    monitor_count: rows[0]?.count ?? 0,
  };
}

/**
 * What the plan counts: private probes that are not removed, and open invitations for more. The
 * caller has locked the organisation.
 */
export async function countPrivateProbes(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<number> {
  return countOf(sql`select (
      (select count(*) from probes where organisation_id = ${organisation} and revoked_at is null)
      + (select count(*) from probe_invitations
        where organisation_id = ${organisation} and used_at is null and revoked_at is null
          and expires_at > ${new Date(now)})
    )::int as count`);
}

/**
 * Whether a probe, its place or an open invitation has this name already, among the public ones or
 * in this organisation.
 */
export async function isProbeNameTaken(
  sql: Queryable,
  organisation: string | null,
  name: string,
  now: number,
): Promise<boolean> {
  const [row] = await sql<{ taken: boolean }[]>`select
      exists (select 1 from probes p
        left join places l on l.id = p.place_id and l.organisation_id = p.organisation_id
        where p.organisation_id is not distinct from ${organisation}
        and ${name} in (p.name, l.name) and p.revoked_at is null)
      or exists (select 1 from probe_invitations where organisation_id is not distinct
        from ${organisation} and name = ${name}
        and used_at is null and revoked_at is null and expires_at > ${new Date(now)}) as taken`;
  return row?.taken === true;
}

/** A probe as the coordinator knows it. */
export type ProbeRow = {
  readonly id: string;
  readonly key: number;
  readonly organisation_id: string | null;
  /** The place of a private one, which others may share. */
  readonly place_id: string | null;
  readonly name: string;
  readonly continent: Continent;
  readonly region: string | null;
  /**
   * The public nkeys that speak for it, with the time until which a rotated-out one does (null: for
   * good).
   */
  readonly keys: readonly ProbeKey[];
  readonly allowed_cidrs: readonly string[];
  /** Kinds that it checks besides the first ones. */
  readonly kinds: readonly string[];
  readonly seal_key: string | null;
  readonly ear: string | null;
  readonly version: string | null;
  readonly created_at: number;
  readonly revoked_at: number | null;
  readonly last_seen_at: number | null;
  /** Since when it is not trusted, and why: it is sick, or its place is doubted. */
  readonly quarantined_at: number | null;
  readonly quarantine_reason: string | null;
  /** Since when too many of its results are refuted. */
  readonly sick_at: number | null;
  /** Since when it is known that it cannot be where it claims, and how. */
  readonly doubted_at: number | null;
  readonly doubt_reason: string | null;
  /** The continent that the operator confirmed. */
  readonly place_trusted_as: string | null;
  /** The correction of its host's clock. */
  readonly clock_offset_ms: number | null;
  /** How it reaches the bus, and the autonomous system of its network. */
  readonly way: 'tcp' | 'websocket' | null;
  readonly origin_as: number | null;
  /** Of a public probe: the key that signs its requests, and where they come from. */
  readonly request_key: DirectoryProof | null;
  readonly addresses: readonly string[];
};

/** The place whose key a probe has. */
export function keyPlaceOf({
  place_id,
  continent,
}: Pick<ProbeRow, 'place_id' | 'continent'>): string {
  return place_id ?? continent;
}

/** What anyone who relies on a probe may know. */
export type ProbeTrust = Pick<
  ProbeRow,
  | 'id'
  | 'name'
  | 'continent'
  | 'region'
  | 'version'
  | 'created_at'
  | 'last_seen_at'
  | 'quarantined_at'
  | 'quarantine_reason'
  | 'doubted_at'
  | 'doubt_reason'
  | 'place_trusted_as'
  | 'clock_offset_ms'
  | 'way'
  | 'origin_as'
>;

type ProbeKey = { readonly key: string; readonly until: number | null };

const keysShape = z.array(z.object({ key: z.string(), until: z.number().nullable() }));

/** A doubted place counts as a quarantine. */
function notBelieved(sql: Queryable) {
  return sql`coalesce(quarantined_at, doubted_at) as quarantined_at,
    coalesce(quarantine_reason, doubt_reason) as quarantine_reason`;
}

/**
 * All of them, including revoked ones, because old results and watermarks refer to them; oldest
 * first.
 */
export async function allProbes(sql: Queryable, organisation?: string): Promise<ProbeRow[]> {
  const rows = await sql<ProbeRow[]>`
    select id, key, organisation_id, ${placeOf(sql)} as place_id, name, continent, region, keys,
      allowed_cidrs, kinds, seal_key, ear, version, created_at, revoked_at, last_seen_at,
      ${notBelieved(sql)}, quarantined_at as sick_at, doubted_at, doubt_reason, place_trusted_as,
        clock_offset_ms, way, origin_as,
      request_key, addresses
    from probes p ${organisation === undefined ? sql`` : sql`where organisation_id = ${organisation}`}
    order by key`;
  return rows.map((row) => ({
    ...row,
    keys: keysShape.parse(row.keys),
    request_key: row.request_key === null ? null : requestKey.parse(row.request_key),
  }));
}

/** Whether the probe exists and has this key. */
export async function isProbeAlive(sql: Queryable, id: string, key: string): Promise<boolean> {
  const rows = await sql`select 1 from probes
    where id = ${id} and revoked_at is null
      and keys @> ${JSON.stringify([{ key, until: null }])}::text::jsonb`;
  return rows.length > 0;
}

export type NamedProbe = {
  readonly name: string;
  readonly continent: Continent;
  readonly organisation: string | null;
};

type NewProbe = NamedProbe & {
  readonly key: string;
  /** Of a private one: the place that it joins; without it, it makes one of its own name. */
  readonly place?: string | null;
  /** Of a public one. */
  readonly region?: string | null;
};

/** @throws Refusal `name_taken`. */
export async function insertProbe(
  sql: Queryable,
  id: string,
  { name, continent, organisation, key, place = null, region = null }: NewProbe,
): Promise<void> {
  const keys: ProbeKey[] = [{ key, until: null }];
  if (organisation !== null && place === null)
    await sql`insert into places (id, organisation_id, name, continent)
      values (${id}, ${organisation}, ${name}, ${continent})`;
  try {
    await sql`insert into probes (id, organisation_id, place_id, name, continent, region, keys)
      values (${id}, ${organisation}, ${organisation === null ? null : (place ?? id)}, ${name},
        ${continent}, ${region}, ${JSON.stringify(keys)}::text::jsonb)`;
  } catch (error) {
    if (isViolationOf(error, 'probes_name_key'))
      throw new Refusal('name_taken', {
        name: `there is a probe "${name}" already; choose another name.`,
      });
    throw error;
  }
  await enqueue(sql, {
    topic: 'probe',
    payload: { probe: id, change: 'created' },
    partition: null,
    organisation,
  });
}

/** Adds a key; the older ones end at `until`. @throws Refusal `probe_not_found`. */
export async function addProbeKey(
  sql: Queryable,
  id: string,
  issue: (of: { name: string; continent: Continent; organisation: string | null }) => string,
  until: number,
): Promise<void> {
  const { name, continent, organisation_id, keys } = await lockedProbe(sql, id);
  const next: ProbeKey[] = [
    ...keys.map(({ key, until: before }) => ({ key, until: Math.min(before ?? until, until) })),
    { key: issue({ name, continent, organisation: organisation_id }), until: null },
  ];
  await sql`update probes set keys = ${JSON.stringify(next)}::text::jsonb where id = ${id}`;
  await enqueue(sql, {
    topic: 'probe',
    payload: { probe: id, change: 'rotated' },
    partition: null,
    organisation: organisation_id,
  });
}

async function lockedProbe(
  sql: Queryable,
  id: string,
): Promise<{
  name: string;
  continent: Continent;
  organisation_id: string | null;
  place_id: string | null;
  keys: ProbeKey[];
}> {
  const [row] = await sql<
    {
      name: string;
      continent: Continent;
      organisation_id: string | null;
      place_id: string | null;
      keys: unknown;
    }[]
  >`
    select p.name, p.continent, p.organisation_id, ${placeOf(sql)} as place_id, p.keys
    from probes p where p.id = ${id} and p.revoked_at is null for update`;
  if (!row) throw new Refusal('probe_not_found', 'There is no such probe, or it was revoked.');
  return { ...row, keys: keysShape.parse(row.keys) };
}

/** Removes every key for good. @throws Refusal `probe_not_found`. */
export async function revokeProbe(sql: Queryable, id: string): Promise<void> {
  const { organisation_id, keys, ...of } = await lockedProbe(sql, id);
  await voidKeys(sql, of, keys);
  await sql`update probes set keys = '[]', revoked_at = now() where id = ${id}`;
  await enqueue(sql, {
    topic: 'probe',
    payload: { probe: id, change: 'revoked' },
    partition: null,
    organisation: organisation_id,
  });
}

/** Voids these keys, and retires the network's key that their holders know. */
async function voidKeys(
  sql: Queryable,
  { continent, place_id }: { readonly continent: Continent; readonly place_id: string | null },
  keys: readonly ProbeKey[],
): Promise<void> {
  await sql`insert into revoked_keys (key) select unnest(${keys.map(({ key }) => key)}::text[])
    on conflict do nothing`;
  await growSealEpoch(sql, place_id ?? continent);
}

/** Removes expired rotated-out keys. True when there were any. */
export async function endOldKeys(sql: Sql, now: number): Promise<boolean> {
  const probes = (await allProbes(sql)).filter(({ keys }) =>
    keys.some(({ until }) => until !== null && until <= now),
  );
  for (const { id } of probes)
    await inTransaction(sql, (transaction) => endOldKeysOf(transaction, id, now));
  return probes.length > 0;
}

async function endOldKeysOf(sql: Transaction, id: string, now: number): Promise<void> {
  const { keys, ...of } = await lockedProbe(sql, id);
  const over = keys.filter(({ until }) => until !== null && until <= now);
  if (over.length === 0) return;
  await voidKeys(sql, of, over);
  await sql`update probes
    set keys = ${JSON.stringify(keys.filter((key) => !over.includes(key)))}::text::jsonb
    where id = ${id}`;
  await sql`select pg_notify(${outboxChannel}, 'probe')`;
}

/** Key → when it was revoked, for all revoked keys. */
export async function revokedKeys(sql: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<
    { key: string; revoked_at: number }[]
  >`select key, revoked_at from revoked_keys`;
  return new Map(rows.map(({ key, revoked_at }) => [key, revoked_at]));
}

export type PresenceRow = {
  readonly id: string;
  readonly at: number;
  readonly version: string;
  readonly seal_key: string;
  readonly ear: string | null;
  readonly allowed_cidrs: readonly string[];
  readonly kinds: readonly string[];
  readonly clock_offset_ms: number | null;
  readonly way: 'tcp' | 'websocket' | null;
  readonly origin_as: number | null;
  readonly request_key: DirectoryProof | null;
  readonly addresses: readonly string[];
};

/** Writes probes' reports about themselves, in bulk. */
export async function writeSeen(sql: Queryable, seen: readonly PresenceRow[]): Promise<void> {
  if (seen.length === 0) return;
  const rows = seen.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
  await sql`
    update probes p
    set last_seen_at = s.at, version = s.version, seal_key = s.seal_key, ear = s.ear,
      allowed_cidrs = s.allowed_cidrs, kinds = s.kinds,
      clock_offset_ms = s.clock_offset_ms, way = s.way, origin_as = s.origin_as,
      request_key = s.request_key, addresses = s.addresses
    from json_to_recordset(${JSON.stringify(rows)}::text::json)
      as s (id uuid, at timestamptz, version text, seal_key text, ear text, allowed_cidrs text[],
        kinds text[], clock_offset_ms int, way text, origin_as bigint, request_key jsonb, addresses text[])
    where p.id = s.id`;
}

export async function setQuarantine(
  sql: Queryable,
  id: string,
  reason: string | null,
): Promise<void> {
  await sql`update probes
    set quarantined_at = ${
      reason === null ? null : sql`coalesce(quarantined_at, now())`
    }, quarantine_reason = ${reason} where id = ${id}`;
}

/**
 * It cannot be where it claims. False when the operator has confirmed its place, or this is known
 * already.
 */
export async function doubtPlace(sql: Queryable, id: string, reason: string): Promise<boolean> {
  const rows = await sql`update probes set doubted_at = now(), doubt_reason = ${reason}
    where id = ${id} and revoked_at is null and doubted_at is null and place_trusted_as is distinct
    from continent returning 1`;
  if (rows.length > 0) await sql`select pg_notify(${outboxChannel}, 'probe')`;
  return rows.length > 0;
}

/** Sets or ends the operator's confirmation of its place. Undefined when there is no such probe. */
export async function trustPlace(
  sql: Queryable,
  id: string,
  isTrusted: boolean,
): Promise<NamedProbe | undefined> {
  const [row] = await sql<NamedProbe[]>`
    update probes set place_trusted_as = ${isTrusted ? sql`continent` : null},
      doubted_at = ${isTrusted ? null : sql`doubted_at`},
        doubt_reason = ${isTrusted ? null : sql`doubt_reason`}
    where id = ${id} and revoked_at is null
    returning name, continent, organisation_id as organisation`;
  if (row) await sql`select pg_notify(${outboxChannel}, 'probe')`;
  return row;
}

/**
 * The count of results that a probe dropped since its start; true when it is higher than before.
 */
export async function writeDropped(
  sql: Queryable,
  id: string,
  session: string,
  dropped: number,
): Promise<boolean> {
  // Those of public probes are also counted by the day.
  const rows = await sql`
    with before as (select id, organisation_id, dropped_session, dropped from probes
      where id = ${id} for update),
    news as (update probes p set dropped = ${dropped}, dropped_session = ${session} from before b
      where p.id = b.id
        and (b.dropped_session is distinct from ${session} or b.dropped < ${dropped})
      returning p.id, case when b.dropped_session is distinct from ${session} then ${dropped}
        else ${dropped} - b.dropped end as lost, b.organisation_id),
    counted as (insert into own_losses as o (day, results)
      select (now() at time zone 'UTC')::date, lost from news where organisation_id is null
      on conflict (day) do update set results = o.results + excluded.results)
    select id from news`;
  return rows.length > 0;
}

const shareShape = z.object({
  hosts: z.array(z.number()),
  refuted: z.array(z.tuple([z.number(), z.number()])),
});

/** A coordinator that was not seen for this long no longer counts. */
const aliveMs = 60_000;

/** What the users of probes may know about them: their health, and reasons to trust them or not. */
export type Contradictions = { readonly targets: number; readonly refuted: number };

/**
 * For each probe with refuted results: how many distinct hosts it checks, and for how many of them
 * others saw something else (rule 16).
 */
export async function refutedShares(
  sql: Queryable,
  now: number,
): Promise<ReadonlyMap<string, Contradictions>> {
  const rows = await sql<{ probe_id: string; share: unknown }[]>`
    select r.probe_id, r.share from refutations r join coordinators c on c.id = r.coordinator_id
    where c.seen_at > ${new Date(now - aliveMs)}`;
  const shares = new Map<string, Share[]>();
  for (const { probe_id, share } of rows) {
    const { hosts, refuted } = shareShape.parse(share);
    shares.set(probe_id, [...(shares.get(probe_id) ?? []), { hosts, refuted: new Map(refuted) }]);
  }
  return new Map([...shares].map(([probe, own]) => [probe, together(own, now)]));
}

export type CheckerRow = ProbeTrust & {
  readonly key: number;
  /** Its place in the list: continent and name. */
  readonly place: string;
  readonly kinds: readonly string[];
  /** Of a public probe. */
  readonly addresses: readonly string[];
  readonly is_private: boolean;
  /** The place of a private one. */
  readonly in_place: { readonly id: string; readonly name: string } | null;
  readonly is_lost: boolean;
  /** Distinct monitors of the organisation that it checked since then, and how often. */
  readonly monitors: number;
  readonly checks: number;
  /** Whether any of its results was ever committed. */
  readonly has_checked: boolean;
};

/**
 * Public probes that were ever heard, and all private ones of the organisation, by continent and
 * name.
 */
export async function checkersFor(
  sql: Queryable,
  organisation: string,
  recent: RecentChecks,
  { after, most }: { readonly after: CursorPlace | null; readonly most: number },
): Promise<CheckerRow[]> {
  const rows = await sql<Omit<CheckerRow, 'monitors' | 'checks'>[]>`
  select p.key, p.continent || '/' || coalesce(pl.name, p.name) as place,
    p.id, p.name, p.continent, p.region, p.organisation_id is not null as is_private,
    case when p.organisation_id is not null
      then json_build_object('id', ${placeOf(sql)}, 'name', coalesce(pl.name, p.name)) end as in_place,
    p.version, p.created_at, p.last_seen_at, p.kinds, p.addresses,
    ${notBelieved(sql)}, p.doubted_at, p.doubt_reason, p.place_trusted_as, p.clock_offset_ms,
    p.way, p.origin_as,
    exists (select 1 from watermarks w where w.probe_key = p.key) as has_checked,
    exists (select 1 from notices n where n.kind = 'probe_lost' and n.subject = p.id::text
      and n.ended_at is null) as is_lost
  from probes p left join places pl on pl.id = p.place_id and pl.organisation_id = p.organisation_id
  where p.revoked_at is null
    and (p.organisation_id = ${organisation} or p.organisation_id is null
      and p.last_seen_at is not null)
    ${after === null ? sql`` : sql`and (p.continent || '/' || coalesce(pl.name, p.name), p.key) > (${after.place}, ${after.key})`}
  order by place, p.key limit ${most}`;
  return rows.map((row) => {
    const counted = recent.get(row.key);
    return { ...row, monitors: counted?.monitors.size ?? 0, checks: counted?.checks ?? 0 };
  });
}
