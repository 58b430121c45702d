import type { Queryable } from './store-database.ts';

export type WrappedKey = { readonly id: string; readonly wrapped: Uint8Array };

/**
 * The key that encrypts now, held until the end of the transaction, so that a rotation waits for what is written with it.
 * Undefined in a database that has no key yet, or when a rotation took the one away that was just read.
 */
export const currentKey = async (sql: Queryable): Promise<WrappedKey | undefined> => {
  const [row] = await sql<WrappedKey[]>`select id, wrapped from secret_keys order by id desc limit 1 for share`;
  return row;
};

export const keyById = async (sql: Queryable, id: string): Promise<WrappedKey | undefined> => {
  const [row] = await sql<WrappedKey[]>`select id, wrapped from secret_keys where id = ${id}`;
  return row;
};

export const insertKey = async (sql: Queryable, { id, wrapped }: WrappedKey): Promise<void> => {
  await sql`insert into secret_keys (id, wrapped) values (${id}, ${Buffer.from(wrapped)})`;
};

/** Waits for every transaction that still encrypts with an older key. */
export const lockOlderKeys = async (sql: Queryable, newest: string): Promise<void> => {
  await sql`select 1 from secret_keys where id < ${newest} for update`;
};

export const deleteOlderKeys = async (sql: Queryable, newest: string): Promise<void> => {
  await sql`delete from secret_keys where id < ${newest}`;
};

/** An encrypted value, and what it is bound to. */
export type Kept = {
  readonly place: 'monitor' | 'beat' | 'channel' | 'second factor' | 'answer';
  readonly id: string;
  readonly about: string;
  readonly box: Uint8Array;
};

/** Encrypted values that are not under this key, locked; a box begins with the sixteen bytes of its key's id. */
export const keptUnderOlderKeys = async (sql: Queryable, newest: string, most: number): Promise<readonly Kept[]> => {
  const id = Buffer.from(newest.replaceAll('-', ''), 'hex');
  const monitors = await sql<Kept[]>`
    select 'monitor' as place, id::text, id::text as about, secrets as box from monitors
    where secrets is not null and substring(secrets from 1 for 16) <> ${id} order by id limit ${most} for no key update`;
  if (monitors.length > 0) return monitors;
  const channels = await sql<Kept[]>`
    select 'channel' as place, id::text, id::text as about, secrets as box from channels
    where secrets is not null and substring(secrets from 1 for 16) <> ${id} order by id limit ${most} for no key update`;
  if (channels.length > 0) return channels;
  const pings = await sql<Kept[]>`
    select 'beat' as place, encode(fingerprint, 'hex') as id, monitor_id::text as about, token as box from beat_tokens
    where substring(token from 1 for 16) <> ${id} order by fingerprint limit ${most} for no key update`;
  if (pings.length > 0) return pings;
  const answers = await sql<Kept[]>`
    select 'answer' as place, organisation_id || ' ' || encode(call, 'hex') as id, organisation_id || ' ' || encode(call, 'hex') as about,
      answer as box from kept_answers
    where answer is not null and substring(answer from 1 for 16) <> ${id} order by organisation_id, call limit ${most} for no key update`;
  if (answers.length > 0) return answers;
  return sql<Kept[]>`
    select 'second factor' as place, user_id::text as id, user_id::text as about, secret as box from second_factors
    where substring(secret from 1 for 16) <> ${id} order by user_id limit ${most} for no key update`;
};

export const rewriteKept = async (sql: Queryable, { place, id, box }: Kept): Promise<void> => {
  if (place === 'monitor') await sql`update monitors set secrets = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'channel') await sql`update channels set secrets = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'second factor') await sql`update second_factors set secret = ${Buffer.from(box)} where user_id = ${id}`;
  else if (place === 'answer')
    await sql`update kept_answers set answer = ${Buffer.from(box)}
      where organisation_id = split_part(${id}, ' ', 1)::uuid and call = decode(split_part(${id}, ' ', 2), 'hex')`;
  else await sql`update beat_tokens set token = ${Buffer.from(box)} where fingerprint = decode(${id}, 'hex')`;
};

export const keptKey = async (sql: Queryable, purpose: string): Promise<Uint8Array | undefined> => {
  const [row] = await sql<{ wrapped: Uint8Array }[]>`select wrapped from kept_keys where purpose = ${purpose}`;
  return row?.wrapped;
};

export const writeKeptKey = async (sql: Queryable, purpose: string, wrapped: Uint8Array): Promise<void> => {
  await sql`
    insert into kept_keys (purpose, wrapped) values (${purpose}, ${Buffer.from(wrapped)})
    on conflict (purpose) do update set wrapped = excluded.wrapped`;
};
