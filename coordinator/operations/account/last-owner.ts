import { Refusal } from '../../../shared/base/refusal.ts';
import type { MemberRow } from '../../store/users.ts';
import { countOwners } from '../../store/users.ts';
import type { InOrganisation } from '../context.ts';

/** An organisation that nobody owns could not be managed any more; only the operator may leave one so. */
export const refuseLastOwner = async ({ sql, organisation, caller }: InOrganisation, member: MemberRow): Promise<void> => {
  if (member.role !== 'owner' || caller.is === 'operator' || (await countOwners(sql, organisation.id)) > 1) return;
  throw new Refusal('last_owner', 'email: is the only owner of this organisation; make somebody else an owner first.');
};
