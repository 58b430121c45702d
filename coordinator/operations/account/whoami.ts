import type { OutputOf } from '../../../shared/api/operation.ts';
import type { whoami as operation } from '../../../shared/api/organisations.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const whoami = async ({ caller }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const { organisation, role, scope, token, connection } = caller;
  const { id, name, plan, time_zone } = organisation;
  return { organisation: { id, name, plan, time_zone }, role, scope, token_name: token?.name ?? connection?.client ?? '' };
};
