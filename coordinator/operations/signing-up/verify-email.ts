import type { InputOf, OutputOf } from '../../../shared/api/api-operation.ts';
import type { verifyEmail as operation } from '../../../shared/api/inner/inner-signing-up.ts';
import { useVerification, writeEmail } from '../../store/store-mailed-links.ts';
import { postMail } from '../../store/store-mails.ts';
import { emailOf } from '../../store/store-users.ts';
import type { Answer, ByVisitor } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';

/** Proves a mailbox, and signs nobody in. Where it is another one than before, the old one hears of it. */
export const verifyEmail = async (
  { sql, now, note, with: { accountSecrets } }: ByVisitor,
  { secret }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const proven = await useVerification(sql, await accountSecrets.fingerprint('e-mail', secret), new Date(now));
  if (!proven) throw deadLink();
  const { user_id: user, email } = proven;
  const before = await emailOf(sql, user);
  await writeEmail(sql, user, email, new Date(now));
  note({ user, before: { email: before }, after: { email } });
  if (before !== undefined && before.toLowerCase() !== email.toLowerCase())
    await postMail(sql, { kind: 'notice', recipient: before, about: { what: 'e-mail', detail: email }, at: new Date(now) });
  return { email };
};
