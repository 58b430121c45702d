import type { leaveOrganisation as operation } from '../../../shared/api/inner/inner-account.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { deleteMember, memberOf } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { refuseLastOwner } from './operation-last-owner.ts';

/** Whatever is theirs alone there ends with it: tokens, assistants, their own channels. */
export const leaveOrganisation = async (context: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, caller, note } = context;
  const member = found(caller.user === null ? undefined : await memberOf(sql, organisation.id, caller.user), 'member_not_found');
  await refuseLastOwner(context, member);
  note({ before: { email: member.email, role: member.role } });
  await deleteMember(sql, organisation.id, member.user_id);
  return { id: organisation.id };
};
