import type { Queryable } from './store-database.ts';
import { isViolationOf } from './store-database.ts';

/** What the signing-in of assistants remembers, by the kind of thing that it is and a fingerprint of its id. */
export type RecordKey = { readonly model: string; readonly fingerprint: Buffer };

export type OauthRecord = { readonly payload: Readonly<Record<string, unknown>>; readonly consumed_at: Date | null };

export type NewRecord = RecordKey & {
  /** The connection that it ends with. */
  readonly connection: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: Date;
  readonly expires_at: Date | null;
};

/** False when the connection that it belongs to has ended. */
export const writeRecord = async (sql: Queryable, record: NewRecord): Promise<boolean> => {
  const { model, fingerprint, connection, payload, at, expires_at } = record;
  try {
    await sql`insert into oauth_records (model, fingerprint, connection_id, payload, created_at, expires_at)
      values (${model}, ${fingerprint}, ${connection}, ${JSON.stringify(payload)}::text::jsonb, ${at}, ${expires_at})
      on conflict (model, fingerprint) do update set payload = excluded.payload, expires_at = excluded.expires_at`;
    return true;
  } catch (error) {
    if (isViolationOf(error, 'oauth_records_connection_id_fkey')) return false;
    throw error;
  }
};

export const readRecord = async (sql: Queryable, { model, fingerprint }: RecordKey, now: Date): Promise<OauthRecord | undefined> => {
  const [row] = await sql<OauthRecord[]>`
    select payload, consumed_at from oauth_records
    where model = ${model} and fingerprint = ${fingerprint} and (expires_at is null or expires_at > ${now})`;
  return row;
};

/** True for whoever was the first: of two at once one alone is. */
export const consumeRecord = async (sql: Queryable, { model, fingerprint }: RecordKey, at: Date): Promise<boolean> =>
  (await sql`update oauth_records set consumed_at = ${at} where model = ${model} and fingerprint = ${fingerprint} and consumed_at is null`)
    .count > 0;

export const deleteRecord = async (sql: Queryable, { model, fingerprint }: RecordKey): Promise<void> => {
  await sql`delete from oauth_records where model = ${model} and fingerprint = ${fingerprint}`;
};

/** With everything that was given out under it. */
export const endConnection = async (sql: Queryable, id: string): Promise<void> => {
  await sql`delete from connections where id = ${id}`;
};

/**
 * What lets nobody in any more: what has ended; connections that nothing is left of, as of a consent that came to nothing, or that nobody used until
 * its refresh token ended; clients that registered and were connected by nobody.
 */
export const forgetEndedRecords = async (sql: Queryable, now: number, kept: { readonly consentMs: number; readonly clientMs: number }) => {
  await sql`delete from oauth_records where expires_at <= ${new Date(now)}`;
  await sql`delete from connections c where c.created_at <= ${new Date(now - kept.consentMs)} and not exists (
    select from oauth_records r where r.connection_id = c.id and r.model in ('AccessToken', 'RefreshToken', 'AuthorizationCode'))`;
  await sql`delete from oauth_records r where r.model = 'Client' and r.created_at <= ${new Date(now - kept.clientMs)} and not exists (
    select from connections c where c.client_id = r.payload->>'client_id')`;
};
