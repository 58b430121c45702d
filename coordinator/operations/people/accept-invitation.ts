import type { acceptInvitation as operation } from '../../../shared/api/inner/inner-people.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { invitationBy } from '../../store/store-mailed-links.ts';
import { writeActiveOrganisation } from '../../store/store-sessions.ts';
import type { Answer, ByPerson } from '../operation-context.ts';
import { deadLink } from '../operation-dead-link.ts';
import { join, notNow } from '../operation-join-by-invitation.ts';

/** Whoever is signed in joins, whatever address the invitation was sent to: the inviter gave it to somebody. */
export const acceptInvitation = async (context: ByPerson, { secret }: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, now, note, person } = context;
  const { accountSecrets } = context.with;
  const invitation = await invitationBy(sql, await accountSecrets.fingerprint('invitation', secret), new Date(now));
  if (!invitation) throw deadLink();
  const joined = await join(context, person.user, invitation);
  if (joined === 'gone') throw deadLink();
  const { organisation_id: id, organisation: name, role } = invitation;
  if (joined === 'ending') throw notNow(invitation);
  if (joined === 'member already') throw new Refusal('already_member', `You belong to ${name} already.`);
  await writeActiveOrganisation(sql, person.session, id);
  note({ organisation: id, after: { email: person.email, role } });
  return { id, name, role };
};
