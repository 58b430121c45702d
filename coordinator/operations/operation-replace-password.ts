import { deleteResets, deleteVerifications } from '../store/store-mailed-links.ts';
import { postMail } from '../store/store-mails.ts';
import { deleteSecondSteps } from '../store/store-second-factors.ts';
import { deleteSessions } from '../store/store-sessions.ts';
import { writePassword } from '../store/store-users.ts';
import type { Context } from './operation-context.ts';

/** A new password ends everything that was open under the old one, changes of address too, and its owner hears of it. */
export const replacePassword = async (
  { sql, now, with: { door } }: Context,
  { user, email }: { readonly user: string; readonly email: string },
  password_hash: string,
): Promise<void> => {
  await writePassword(sql, user, password_hash);
  await deleteSessions(sql, user, null);
  await deleteSecondSteps(sql, user);
  await deleteResets(sql, user);
  await deleteVerifications(sql, user);
  if (door.mail) await postMail(sql, { kind: 'notice', recipient: email, about: { what: 'password', detail: '' }, at: new Date(now) });
};
