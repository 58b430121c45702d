import type { leaveOrganisation as operation } from '../../../shared/api/inner/account.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { deleteMember, memberOf } from '../../store/users.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { refuseLastOwner } from './last-owner.ts';

/** Whatever is theirs alone there ends with it: tokens, assistants, their own channels. */
export const leaveOrganisation = async (context: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, caller, note } = context;
  const member = found(caller.user === null ? undefined : await memberOf(sql, organisation.id, caller.user), 'member_not_found');
  await refuseLastOwner(context, member);
  note({ before: { email: member.email, role: member.role } });
  await deleteMember(sql, organisation.id, member.user_id);
  return { id: organisation.id };
};
