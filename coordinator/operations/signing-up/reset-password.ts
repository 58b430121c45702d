import type {
  requestPasswordReset as requestOperation,
  resetPassword as resetOperation,
} from '../../../shared/api/inner/inner-signing-up.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { failuresOf, hostOf } from '../../access/access-attempts.ts';
import { hashPassword } from '../../access/access-passwords.ts';
import { emailFrom, passwordFrom } from '../../domain/organisation.ts';
import { useReset } from '../../store/store-mailed-links.ts';
import { postMail } from '../../store/store-mails.ts';
import { markVerified } from '../../store/store-users.ts';
import { signInAs } from '../operation-begin-session.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';
import { replacePassword } from '../operation-replace-password.ts';

const beforeRequest = async (
  { visitor, with: { attempts, door } }: Early<AtTheDoor>,
  { email }: InputOf<typeof requestOperation>,
): Promise<void> => {
  if (!door.mail)
    throw new Refusal(
      'mail_missing',
      `This installation sends no mail. Whoever runs it can let you in: npm run operator -- user sign-in-link --email ${email.trim()}`,
    );
  // Apart from other mails to it, which anyone can cause: they would keep away the only way in for an account that someone guesses at.
  await attempts.count([
    { what: `reset mails to ${emailFrom(email).toLowerCase()}`, most: 5 },
    { what: `resets from ${hostOf(visitor.address)}`, most: 20 },
  ]);
};

/** Whether there is such an account is found out only when the mail is made, so that here nothing tells. */
const actRequest = async (
  { sql, now }: ByVisitor,
  { email }: InputOf<typeof requestOperation>,
): Answer<OutputOf<typeof requestOperation>> => {
  await postMail(sql, { kind: 'password-reset', recipient: email.trim(), about: {}, at: new Date(now) });
  return { sent: true };
};

export const requestPasswordReset = { before: beforeRequest, act: actRequest };

const beforeReset = async ({ visitor, with: { attempts } }: Early<AtTheDoor>, input: InputOf<typeof resetOperation>): Promise<string> => {
  const password = passwordFrom(input.password);
  await attempts.count([{ what: `resets from ${hostOf(visitor.address)}`, most: 20 }]);
  return hashPassword(password);
};

/** The link lets its owner in at once, however many passwords are guessed meanwhile. The second step stays: whoever reads a mailbox is not yet the person. */
const actReset = async (
  context: ByVisitor,
  { secret, ...also }: InputOf<typeof resetOperation>,
  password_hash: string,
): Answer<OutputOf<typeof resetOperation>> => {
  const {
    sql,
    now,
    note,
    with: { accountSecrets, attempts },
  } = context;
  const user = await useReset(sql, await accountSecrets.fingerprint('password reset', secret), new Date(now));
  const email = user === undefined ? undefined : await markVerified(sql, user, new Date(now));
  if (user === undefined || email === undefined) throw deadLink();
  note({ user });
  await replacePassword(context, { user, email }, password_hash, also);
  await attempts.forget([failuresOf(email)]);
  return signInAs(context, user);
};

export const resetPassword = { before: beforeReset, act: actReset };
