import type { Queryable } from './store-database.ts';

export type NewSignInLink = {
  readonly fingerprint: Buffer;
  readonly user: string;
  readonly made_for: 'start' | 'operator';
  readonly at: Date;
  readonly expires_at: Date | null;
};

export const insertSignInLink = async (sql: Queryable, { fingerprint, user, made_for, at, expires_at }: NewSignInLink): Promise<void> => {
  await sql`insert into sign_in_links (fingerprint, user_id, made_for, created_at, expires_at)
    values (${fingerprint}, ${user}, ${made_for}, ${at}, ${expires_at})`;
};

/** Those of earlier starts end with the next. */
export const deleteStartLinks = async (sql: Queryable): Promise<void> => {
  await sql`delete from sign_in_links where made_for = 'start'`;
};

/** Whose link it is, which it is no more: of two that come at once, one finds it. */
export const useSignInLink = async (sql: Queryable, fingerprint: Buffer, now: Date): Promise<string | undefined> => {
  const [row] = await sql<{ user_id: string }[]>`
    delete from sign_in_links where fingerprint = ${fingerprint} and (expires_at is null or expires_at > ${now}) returning user_id`;
  return row?.user_id;
};
