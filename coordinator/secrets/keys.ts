import { hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from '../../shared/base/crypto.ts';
import type { Queryable } from '../database/connect.ts';

export type WrappedKey = { readonly id: string; readonly wrapped: Uint8Array };

/**
 * The present encryption key, locked until the end of the transaction, so that a rotation waits for
 * what is written with it. Undefined in a database without a key, or when a rotation deleted the
 * key that was just read.
 */
export async function currentKey(sql: Queryable): Promise<WrappedKey | undefined> {
  const [row] = await sql<
    WrappedKey[]
  >`select id, wrapped from secret_keys order by id desc limit 1 for share`;
  return row;
}

export async function keyById(sql: Queryable, id: string): Promise<WrappedKey | undefined> {
  const [row] = await sql<WrappedKey[]>`select id, wrapped from secret_keys where id = ${id}`;
  return row;
}

export async function insertKey(sql: Queryable, { id, wrapped }: WrappedKey): Promise<void> {
  await sql`insert into secret_keys (id, wrapped) values (${id}, ${Buffer.from(wrapped)})`;
}

/** Waits for every transaction that still encrypts with an older key. */
export async function lockOlderKeys(sql: Queryable, newest: string): Promise<void> {
  await sql`select 1 from secret_keys where id < ${newest} for update`;
}

export async function deleteOlderKeys(sql: Queryable, newest: string): Promise<void> {
  await sql`delete from secret_keys where id < ${newest}`;
}

/** An encrypted value and what it is bound to. */
export type StoredSecret = {
  readonly place:
    | 'monitor'
    | 'beat'
    | 'deleted monitor'
    | 'deleted beat'
    | 'channel'
    | 'second factor'
    | 'answer'
    | 'page webhook'
    | 'webhook'
    | 'import';
  readonly id: string;
  readonly about: string;
  readonly box: Uint8Array;
};

/**
 * Encrypted values that are not under this key, locked; a box begins with its key's id (16 bytes).
 */
export async function keptUnderOlderKeys(
  sql: Queryable,
  newest: string,
  limit: number,
): Promise<readonly StoredSecret[]> {
  const id = Buffer.from(newest.replaceAll('-', ''), 'hex');
  const monitors = await sql<StoredSecret[]>`
    select 'monitor' as place, id::text, id::text as about, secrets as box from monitors
    where secrets is not null and substring(secrets from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (monitors.length > 0) return monitors;
  const channels = await sql<StoredSecret[]>`
    select 'channel' as place, id::text, id::text as about, secrets as box from channels
    where secrets is not null and substring(secrets from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (channels.length > 0) return channels;
  const pings = await sql<StoredSecret[]>`
    select 'beat' as place, encode(fingerprint, 'hex') as id, monitor_id::text as about,
      token as box from beat_tokens
    where substring(token from 1 for 16) <> ${id} order by fingerprint
    limit ${limit} for no key update`;
  if (pings.length > 0) return pings;
  const deleted = await sql<StoredSecret[]>`
    select case source when 'monitors' then 'deleted monitor' else 'deleted beat' end as place,
      id::text, monitor_id::text as about, box from deleted_rows
    where box is not null and substring(box from 1 for 16) <> ${id} order by deleted_rows.id
    limit ${limit} for no key update`;
  if (deleted.length > 0) return deleted;
  const answers = await sql<StoredSecret[]>`
    select 'answer' as place, organisation_id || ' ' || encode(call, 'hex') as id,
      organisation_id || ' ' || encode(call, 'hex') as about,
      answer as box from kept_answers
    where answer is not null and substring(answer from 1 for 16) <> ${id}
    order by organisation_id, call limit ${limit} for no key update`;
  if (answers.length > 0) return answers;
  const hooks = await sql<StoredSecret[]>`
    select 'page webhook' as place, id::text, id::text as about, secrets as box
    from status_page_subscribers
    where secrets is not null and substring(secrets from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (hooks.length > 0) return hooks;
  const ofEvents = await sql<StoredSecret[]>`
    select 'webhook' as place, id::text, id::text as about, secrets as box from webhooks
    where substring(secrets from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (ofEvents.length > 0) return ofEvents;
  const imports = await sql<StoredSecret[]>`
    select 'import' as place, id::text, id::text as about, objects as box from imports
    where substring(objects from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (imports.length > 0) return imports;
  return sql<StoredSecret[]>`
    select 'second factor' as place, user_id::text as id, user_id::text as about, secret as box
    from second_factors
    where substring(secret from 1 for 16) <> ${id} order by user_id
    limit ${limit} for no key update`;
}

export async function rewriteKept(sql: Queryable, { place, id, box }: StoredSecret): Promise<void> {
  if (place === 'monitor')
    await sql`update monitors set secrets = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'channel')
    await sql`update channels set secrets = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'page webhook')
    await sql`update status_page_subscribers set secrets = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'webhook')
    await sql`update webhooks set secrets = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'import')
    await sql`update imports set objects = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'deleted monitor' || place === 'deleted beat')
    await sql`update deleted_rows set box = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'second factor')
    await sql`update second_factors set secret = ${Buffer.from(box)} where user_id = ${id}`;
  else if (place === 'answer')
    await sql`update kept_answers set answer = ${Buffer.from(box)}
      where organisation_id = split_part(${id}, ' ', 1)::uuid
        and call = decode(split_part(${id}, ' ', 2), 'hex')`;
  else
    await sql`update beat_tokens set token = ${Buffer.from(box)}
      where fingerprint = decode(${id}, 'hex')`;
}

export async function keptKey(sql: Queryable, purpose: string): Promise<Uint8Array | undefined> {
  const [row] = await sql<
    { wrapped: Uint8Array }[]
  >`select wrapped from kept_keys where purpose = ${purpose}`;
  return row?.wrapped;
}

export async function writeKeptKey(
  sql: Queryable,
  purpose: string,
  wrapped: Uint8Array,
): Promise<void> {
  await sql`
    insert into kept_keys (purpose, wrapped) values (${purpose}, ${Buffer.from(wrapped)})
    on conflict (purpose) do update set wrapped = excluded.wrapped`;
}

/**
 * SECRET_KEY and, while it is being replaced, the previous one. Which of both is in force does not
 * depend on the order of starts: it is the one that wraps the newest key of secrets. The
 * replacement puts the new one there in one transaction.
 */
export type MasterKeys = { readonly secretKey: string; readonly previousKey?: string | undefined };

/** Tells master keys apart without revealing them. */
export function markOf(secretKey: string): string {
  return derivedKey(secretKey, 'mark').toString('hex').slice(0, 12);
}

/**
 * A key for one purpose, derived from the installation's SECRET_KEY, so that no two purposes share
 * bytes.
 */
function derivedKey(secretKey: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', `antipode ${purpose}`, 32));
}

export function wrap(secretKey: string, bytes: Uint8Array, about: string): Buffer {
  return encrypt(wrappingOf(secretKey), bytes, about);
}

function wrappingOf(secretKey: string): Buffer {
  return derivedKey(secretKey, 'keys of secrets');
}

/** The unwrapped key and the master key that wrapped it. @throws when it is neither of both. */
export function unwrap(
  { secretKey, previousKey }: MasterKeys,
  wrapped: Uint8Array,
  about: string,
): { readonly bytes: Buffer; readonly under: string } {
  const faults: unknown[] = [];
  for (const under of previousKey === undefined ? [secretKey] : [secretKey, previousKey])
    try {
      return { bytes: decrypt(wrappingOf(under), wrapped, about), under };
    } catch (error) {
      faults.push(error);
    }
  const which =
    previousKey === undefined
      ? 'SECRET_KEY is not the one'
      : 'neither SECRET_KEY nor SECRET_KEY_PREVIOUS is the one';
  throw new Error(`secrets in the database cannot be read: ${which} that they were stored with`, {
    cause: faults[0],
  });
}

/**
 * The master key that all coordinators use. Before anything is wrapped it is the older one, because
 * some coordinators may know no other.
 */
export function inForce(keys: MasterKeys, newest: WrappedKey | undefined): string {
  return newest
    ? unwrap(keys, newest.wrapped, newest.id).under
    : (keys.previousKey ?? keys.secretKey);
}

/**
 * Keys that outlive SECRET_KEY. Their secrecy protects little: knowing them makes the values made
 * with them no easier to guess.
 */
const keptPurposes = [
  'token fingerprint',
  'cursors',
  'account secrets',
  'alert links',
  'assistants',
] as const;
type Purpose = (typeof keptPurposes)[number];

/** Read once: the key of a purpose never changes, only its wrapping does. */
export function createKeptKey(
  sql: Queryable,
  keys: MasterKeys,
  purpose: Purpose,
): () => Promise<Buffer> {
  let key: Promise<Buffer> | undefined;
  return () => {
    key ??= keptOrDerived(sql, keys, purpose).catch((error: unknown) => {
      key = undefined;
      throw error;
    });
    return key;
  };
}

async function keptOrDerived(sql: Queryable, keys: MasterKeys, purpose: Purpose): Promise<Buffer> {
  const wrapped = await keptKey(sql, purpose);
  return wrapped
    ? unwrap(keys, wrapped, purpose).bytes
    : derivedKey(keys.previousKey ?? keys.secretKey, purpose);
}

/** Wraps the kept keys under SECRET_KEY. */
export async function rewrapKept(sql: Queryable, keys: MasterKeys): Promise<void> {
  for (const purpose of keptPurposes)
    await writeKeptKey(
      sql,
      purpose,
      wrap(keys.secretKey, await keptOrDerived(sql, keys, purpose), purpose),
    );
}

/** Means every place. */
const everywhere = '*';

/** For each place that ever had a key retired, and for all places. */
export type SealEpochs = ReadonlyMap<string, number>;

/**
 * With the newest key of secrets: its wrapping shows which master key the network's keys are
 * derived from. Both are as of one moment.
 */
export type Sealing = { readonly epochs: SealEpochs; readonly newest: WrappedKey | undefined };

export async function readSealing(sql: Queryable): Promise<Sealing> {
  const rows = await sql<
    { place: string; epoch: number; id: string | null; wrapped: Uint8Array | null }[]
  >`
    with newest as (select id, wrapped from secret_keys order by id desc limit 1)
    select e.place, e.epoch, k.id, k.wrapped
    from (select place, epoch from seal_epochs union all select ${everywhere}, seal_epoch
      from installation) e left join newest k on true`;
  const [first] = rows;
  const newest =
    first && first.id !== null && first.wrapped !== null
      ? { id: first.id, wrapped: first.wrapped }
      : undefined;
  return { epochs: new Map(rows.map(({ place, epoch }) => [place, epoch])), newest };
}

export function sealEpochOf(epochs: SealEpochs, place: string): number {
  return Math.max(1, epochs.get(place) ?? 1, epochs.get(everywhere) ?? 1);
}

/** From the commit on this place has another key. */
export async function growSealEpoch(sql: Queryable, place: string): Promise<void> {
  await sql`
    insert into seal_epochs (place, epoch)
    values (${place}, (extract(epoch from clock_timestamp()) * 1000)::bigint)
    on conflict (place) do update set epoch = greatest(seal_epochs.epoch + 1, excluded.epoch)`;
}

export async function growEverySealEpoch(sql: Queryable): Promise<void> {
  await sql`update installation
    set seal_epoch = greatest(seal_epoch + 1,
      (extract(epoch from clock_timestamp()) * 1000)::bigint)`;
}
