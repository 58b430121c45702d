import type { Queryable } from './store-database.ts';
import { textsLiteral } from './store-sql-arrays.ts';

export type SecondFactor = {
  /** Encrypted. */
  readonly secret: Uint8Array;
  readonly created_at: Date;
  readonly last_step: number;
  readonly recovery_codes_left: number;
};

export const secondFactorOf = async (sql: Queryable, user: string): Promise<SecondFactor | undefined> => {
  const [row] = await sql<SecondFactor[]>`select secret, created_at, last_step,
      (select count(*) from recovery_codes c where c.user_id = f.user_id) as recovery_codes_left
    from second_factors f where user_id = ${user}`;
  return row;
};

export const hasSecondFactor = async (sql: Queryable, user: string): Promise<boolean> =>
  (await sql`select 1 from second_factors where user_id = ${user}`).length > 0;

/** False when there is one already. */
export const insertSecondFactor = async (
  sql: Queryable,
  { user, secret, at, step }: { readonly user: string; readonly secret: Buffer; readonly at: Date; readonly step: number },
): Promise<boolean> =>
  (
    await sql`insert into second_factors (user_id, secret, created_at, last_step) values (${user}, ${secret}, ${at}, ${step})
      on conflict do nothing`
  ).count > 0;

/** Its recovery codes go with it. False when there was none. */
export const deleteSecondFactor = async (sql: Queryable, user: string): Promise<boolean> =>
  (await sql`delete from second_factors where user_id = ${user}`).count > 0;

/** A code is taken once: of two that come at the same time, one is. */
export const takeStep = async (sql: Queryable, user: string, step: number): Promise<boolean> =>
  (await sql`update second_factors set last_step = ${step} where user_id = ${user} and last_step < ${step}`).count > 0;

/** These codes, and none of those before. */
export const replaceRecoveryCodes = async (sql: Queryable, user: string, fingerprints: readonly Buffer[]): Promise<void> => {
  await sql`delete from recovery_codes where user_id = ${user}`;
  const all = textsLiteral(fingerprints.map((each) => each.toString('hex')));
  await sql`insert into recovery_codes (user_id, fingerprint) select ${user}, decode(h, 'hex') from unnest(${all}::text[]) h`;
};

export const hasRecoveryCode = async (sql: Queryable, user: string, fingerprint: Buffer): Promise<boolean> =>
  (await sql`select 1 from recovery_codes where user_id = ${user} and fingerprint = ${fingerprint}`).length > 0;

export const takeRecoveryCode = async (sql: Queryable, user: string, fingerprint: Buffer): Promise<boolean> =>
  (await sql`delete from recovery_codes where user_id = ${user} and fingerprint = ${fingerprint}`).count > 0;

export const insertSecondStep = async (
  sql: Queryable,
  {
    fingerprint,
    user,
    at,
    expires_at,
  }: { readonly fingerprint: Buffer; readonly user: string; readonly at: Date; readonly expires_at: Date },
): Promise<void> => {
  await sql`insert into second_steps (fingerprint, user_id, created_at, expires_at) values (${fingerprint}, ${user}, ${at}, ${expires_at})`;
};

/** Whose second step it is, while it may still be taken. */
export const secondStepBy = async (sql: Queryable, fingerprint: Buffer, now: Date): Promise<string | undefined> => {
  const [row] = await sql<
    { user_id: string }[]
  >`select user_id from second_steps where fingerprint = ${fingerprint} and expires_at > ${now}`;
  return row?.user_id;
};

/** True when it was still there. */
export const deleteSecondStep = async (sql: Queryable, fingerprint: Buffer): Promise<boolean> =>
  (await sql`delete from second_steps where fingerprint = ${fingerprint}`).count > 0;

/** With the password the steps that began with it are over. */
export const deleteSecondSteps = async (sql: Queryable, user: string): Promise<void> => {
  await sql`delete from second_steps where user_id = ${user}`;
};
