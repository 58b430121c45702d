import type { Queryable } from './store-database.ts';
import { textsLiteral } from './store-sql-arrays.ts';

export type PasskeyRow = {
  readonly id: string;
  readonly user_id: string;
  readonly credential_id: string;
  readonly public_key: Uint8Array;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  readonly is_synced: boolean;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
};

export const passkeysOf = (sql: Queryable, user: string): Promise<PasskeyRow[]> =>
  sql<PasskeyRow[]>`select * from passkeys where user_id = ${user} order by created_at, id`;

export const passkeyByCredential = async (sql: Queryable, credential: string): Promise<PasskeyRow | undefined> => {
  const [row] = await sql<PasskeyRow[]>`select * from passkeys where credential_id = ${credential}`;
  return row;
};

/** False when it is somebody's already. */
export const insertPasskey = async (sql: Queryable, row: Omit<PasskeyRow, 'last_used_at'>): Promise<boolean> =>
  (
    await sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports, name, is_synced, created_at)
      values (${row.id}, ${row.user_id}, ${row.credential_id}, ${Buffer.from(row.public_key)}, ${row.counter},
        ${textsLiteral([...row.transports])}::text[], ${row.name}, ${row.is_synced}, ${row.created_at})
      on conflict do nothing`
  ).count > 0;

/** Its name, if it was one of the user's. */
export const deletePasskey = async (sql: Queryable, user: string, id: string): Promise<string | undefined> => {
  const [row] = await sql<{ name: string }[]>`delete from passkeys where user_id = ${user} and id = ${id} returning name`;
  return row?.name;
};

export const deletePasskeysOf = async (sql: Queryable, user: string): Promise<void> => {
  await sql`delete from passkeys where user_id = ${user}`;
};

/** False when it was removed meanwhile. */
export const writePasskeyUse = async (
  sql: Queryable,
  { id, counter, is_synced, at }: { readonly id: string; readonly counter: number; readonly is_synced: boolean; readonly at: Date },
): Promise<boolean> =>
  (await sql`update passkeys set counter = greatest(counter, ${counter}), is_synced = ${is_synced}, last_used_at = ${at} where id = ${id}`)
    .count > 0;

export type ChallengePurpose = 'add' | 'prove' | 'sign in';

export const insertChallenge = async (
  sql: Queryable,
  made: { readonly fingerprint: Buffer; readonly purpose: ChallengePurpose; readonly user: string | null; readonly expires_at: Date },
): Promise<void> => {
  await sql`insert into passkey_challenges (fingerprint, purpose, user_id, expires_at)
    values (${made.fingerprint}, ${made.purpose}, ${made.user}, ${made.expires_at})`;
};

/** True for one that was given out for this, to this user, a moment ago; it is good no more. */
export const useChallenge = async (
  sql: Queryable,
  asked: { readonly fingerprint: Buffer; readonly purpose: ChallengePurpose; readonly user: string | null; readonly now: Date },
): Promise<boolean> =>
  (
    await sql`delete from passkey_challenges where fingerprint = ${asked.fingerprint} and purpose = ${asked.purpose}
      and user_id is not distinct from ${asked.user} and expires_at > ${asked.now}`
  ).count > 0;
