import type { listMembers as listMembersOperation } from '../../../shared/api/inner/inner-members.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { membersOf } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const listMembers = async ({ sql, organisation }: InOrganisation): Answer<OutputOf<typeof listMembersOperation>> => ({
  items: (await membersOf(sql, organisation.id)).map(({ id, email, name, role, created_at }) => ({
    ...{ id, email, name, role },
    joined_at: created_at.toISOString(),
  })),
});
