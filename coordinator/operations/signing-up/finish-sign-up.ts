import type { finishSignUp as operation } from '../../../shared/api/inner/inner-signing-up.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { hostOf } from '../../access/access-attempts.ts';
import { verifyPassword } from '../../access/access-passwords.ts';
import { insertFirstChannel } from '../../store/store-channels.ts';
import { invitationById, signUpBy, useSignUp } from '../../store/store-mailed-links.ts';
import { insertOrganisation } from '../../store/store-organisations.ts';
import { insertMember, insertUser } from '../../store/store-users.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, AtTheDoor, ByVisitor, Early } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';
import { join } from '../operation-join-by-invitation.ts';

/** Anyone may sign up with an address, but who finishes must know the password: no account gets one that a stranger chose. */
const before = async (
  { pool, now, visitor, with: { attempts, accountSecrets } }: Early<AtTheDoor>,
  { secret, password }: InputOf<typeof operation>,
): Promise<void> => {
  await attempts.count([{ what: `finished sign-ups from ${hostOf(visitor.address)}`, most: 20 }]);
  const waiting = await signUpBy(pool, await accountSecrets.fingerprint('sign-up', secret), new Date(now));
  if (!waiting) throw deadLink();
  if (!(await verifyPassword(password, waiting.password_hash)))
    throw new Refusal(
      'sign_in_failed',
      'password: is not the one that this account was asked for with. If someone else asked for it, sign up yourself: that ends theirs.',
    );
};

/** The address is proven, so the account is made; an invitation that has ended meanwhile makes it one without an organisation. */
const act = async (context: ByVisitor, { secret }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const {
    sql,
    now,
    note,
    with: { accountSecrets, door },
  } = context;
  const waiting = await useSignUp(sql, await accountSecrets.fingerprint('sign-up', secret), new Date(now));
  if (!waiting) throw deadLink();
  const { email, name, password_hash, organisation, time_zone, invitation_id } = waiting;
  const user = newId();
  await insertUser(sql, { id: user, email, name, password_hash, email_verified_at: new Date(now) });
  note({ after: { email, name, organisation } });
  if (organisation !== null) {
    const id = newId();
    await insertOrganisation(sql, { id, name: organisation, plan: door.signUpPlan, time_zone: time_zone ?? 'UTC' });
    await insertMember(sql, id, user, 'owner');
    await insertFirstChannel(sql, { organisation: id, email, at: new Date(now) });
    note({ organisation: id });
  }
  const invitation = invitation_id === null ? undefined : await invitationById(sql, invitation_id, new Date(now));
  if (invitation && (await join(context, user, invitation)) === 'joined') note({ organisation: invitation.organisation_id });
  return { session: await beginSession(context, user) };
};

export const finishSignUp = { before, act };
