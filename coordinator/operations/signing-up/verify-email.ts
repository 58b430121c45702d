import type { verifyEmail as operation } from '../../../shared/api/inner/inner-people.ts';
import type { keepEmail as keepOperation } from '../../../shared/api/inner/inner-signing-up.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { useKeeping, useVerification, writeEmail } from '../../store/store-mailed-links.ts';
import { postMail } from '../../store/store-mails.ts';
import type { Answer, ByPerson, ByVisitor } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';

/** Proves a mailbox, for the signed-in user alone whose it is to be. Where it is another one than before, the old one is told. */
export const verifyEmail = async (
  { sql, now, note, person, with: { accountSecrets } }: ByPerson,
  { secret }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const email = await useVerification(sql, person.user, await accountSecrets.fingerprint('e-mail', secret), new Date(now));
  if (email === undefined) throw deadLink();
  await writeEmail(sql, person.user, email, new Date(now));
  note({ before: { email: person.email }, after: { email } });
  if (person.email.toLowerCase() !== email.toLowerCase())
    await postMail(sql, { kind: 'notice', recipient: person.email, about: { what: 'e-mail', detail: email }, at: new Date(now) });
  return { email };
};

/** The old mailbox ends a change of address, whoever asked for it. */
export const keepEmail = async (
  { sql, now, note, with: { accountSecrets } }: ByVisitor,
  { secret }: InputOf<typeof keepOperation>,
): Answer<OutputOf<typeof keepOperation>> => {
  const ended = await useKeeping(sql, await accountSecrets.fingerprint('e-mail kept', secret), new Date(now));
  if (!ended) throw deadLink();
  note({ user: ended.user_id, after: { email_change: 'ended by the old mailbox', wanted: ended.email } });
  return { wanted: ended.email };
};
