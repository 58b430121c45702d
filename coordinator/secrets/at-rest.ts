import { hkdfSync, randomBytes } from 'node:crypto';
import { decrypt, encrypt, newId } from '../../shared/base/crypto.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { addressesWithoutKey, type Queryable, type Sql } from '../database/connect.ts';
import { inTransaction, takeAdvisoryLock } from '../database/sql.ts';

/**
 * Secrets at rest: AES-256-GCM under keys of the database. A key derived from SECRET_KEY wraps
 * those.
 */
export type SecretsAtRest = {
  /**
   * Must run in the transaction that stores the box. `about` (what the secret belongs to) is bound
   * in: a box opens for nothing else.
   */
  readonly seal: (sql: Queryable, text: string, about: string) => Promise<Buffer>;
  /** For many boxes of one transaction: reads the key once. */
  readonly sealer: (sql: Queryable) => Promise<(text: string, about: string) => Buffer>;
  readonly open: (sql: Queryable, box: Uint8Array, about: string) => Promise<string>;
  /**
   * Makes a new key and encrypts everything stored under it; others may go on working meanwhile.
   */
  readonly rotate: (sql: Sql) => Promise<Rotated>;
  /**
   * Moves everything from the previous SECRET_KEY to the present one. If it is killed at any point,
   * run it again; once complete it does nothing. The network's keys change with its first
   * transaction. @throws Refusal while a running coordinator does not know SECRET_KEY.
   */
  readonly replaceSecretKey: (
    sql: Sql,
    progress?: (what: string, rows: number) => void,
  ) => Promise<Rotated>;
  /**
   * Checks at the start whether stored secrets can be read. @throws ConfigurationFault when they
   * cannot.
   */
  readonly check: (sql: Sql) => Promise<void>;
};

type Rotated = { readonly id: string; readonly rewritten: number };

/** What boxes are bound to, for sealing and opening. */
export function secretsOf(monitor: string): string {
  return `monitor ${monitor}`;
}

export function pingTokenOf(monitor: string): string {
  return `beat ${monitor}`;
}

export function channelSecretsOf(channel: string): string {
  return `channel ${channel}`;
}

export function pageWebhookOf(subscriber: string): string {
  return `page webhook ${subscriber}`;
}

export function webhookOf(webhook: string): string {
  return `webhook ${webhook}`;
}

export function importOf(id: string): string {
  return `import ${id}`;
}

export function codeSecretOf(user: string): string {
  return `second factor ${user}`;
}

export function providerSecretOf(provider: string): string {
  return `sign-in provider ${provider}`;
}

export function refreshTokenOf(identity: string): string {
  return `refresh token ${identity}`;
}

/** Of an organisation and the fingerprint of a call, separated by a space. */
export function idempotencyRecordOf(call: string): string {
  return `answer ${call}`;
}

const boundTo = {
  monitor: secretsOf,
  beat: pingTokenOf,
  'deleted monitor': secretsOf,
  'deleted beat': pingTokenOf,
  channel: channelSecretsOf,
  answer: idempotencyRecordOf,
  'page webhook': pageWebhookOf,
  webhook: webhookOf,
  import: importOf,
  'second factor': codeSecretOf,
  'sign-in provider': providerSecretOf,
  'refresh token': refreshTokenOf,
} as const satisfies Record<StoredSecret['place'], (about: string) => string>;

const idLength = 16;
const batch = 200;

