import { Refusal } from '../../shared/base/errors.ts';
import type { Context } from '../gate/context.ts';
import { enforceLimit } from '../gate/plans.ts';
import { lockOrganisation } from '../gate/records.ts';
import {
  countMembers,
  type InvitationRow,
  insertMembers,
  membershipsOf,
  useInvitation,
} from './queries.ts';

/** How an invitation makes a user a member. */

type Joined = 'joined' | 'member already' | 'ending' | 'gone';

/**
 * Makes a user a member by an invitation, which is then used up. The plan is checked under the
 * organisation's lock, as for every member. `gone`: someone else was faster, or the organisation
 * ended; `ending`: it awaits deletion, and the invitation stays.
 */
export async function join(
  { sql }: Context,
  user: string,
  invitation: InvitationRow,
): Promise<Joined> {
  const organisation = await lockOrganisation(sql, invitation.organisation_id);
  if (!organisation) return 'gone';
  if (organisation.ends_at !== null) return 'ending';
  if ((await membershipsOf(sql, user)).some(({ id }) => id === organisation.id))
    return 'member already';
  if (!(await useInvitation(sql, organisation.id, invitation.id))) return 'gone';
  enforceLimit('members', organisation.plan, await countMembers(sql, organisation.id));
  await insertMembers(sql, organisation.id, { user, role: invitation.role });
  return 'joined';
}

/** The refusal for a user who wants to join it. */
export function organisationEnding({ organisation }: InvitationRow): Refusal {
  return new Refusal(
    'organisation_ending',
    `${organisation} is going to be deleted, so nobody can join it. If its owners keep it, this link is good again.`,
  );
}
