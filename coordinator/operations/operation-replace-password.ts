import { deleteConnectionsOf } from '../store/store-assistant-connections.ts';
import { deleteResets, deleteVerifications } from '../store/store-mailed-links.ts';
import { postMail } from '../store/store-mails.ts';
import { deletePasskeysOf } from '../store/store-passkeys.ts';
import { deleteSecondSteps } from '../store/store-second-factors.ts';
import { deleteSessions } from '../store/store-sessions.ts';
import { deleteAllTokensOf } from '../store/store-tokens.ts';
import { writePassword } from '../store/store-users.ts';
import type { Context } from './operation-context.ts';

/** What lets someone act as the user without the password, and ends only where they say so. */
export type AlsoEnded = { readonly end_tokens: boolean; readonly end_passkeys: boolean; readonly end_assistants: boolean };

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** A new password ends everything that was open under the old one, changes of address too; its owner is told, and what stays. */
export const replacePassword = async (
  { sql, now, note, with: { door } }: Context,
  { user, email }: { readonly user: string; readonly email: string },
  password_hash: string,
  { end_tokens, end_passkeys, end_assistants }: AlsoEnded,
): Promise<void> => {
  await writePassword(sql, user, password_hash);
  await deleteSessions(sql, user, null);
  await deleteSecondSteps(sql, user);
  await deleteResets(sql, user);
  await deleteVerifications(sql, user);
  if (end_tokens) await deleteAllTokensOf(sql, user);
  if (end_passkeys) await deletePasskeysOf(sql, user);
  if (end_assistants) await deleteConnectionsOf(sql, user);
  const all = [
    { what: 'API tokens', isEnded: end_tokens },
    { what: 'passkeys', isEnded: end_passkeys },
    { what: 'connected assistants', isEnded: end_assistants },
  ];
  const [ended, kept] = [true, false].map((isEnded) => listed(all.filter((one) => one.isEnded === isEnded).map(({ what }) => what)));
  note({ after: { ended: ended ?? '', kept: kept ?? '' } });
  const detail = [ended && `Its ${ended} were revoked.`, kept && `Its ${kept}, if there are any, stay valid.`].filter(Boolean).join(' ');
  if (door.mail) await postMail(sql, { kind: 'notice', recipient: email, about: { what: 'password', detail }, at: new Date(now) });
};
