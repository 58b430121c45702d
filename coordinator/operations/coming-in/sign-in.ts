import type { signIn as operation } from '../../../shared/api/inner/inner-coming-in.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { failuresOf, hostOf, type Tried } from '../../access/access-attempts.ts';
import type { Visitor } from '../../access/access-caller.ts';
import { verifyPassword } from '../../access/access-passwords.ts';
import { credentialsByEmail } from '../../store/store-users.ts';
import { signInAs } from '../operation-begin-session.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';

/** For an account from one host, and for a host at all accounts: who guesses is slowed down. */
const triesAt = (email: string, { address }: Visitor): readonly [Tried, Tried] => [
  { what: `password of ${email.trim().toLowerCase()} from ${hostOf(address)}`, most: 10 },
  { what: `passwords from ${hostOf(address)}`, most: 60 },
];

/** The same answer, after the same work, whether there is such an account or not. */
const before = async (
  { pool, visitor, with: { attempts, door } }: Early<AtTheDoor>,
  { email, password }: InputOf<typeof operation>,
): Promise<string> => {
  const tried = triesAt(email, visitor);
  // Without mail there is no other way in, and whoever guesses from many hosts could lock the account's owner out.
  const everywhere = door.mail ? [failuresOf(email)] : [];
  await attempts.count(tried);
  // Apart, so that tries which were refused to their host count for no account: one host alone would send its owner to the mailbox.
  if (everywhere.length > 0) await attempts.count(everywhere);
  const user = await credentialsByEmail(pool, email.trim());
  const isRight = await verifyPassword(password, user?.password_hash ?? null);
  if (!user || !isRight) throw new Refusal('sign_in_failed', 'The e-mail address or the password is wrong.');
  // What was counted for the host stays: an account of one's own is no way to more guesses at others.
  await attempts.forget([tried[0], ...everywhere]);
  return user.id;
};

const act = (context: ByVisitor, _input: InputOf<typeof operation>, user: string): Answer<OutputOf<typeof operation>> =>
  signInAs(context, user);

export const signIn = { before, act };
