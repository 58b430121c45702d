import type {
  inviteMember as inviteOperation,
  listInvitations as listOperation,
  withdrawInvitation as withdrawOperation,
} from '../../../shared/api/inner/inner-members.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { hourly } from '../../access/access-attempts.ts';
import { emailFrom, roleFrom } from '../../domain/organisation.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { linkLives } from '../../domain/signed-in-session.ts';
import { insertInvitation, invitationsOf, useInvitation } from '../../store/store-mailed-links.ts';
import { postMail } from '../../store/store-mails.ts';
import { countMembers, memberByEmail } from '../../store/store-users.ts';
import { refuseUnlessOwner } from '../account/operation-last-owner.ts';
import type { Answer, Early, InOrganisation, Place } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export const listInvitations = async ({ sql, organisation, now }: InOrganisation): Answer<OutputOf<typeof listOperation>> => ({
  items: (await invitationsOf(sql, organisation.id, new Date(now))).map(({ id, email, role, inviter, expires_at }) => ({
    ...{ id, email, role, inviter },
    expires_at: expires_at.toISOString(),
  })),
});

/** Mails in our name to addresses that someone else chose: few to a mailbox, and few of an organisation. */
const beforeInvite = async ({ organisation, with: { attempts } }: Early<Place>, input: InputOf<typeof inviteOperation>): Promise<void> => {
  await attempts.count([
    { what: `mails to ${emailFrom(input.email).toLowerCase()}`, most: 5 },
    hourly(`invitations of ${organisation.id}`, 30),
  ]);
};

/** Inviting an address once more takes the place of the earlier invitation. Whether there is an account with it makes no difference. */
const actInvite = async (context: InOrganisation, input: InputOf<typeof inviteOperation>): Answer<OutputOf<typeof inviteOperation>> => {
  const { sql, organisation, caller, now, note } = context;
  const { accountSecrets, baseUrl, door } = context.with;
  const [email, role] = [emailFrom(input.email), roleFrom(input.role)];
  refuseUnlessOwner(context, role);
  if (await memberByEmail(sql, organisation.id, email)) throw new Refusal('already_member', `email: ${email} is a member already.`);
  const others = (await invitationsOf(sql, organisation.id, new Date(now))).filter(
    (one) => one.email.toLowerCase() !== email.toLowerCase(),
  );
  mayHaveOneMore('members', organisation.plan, (await countMembers(sql, organisation.id)) + others.length);
  const [id, at, expires_at] = [newId(), new Date(now), new Date(now + linkLives.invitation)];
  const link = door.mail ? undefined : await accountSecrets.mint('invitation');
  const row = { id, organisation: organisation.id, email, role, fingerprint: link?.fingerprint ?? null };
  await insertInvitation(sql, { ...row, invited_by: caller.user, at, expires_at });
  if (link === undefined) await postMail(sql, { kind: 'invitation', recipient: email, about: { invitation: id }, at });
  note({ after: { email, role } });
  const address = link === undefined ? null : `${baseUrl()}/join/${link.text}`;
  return { id, email, role, address, expires_at: expires_at.toISOString() };
};

export const inviteMember = { before: beforeInvite, act: actInvite };

export const withdrawInvitation = async (
  { sql, organisation }: InOrganisation,
  { invitation_id }: InputOf<typeof withdrawOperation>,
): Answer<OutputOf<typeof withdrawOperation>> => {
  if (!(await useInvitation(sql, organisation.id, invitation_id))) throw notFound('invitation_not_found');
  return { id: invitation_id };
};