export function createSecretsAtRest(secretKey: string, previousKey?: string): SecretsAtRest {
  const keys: MasterKeys = { secretKey, previousKey };
  const existing = new Map<string, Buffer>();

  const unwrapped = ({ id, wrapped }: WrappedKey): Buffer => {
    const key = existing.get(id) ?? unwrap(keys, wrapped, id).bytes;
    existing.set(id, key);
    return key;
  };

  const createUnder = async (sql: Queryable, master: string): Promise<WrappedKey> => {
    const id = newId();
    const made = { id, wrapped: wrap(master, randomBytes(32), id) };
    await insertKey(sql, made);
    return made;
  };

  const current = async (sql: Queryable): Promise<WrappedKey> =>
    // Read twice, because a rotation can delete a key between finding and locking its row.
    (await currentKey(sql)) ??
    (await currentKey(sql)) ??
    (await createUnder(sql, inForce(keys, undefined)));

  const sealWith = (key: WrappedKey, text: string, about: string): Buffer =>
    Buffer.concat([idBytes(key.id), encrypt(unwrapped(key), Buffer.from(text), about)]);

  const open = async (sql: Queryable, box: Uint8Array, about: string): Promise<string> => {
    const id = idOf(box);
    const key =
      existing.get(id) ?? (await keyById(sql, id).then((found) => found && unwrapped(found)));
    if (!key)
      throw new Error(`secrets in the database are under the key ${id}, which does not exist`);
    return decrypt(key, Buffer.from(box).subarray(idLength), about).toString();
  };

  const reseal = async (sql: Queryable, key: WrappedKey, kept: StoredSecret): Promise<void> => {
    const about = boundTo[kept.place](kept.about);
    await rewriteKept(sql, {
      ...kept,
      box: sealWith(key, await open(sql, kept.box, about), about),
    });
  };

  /** Encrypts a batch of the boxes under older keys again; returns how many. */
  const rewriteSome = async (sql: Queryable, key: WrappedKey): Promise<number> => {
    const found = await keptUnderOlderKeys(sql, key.id, batch);
    for (const kept of found) await reseal(sql, key, kept);
    return found.length;
  };

  /**
   * Encrypts everything under this key and deletes the older ones; others may go on writing with
   * them meanwhile.
   */
  const rewriteAll = async (
    sql: Sql,
    key: WrappedKey,
    progress: (rows: number) => void,
  ): Promise<Rotated> => {
    let rewritten = 0;
    for (let some = batch; some > 0; ) {
      some = await inTransaction(sql, (transaction) => rewriteSome(transaction, key));
      rewritten += some;
      if (some > 0) progress(rewritten);
    }
    const late = await inTransaction(sql, async (transaction) => {
      await lockOlderKeys(transaction, key.id);
      // Boxes written with an older key between the last batch and the lock.
      let count = 0;
      for (let some = batch; some > 0; count += some) some = await rewriteSome(transaction, key);
      await deleteOlderKeys(transaction, key.id);
      return count;
    });
    return { id: key.id, rewritten: rewritten + late };
  };

  return {
    seal: async (sql, text, about) => sealWith(await current(sql), text, about),
    sealer: async (sql) => {
      const key = await current(sql);
      return (text, about) => sealWith(key, text, about);
    },
    open,
    rotate: async (sql) =>
      rewriteAll(
        sql,
        await createUnder(sql, inForce(keys, await currentKey(sql))),
        () => undefined,
      ),
    replaceSecretKey: async (sql, progress = () => undefined) => {
      const key = await inTransaction(sql, async (transaction) => {
        await takeAdvisoryLock(transaction, 'secretKey');
        const newest = await currentKey(transaction);
        const isDone = newest !== undefined && inForce(keys, newest) === secretKey;
        if (!isDone) await refuseLeavingBehind(transaction, secretKey);
        await rewrapKept(transaction, keys);
        if (isDone) return newest;
        await growEverySealEpoch(transaction);
        return createUnder(transaction, secretKey);
      });
      return rewriteAll(sql, key, (rows) => progress('secrets', rows));
    },
    check: async (sql) => {
      const key = await inTransaction(sql, current);
      try {
        unwrapped(key);
      } catch (error) {
        const fault =
          'is not the one that the secrets in the database were stored with; during a rotation, SECRET_KEY_PREVIOUS must be';
        throw Object.assign(new ConfigurationFault([`SECRET_KEY: ${fault} the one before it`]), {
          cause: error,
        });
      }
    },
  };
}

