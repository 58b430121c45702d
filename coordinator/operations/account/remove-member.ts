import type { removeMember as operation } from '../../../shared/api/inner/inner-account.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { deleteMember, memberByEmail } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { refuseLastOwner, refuseUnlessOwner } from './operation-last-owner.ts';

export const removeMember = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation } = context;
  const member = found(await memberByEmail(sql, organisation.id, input.email.trim()), 'member_not_found');
  await refuseLastOwner(context, member);
  refuseUnlessOwner(context, member.role);
  context.note({ before: { email: member.email, role: member.role } });
  await deleteMember(sql, organisation.id, member.user_id);
  return { id: member.user_id };
};
