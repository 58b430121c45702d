import { Refusal } from '../../shared/base/errors.ts';
import { mayHaveOneMore } from '../domain/plan-limits.ts';
import { type InvitationRow, useInvitation } from '../store/store-mailed-links.ts';
import { lockOrganisation } from '../store/store-organisations.ts';
import { countMembers, insertMember, membershipsOf } from '../store/store-users.ts';
import type { Context } from './operation-context.ts';

type Joined = 'joined' | 'member already' | 'ending' | 'gone';

/**
 * Makes somebody a member by an invitation, which is good no more. The plan is asked under the organisation's lock, as for every member.
 * `gone`: somebody else was faster, or the organisation ended; `ending`: it is about to, and the
 * invitation stays.
 */
export const join = async ({ sql }: Context, user: string, invitation: InvitationRow): Promise<Joined> => {
  const organisation = await lockOrganisation(sql, invitation.organisation_id);
  if (!organisation) return 'gone';
  if (organisation.ends_at !== null) return 'ending';
  if ((await membershipsOf(sql, user)).some(({ id }) => id === organisation.id)) return 'member already';
  if (!(await useInvitation(sql, organisation.id, invitation.id))) return 'gone';
  mayHaveOneMore('members', organisation.plan, await countMembers(sql, organisation.id));
  await insertMember(sql, organisation.id, user, invitation.role);
  return 'joined';
};

/** What somebody is told who would join it. */
export const notNow = ({ organisation }: InvitationRow): Refusal =>
  new Refusal(
    'organisation_ending',
    `${organisation} is going to be deleted, so nobody can join it. If its owners keep it, this link is good again.`,
  );
