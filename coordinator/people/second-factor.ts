import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Queryable } from '../database/connect.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';

/**
 * Recovery codes on paper, for people who lost their phone. Only fingerprints are stored, each
 * bound to its user.
 */

const count = 10;

/** Ten codes as they are shown, and what is stored of them. */
export async function mintRecoveryCodes(
  secrets: AccountSecrets,
  user: string,
): Promise<{ readonly shown: readonly string[]; readonly fingerprints: readonly Buffer[] }> {
  const codes = Array.from({ length: count }, one);
  return {
    shown: codes.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`),
    fingerprints: await Promise.all(codes.map((code) => fingerprint(secrets, user, code))),
  };
}

const length = 10;

/** No letter that is mistaken for another: 50 bits in ten. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

function one(): string {
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

function fingerprint(secrets: AccountSecrets, user: string, code: string): Promise<Buffer> {
  return secrets.fingerprint('recovery code', `${user} ${code}`);
}

export async function recoveryFingerprint(
  secrets: AccountSecrets,
  user: string,
  typed: string,
): Promise<Buffer | undefined> {
  const code = read(typed);
  return code === undefined ? undefined : fingerprint(secrets, user, code);
}

/**
 * Accepts any spelling: case, gaps and letters that look alike do not matter. Undefined: no code
 * looks like this.
 */
function read(typed: string): string | undefined {
  const plain = typed
    .toLowerCase()
    .replaceAll(/[\s-]/g, '')
    .replaceAll('o', '0')
    .replaceAll(/[il]/g, '1');
  return plain.length === length && [...plain].every((letter) => alphabet.includes(letter))
    ? plain
    : undefined;
}

const stepMs = 30_000;
const secretBytes = 20;
/**
 * Phone clocks differ, and typing takes a while: the code before and the one after are accepted,
 * too.
 */
const nearby = [0, -1, 1];

/** 160 random bits, as apps expect. */
export function newTotpSecret(): string {
  return base32(randomBytes(secretBytes));
}

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Uint8Array): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => base32Alphabet.charAt(Number.parseInt(five.padEnd(5, '0'), 2)))
    .join('');
}

/** Whether newTotpSecret() could have made it. */
export function isTotpSecret(text: string): boolean {
  return /^[A-Z2-7]{32}$/.test(text);
}

/** The content of the QR code for the app. */
export function totpAddress(secret: string, email: string): string {
  return `otpauth://totp/Antipode:${encodeURIComponent(email)}?secret=${secret}&issuer=Antipode&algorithm=SHA1&digits=6&period=30`;
}

/** The code of a half minute, counted from 1970. */
export function codeOf(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const tag = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const at = tag.readUInt8(tag.length - 1) & 15;
  return String((tag.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

function bytesOf(text: string): Buffer {
  const bits = [...text]
    .map((letter) => base32Alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

export function stepAt(now: number): number {
  return Math.floor(now / stepMs);
}

/** The half minute of a code, if it is near the present one. */
export function stepOfCode(secret: string, code: string, now: number): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const typed = Buffer.from(code);
  return nearby
    .map((away) => stepAt(now) + away)
    .find((step) => timingSafeEqual(typed, Buffer.from(codeOf(secret, step))));
}

type SecondFactor = {
  /** Encrypted. */
  readonly secret: Uint8Array;
  readonly created_at: number;
  readonly last_step: number;
  readonly recovery_codes_left: number;
};

export async function secondFactorOf(
  sql: Queryable,
  user: string,
): Promise<SecondFactor | undefined> {
  const [row] = await sql<SecondFactor[]>`select secret, created_at, last_step,
      cardinality(recovery_codes) as recovery_codes_left
    from second_factors where user_id = ${user}`;
  return row;
}

export async function hasSecondFactor(sql: Queryable, user: string): Promise<boolean> {
  return (await sql`select 1 from second_factors where user_id = ${user}`).length > 0;
}

/** False when there is one already. */
export async function insertSecondFactor(
  sql: Queryable,
  {
    user,
    secret,
    at,
    step,
  }: { readonly user: string; readonly secret: Buffer; readonly at: number; readonly step: number },
): Promise<boolean> {
  return (
    (
      await sql`insert into second_factors (user_id, secret, created_at, last_step)
      values (${user}, ${secret}, ${new Date(at)}, ${step})
      on conflict do nothing`
    ).count > 0
  );
}

/** False when there was none. */
export async function deleteSecondFactor(sql: Queryable, user: string): Promise<boolean> {
  return (await sql`delete from second_factors where user_id = ${user}`).count > 0;
}

/** A code is accepted once, even for concurrent attempts. */
export async function takeStep(sql: Queryable, user: string, step: number): Promise<boolean> {
  return (
    (
      await sql`update second_factors set last_step = ${step} where user_id = ${user}
      and last_step < ${step}`
    ).count > 0
  );
}

/** Replaces all previous codes with these. */
export async function replaceRecoveryCodes(
  sql: Queryable,
  user: string,
  fingerprints: readonly Buffer[],
): Promise<void> {
  const all = fingerprints.map((each) => each.toString('hex'));
  await sql`update second_factors set recovery_codes = array(
    select decode(h, 'hex') from unnest(${all}::text[]) h) where user_id = ${user}`;
}

export async function hasRecoveryCode(
  sql: Queryable,
  user: string,
  fingerprint: Buffer,
): Promise<boolean> {
  return (
    (
      await sql`select 1 from second_factors where user_id = ${user}
        and ${fingerprint} = any(recovery_codes)`
    ).length > 0
  );
}

export async function takeRecoveryCode(
  sql: Queryable,
  user: string,
  fingerprint: Buffer,
): Promise<boolean> {
  return (
    (
      await sql`update second_factors set recovery_codes = array_remove(recovery_codes, ${fingerprint})
      where user_id = ${user} and ${fingerprint} = any(recovery_codes)`
    ).count > 0
  );
}
