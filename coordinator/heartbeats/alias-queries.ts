import { Refusal } from '../../shared/base/errors.ts';
import { pingFingerprint } from '../../shared/checks/heartbeat/config.ts';
import { isViolationOf, type Queryable } from '../database/connect.ts';
import { insertRows } from '../database/table.ts';
import type { WrittenMonitor } from '../monitors/row.ts';
import { announceKeys, nameUnderPingKeys } from './ping-key-queries.ts';

/** Addresses of the form `/ping/<uuid>` that heartbeats brought from elsewhere. */

export function aliasFingerprint(alias: string): string {
  return pingFingerprint(alias.toLowerCase());
}

/** Says nothing of whose it is: it may be another organisation's. */
export function aliasTaken(): Refusal {
  return new Refusal('ping_alias_taken', {
    ping_alias:
      'this address belongs to another monitor; each belongs to one. Take it out there, or leave it out here.',
  });
}

/**
 * Which monitor has each of these already, among those of every organisation; without this one's
 * in the trash, which give theirs up to the next.
 */
export async function aliasOwners(
  sql: Queryable,
  organisation: string,
  aliases: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (aliases.length === 0) return new Map();
  const rows = await sql<{ key: string; monitor: string }[]>`
    select encode(fingerprint, 'hex') as key, monitor_id as monitor from ping_aliases a
    where fingerprint in (select decode(k, 'hex')
        from unnest(${aliases.map(aliasFingerprint)}::text[]) as k)
      and not (organisation_id = ${organisation} and ${isInTrash(sql)})`;
  return new Map(rows.map(({ key, monitor }) => [key, monitor]));
}

function isInTrash(sql: Queryable) {
  return sql`not exists (select from monitors m where m.id = a.monitor_id)`;
}

/** After monitors were written: the other addresses of heartbeats follow. @throws Refusal. */
export async function followHeartbeats(
  sql: Queryable,
  organisation: string,
  monitors: readonly WrittenMonitor[],
): Promise<void> {
  const heartbeats = monitors.filter(({ monitor }) => monitor.kind === 'heartbeat');
  await nameUnderPingKeys(
    sql,
    organisation,
    heartbeats.map(({ id }) => id),
  );
  await followAliases(
    sql,
    organisation,
    heartbeats.map(({ id, monitor }) => ({ id, alias: monitor.secrets.ping_alias })),
  );
}

/** Each has this alias and no other. @throws Refusal. */
export async function followAliases(
  sql: Queryable,
  organisation: string,
  monitors: readonly { readonly id: string; readonly alias: string | undefined }[],
): Promise<void> {
  if (monitors.length === 0) return;
  const wanted = monitors.flatMap(({ id, alias }) =>
    alias === undefined ? [] : [{ key: aliasFingerprint(alias), monitor: id }],
  );
  const gone = await sql<{ key: string }[]>`
    with wanted as (select decode(key, 'hex') as fingerprint, monitor
      from jsonb_to_recordset(${JSON.stringify(wanted)}::text::jsonb) as w (key text, monitor uuid))
    delete from ping_aliases a where organisation_id = ${organisation} and (
      (monitor_id = any(${monitors.map(({ id }) => id)}::uuid[]) and not exists (select from wanted w
        where w.fingerprint = a.fingerprint and w.monitor = a.monitor_id))
      or (fingerprint in (select fingerprint from wanted) and ${isInTrash(sql)}))
    returning encode(fingerprint, 'hex') as key`;
  const owners = await aliasOwners(
    sql,
    organisation,
    monitors.flatMap(({ alias }) => alias ?? []),
  );
  if (wanted.some(({ key, monitor }) => (owners.get(key) ?? monitor) !== monitor))
    throw aliasTaken();
  const come = wanted.filter(({ key }) => !owners.has(key));
  await insertRows(
    sql,
    'ping_aliases',
    { fingerprint: 'bytea', monitor_id: 'uuid' },
    organisation,
    come.map(({ key, monitor }) => ({ fingerprint: `\\x${key}`, monitor_id: monitor })),
  ).catch((error: unknown) => {
    // Somebody claimed it meanwhile.
    throw isViolationOf(error, 'ping_aliases_pkey') ? aliasTaken() : error;
  });
  await announceKeys(sql, organisation, [...gone, ...come]);
}

/** Tells the ping receivers that these monitors are deleted or restored. */
export async function announceAliases(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
): Promise<void> {
  return announceKeys(
    sql,
    organisation,
    await sql<{ key: string }[]>`
      select encode(fingerprint, 'hex') as key from ping_aliases
      where organisation_id = ${organisation} and monitor_id = any(${monitors}::uuid[])`,
  );
}
