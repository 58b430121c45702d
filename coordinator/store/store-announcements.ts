import type { Queryable } from './store-database.ts';
import { outboxChannel } from './store-outbox.ts';

/** Since when announcements must be signed (null: they need not be), and since when coordinators sign them. */
export type Signing = { readonly signed_since: Date | null; readonly signing_offered_at: Date };

export const readSigning = async (sql: Queryable): Promise<Signing> => {
  const [row] = await sql<Signing[]>`select signed_since, signing_offered_at from installation`;
  if (!row) throw new Error('the database has no installation row: it was not made by our migrations');
  return row;
};

/** Whether a coordinator runs that does not sign, because it is of the version before. */
export const someoneSignsNothing = async (sql: Queryable, aliveMs: number): Promise<boolean> =>
  (await sql`select 1 from coordinators where not signs and seen_at > now() - ${aliveMs} * interval '1 millisecond' limit 1`).length > 0;

export const requireSigned = async (sql: Queryable): Promise<void> => {
  await sql`update installation set signed_since = coalesce(signed_since, now())`;
};

/**
 * From now on only relayed credentials of this private probe count: those that were issued before end. When they were issued the probe says itself, and
 * none were before this version.
 */
export const endDirectCredentials = async (sql: Queryable, probe: string, issuedAt: number): Promise<void> => {
  const rows =
    await sql`update probes set relayed_at = greatest(${new Date(issuedAt)}, (select signing_offered_at from installation), created_at + interval '1 second')
    where id = ${probe} and organisation_id is not null and relayed_at is null returning 1`;
  if (rows.length > 0) await sql`select pg_notify(${outboxChannel}, 'probe')`;
};

/** The same for every private probe that still has others. */
export const endAllDirectCredentials = async (sql: Queryable): Promise<void> => {
  const rows = await sql`update probes set relayed_at = now() where organisation_id is not null and relayed_at is null returning 1`;
  if (rows.length > 0) await sql`select pg_notify(${outboxChannel}, 'probe')`;
};

/** Key → the moment before which its credentials are void, of private probes that had others than relayed ones. */
export const endedDirectCredentials = async (sql: Queryable): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql<{ key: string; relayed_at: Date }[]>`
    select k ->> 'key' as key, relayed_at from probes, jsonb_array_elements(keys) k
    where revoked_at is null and relayed_at > created_at`;
  return new Map(rows.map(({ key, relayed_at }) => [key, relayed_at.getTime() - 1_000]));
};
