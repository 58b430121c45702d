import { idleMs, oldestMs } from '../domain/signed-in-session.ts';
import type { Queryable } from './store-database.ts';
import { forgetEndedRecords } from './store-oauth-records.ts';

const day = 86_400_000;

/** What lets nobody in any more is of no use to anyone. */
export const forgetEnded = async (sql: Queryable, now: number): Promise<void> => {
  const at = new Date(now);
  await sql`delete from sessions where last_used_at <= ${new Date(now - idleMs)} or created_at <= ${new Date(now - oldestMs)}`;
  await sql`delete from sign_in_links where expires_at <= ${at}`;
  await sql`delete from second_steps where expires_at <= ${at}`;
  await sql`delete from passkey_challenges where expires_at <= ${at}`;
  await sql`delete from sign_ups where expires_at <= ${at}`;
  await sql`delete from email_verifications where expires_at <= ${at}`;
  await sql`delete from password_resets where expires_at <= ${at}`;
  await sql`delete from invitations where expires_at <= ${at}`;
  await forgetEndedRecords(sql, now, { consentMs: day / 12, clientMs: 7 * day });
  await sql`delete from attempts where began_at <= ${new Date(now - day)}`;
};
