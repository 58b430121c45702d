import type { setMemberRole as operation } from '../../../shared/api/inner/inner-account.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { roleFrom } from '../../domain/organisation.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { deleteTokensOf } from '../../store/store-tokens.ts';
import { countMembers, insertMember, memberByEmail, userByEmail, writeRole } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { refuseLastOwner, refuseUnlessOwner } from './operation-last-owner.ts';

/** A change of role ends the member's tokens. The operator may also take in a user who belongs to other organisations only. */
export const setMemberRole = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, caller } = context;
  const role = roleFrom(input.role);
  const member = await memberByEmail(sql, organisation.id, input.email.trim());
  if (!member) {
    if (caller.is !== 'operator') throw notFound('member_not_found');
    const user = found(await userByEmail(sql, input.email.trim()), 'user_not_found');
    mayHaveOneMore('members', organisation.plan, await countMembers(sql, organisation.id));
    await insertMember(sql, organisation.id, user.id, role);
    return { id: user.id, email: user.email, role };
  }
  context.note({ before: { email: member.email, role: member.role }, after: { email: member.email, role } });
  if (member.role !== role) {
    await refuseLastOwner(context, member);
    refuseUnlessOwner(context, member.role, role);
    await writeRole(sql, organisation.id, member.user_id, role);
    await deleteTokensOf(sql, organisation.id, member.user_id);
  }
  return { id: member.user_id, email: member.email, role };
};
