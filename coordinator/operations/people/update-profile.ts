import type {
  changeEmail as changeEmailOperation,
  changePassword as changePasswordOperation,
  showProfile as showProfileOperation,
  updateProfile as updateProfileOperation,
} from '../../../shared/api/inner/inner-people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { hashPassword } from '../../access/access-passwords.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { emailFrom, passwordFrom } from '../../domain/organisation.ts';
import { linkLives } from '../../domain/signed-in-session.ts';
import { insertVerification, wantedEmail, writeEmail } from '../../store/store-mailed-links.ts';
import { postMail } from '../../store/store-mails.ts';
import { writeName } from '../../store/store-users.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, ByPerson, Early, Oneself } from '../operation-context.ts';
import { replacePassword } from '../operation-replace-password.ts';

export const showProfile = async ({ sql, now, person, with: { door } }: ByPerson): Answer<OutputOf<typeof showProfileOperation>> => {
  const { name, email, email_verified } = person;
  return { name, email, email_verified, wanted_email: (await wantedEmail(sql, person.user, new Date(now))) ?? null, mail: door.mail };
};

export const updateProfile = async (
  { sql, note, person }: ByPerson,
  input: InputOf<typeof updateProfileOperation>,
): Answer<OutputOf<typeof updateProfileOperation>> => {
  const name = nameFrom(input.name);
  await writeName(sql, person.user, name);
  note({ before: { name: person.name }, after: { name } });
  return { name };
};

const beforeEmail = async (
  { person, with: { attempts, door } }: Early<Oneself>,
  input: InputOf<typeof changeEmailOperation>,
): Promise<string> => {
  const email = emailFrom(input.email);
  if (door.mail)
    await attempts.count([
      { what: `mails to ${email.toLowerCase()}`, most: 5 },
      { what: `mails asked for by ${person.user}`, most: 10 },
    ]);
  return email;
};

/** With mail the present address stays until the new one is proven, and nobody learns here whether that has an account. */
const actEmail = async (
  { sql, now, note, person, with: { door } }: ByPerson,
  _input: InputOf<typeof changeEmailOperation>,
  email: string,
): Answer<OutputOf<typeof changeEmailOperation>> => {
  if (door.mail) {
    const id = newId();
    await insertVerification(sql, { id, user: person.user, email, at: new Date(now), expires_at: new Date(now + linkLives.email) });
    await postMail(sql, { kind: 'e-mail', recipient: email, about: { verification: id }, at: new Date(now) });
    if (email.toLowerCase() !== person.email.toLowerCase())
      await postMail(sql, { kind: 'e-mail-change', recipient: person.email, about: { verification: id }, at: new Date(now) });
    return { email, must_confirm: true };
  }
  await writeEmail(sql, person.user, email, null);
  note({ before: { email: person.email }, after: { email } });
  return { email, must_confirm: false };
};

export const changeEmail = { before: beforeEmail, act: actEmail };

const beforePassword = (_: Early<Oneself>, { password }: InputOf<typeof changePasswordOperation>): Promise<string> =>
  hashPassword(passwordFrom(password));

/** The browser at which it was changed goes on, in a session of its own. */
const actPassword = async (
  context: ByPerson,
  also: InputOf<typeof changePasswordOperation>,
  password_hash: string,
): Answer<OutputOf<typeof changePasswordOperation>> => {
  const { user, email, from } = context.person;
  await replacePassword(context, { user, email }, password_hash, also);
  return { session: await beginSession({ ...context, visitor: from }, user) };
};

export const changePassword = { before: beforePassword, act: actPassword };
