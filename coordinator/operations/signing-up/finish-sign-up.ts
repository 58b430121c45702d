import type { InputOf, OutputOf } from '../../../shared/api/api-operation.ts';
import type { finishSignUp as operation } from '../../../shared/api/inner/inner-signing-up.ts';
import { newId } from '../../../shared/base/ids.ts';
import { insertFirstChannel } from '../../store/store-channels.ts';
import { invitationById, useSignUp } from '../../store/store-mailed-links.ts';
import { insertOrganisation } from '../../store/store-organisations.ts';
import { insertMember, insertUser } from '../../store/store-users.ts';
import { beginSession } from '../operation-begin-session.ts';
import type { Answer, ByVisitor } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';
import { join } from '../operation-join-by-invitation.ts';

/** The address is proven, so the account is made; an invitation that has ended meanwhile makes it one without an organisation. */
export const finishSignUp = async (context: ByVisitor, { secret }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
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
