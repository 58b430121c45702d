import type { signUp as operation } from '../../../shared/api/inner/inner-signing-up.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { hostOf } from '../../access/access-attempts.ts';
import { hashPassword } from '../../access/access-passwords.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { emailFrom, passwordFrom, timeZoneFrom } from '../../domain/organisation.ts';
import { linkLives } from '../../domain/signed-in-session.ts';
import { type InvitationRow, insertSignUp, invitationBy } from '../../store/store-mailed-links.ts';
import { postMail } from '../../store/store-mails.ts';
import { hasOwner, insertUser } from '../../store/store-users.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';
import { join, notNow } from '../operation-join-by-invitation.ts';

type Prepared = {
  readonly email: string;
  readonly name: string;
  readonly organisation: string | null;
  readonly time_zone: string | null;
  readonly password_hash: string;
  readonly invitation: InvitationRow | undefined;
};

const closed = (): Refusal =>
  new Refusal('sign_up_closed', 'Nobody signs up here without an invitation; ask whoever runs this installation for one.');

/** Everything is judged before anything is known of the address, and the password is hashed whether there is such an account or not. */
const before = async (
  { pool, now, visitor, with: { attempts, accountSecrets, door } }: Early<AtTheDoor>,
  input: InputOf<typeof operation>,
): Promise<Prepared> => {
  const { invitation_secret: secret } = input;
  const invitation =
    secret === null ? undefined : await invitationBy(pool, await accountSecrets.fingerprint('invitation', secret), new Date(now));
  if (secret !== null && !invitation) throw deadLink();
  if (!invitation && (door.signUp !== 'open' || !door.mail || !(await hasOwner(pool)))) throw closed();
  const email = emailFrom(input.email);
  const own = invitation
    ? { organisation: null, time_zone: null }
    : { organisation: nameFrom(input.organisation ?? '', 'organisation'), time_zone: timeZoneFrom(input.time_zone ?? '') };
  const [name, password] = [nameFrom(input.name), passwordFrom(input.password)];
  await attempts.count([
    { what: `mails to ${email.toLowerCase()}`, most: 5 },
    { what: `sign-ups from ${hostOf(visitor.address)}`, most: 20 },
  ]);
  return { email, name, ...own, password_hash: await hashPassword(password), invitation };
};

/**
 * With mail nothing is made before the address is proven, so that the answer is the same for one that has an account. Without mail only
 * somebody with an invitation comes so far, and hears that an address is taken.
 */
const act = async (context: ByVisitor, _input: InputOf<typeof operation>, prepared: Prepared): Answer<OutputOf<typeof operation>> => {
  const {
    sql,
    now,
    note,
    with: { door },
  } = context;
  const { invitation, ...wanted } = prepared;
  const { email, name, password_hash } = wanted;
  const at = new Date(now);
  const id = newId();
  note({ after: { email, name, organisation: wanted.organisation } });
  if (door.mail) {
    await insertSignUp(sql, { ...wanted, id, invitation: invitation?.id ?? null, at, expires_at: new Date(now + linkLives.signUp) });
    await postMail(sql, { kind: 'sign-up', recipient: email, about: { sign_up: id }, at });
    return { session: null, must_confirm: true };
  }
  if (!invitation) throw closed();
  await insertUser(sql, { id, email, name, password_hash });
  const joined = await join(context, id, invitation);
  if (joined === 'ending') throw notNow(invitation);
  if (joined !== 'joined') throw deadLink();
  note({ organisation: invitation.organisation_id });
  return { session: await beginSession(context, id), must_confirm: false };
};

export const signUp = { before, act };