function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function idOf(box: Uint8Array): string {
  return Buffer.from(box)
    .subarray(0, idLength)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A coordinator that knows only the previous key could read nothing after the replacement. */
async function refuseLeavingBehind(sql: Queryable, secretKey: string): Promise<void> {
  const addresses = await addressesWithoutKey(sql, markOf(secretKey));
  if (addresses.length === 0) return;
  const remedy =
    'restart each with it, and with the one before as SECRET_KEY_PREVIOUS, then run this again.';
  throw new Refusal(
    'secret_key_unknown',
    `Coordinators at ${addresses.join(', ')} do not know this SECRET_KEY: ${remedy}`,
  );
}

export type WrappedKey = { readonly id: string; readonly wrapped: Uint8Array };

/**
 * The present encryption key, locked until the end of the transaction, so that a rotation waits for
 * what is written with it. Undefined in a database without a key, or when a rotation deleted the
 * key that was just read.
 */
async function currentKey(sql: Queryable): Promise<WrappedKey | undefined> {
  const [row] = await sql<
    WrappedKey[]
  >`select id, wrapped from secret_keys order by id desc limit 1 for share`;
  return row;
}

async function keyById(sql: Queryable, id: string): Promise<WrappedKey | undefined> {
  const [row] = await sql<WrappedKey[]>`select id, wrapped from secret_keys where id = ${id}`;
  return row;
}

async function insertKey(sql: Queryable, { id, wrapped }: WrappedKey): Promise<void> {
  await sql`insert into secret_keys (id, wrapped) values (${id}, ${Buffer.from(wrapped)})`;
}

/** Waits for every transaction that still encrypts with an older key. */
async function lockOlderKeys(sql: Queryable, newest: string): Promise<void> {
  await sql`select 1 from secret_keys where id < ${newest} for update`;
}

async function deleteOlderKeys(sql: Queryable, newest: string): Promise<void> {
  await sql`delete from secret_keys where id < ${newest}`;
}

/** An encrypted value and what it is bound to. */
type StoredSecret = {
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
    | 'import'
    | 'sign-in provider'
    | 'refresh token';
  readonly id: string;
  readonly about: string;
  readonly box: Uint8Array;
};

/**
 * Encrypted values that are not under this key, locked; a box begins with its key's id (16 bytes).
 */
async function keptUnderOlderKeys(
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
  const providers = await sql<StoredSecret[]>`
    select 'sign-in provider' as place, id::text, id::text as about, client_secret as box
    from sign_in_providers
    where client_secret is not null and substring(client_secret from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (providers.length > 0) return providers;
  const kept = await sql<StoredSecret[]>`
    select 'refresh token' as place, id::text, id::text as about, refresh_token as box
    from identities
    where refresh_token is not null and substring(refresh_token from 1 for 16) <> ${id} order by id
    limit ${limit} for no key update`;
  if (kept.length > 0) return kept;
  return sql<StoredSecret[]>`
    select 'second factor' as place, user_id::text as id, user_id::text as about, secret as box
    from second_factors
    where substring(secret from 1 for 16) <> ${id} order by user_id
    limit ${limit} for no key update`;
}

async function rewriteKept(sql: Queryable, { place, id, box }: StoredSecret): Promise<void> {
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
  else if (place === 'sign-in provider')
    await sql`update sign_in_providers set client_secret = ${Buffer.from(box)} where id = ${id}`;
  else if (place === 'refresh token')
    await sql`update identities set refresh_token = ${Buffer.from(box)} where id = ${id}`;
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

async function keptKey(sql: Queryable, purpose: string): Promise<Uint8Array | undefined> {
  const [row] = await sql<
    { wrapped: Uint8Array }[]
  >`select wrapped from kept_keys where purpose = ${purpose}`;
  return row?.wrapped;
}

async function writeKeptKey(sql: Queryable, purpose: string, wrapped: Uint8Array): Promise<void> {
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

function wrap(secretKey: string, bytes: Uint8Array, about: string): Buffer {
  return encrypt(wrappingOf(secretKey), bytes, about);
}

function wrappingOf(secretKey: string): Buffer {
  return derivedKey(secretKey, 'keys of secrets');
}

/** The unwrapped key and the master key that wrapped it. @throws when it is neither of both. */
function unwrap(
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
async function rewrapKept(sql: Queryable, keys: MasterKeys): Promise<void> {
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
type SealEpochs = ReadonlyMap<string, number>;

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
