import type { OutputOf } from '../../../shared/api/operation.ts';
import type { whoami as operation } from '../../../shared/api/organisation.ts';
import type { Answer, InOrganisation } from '../context.ts';

export const whoami = async ({ caller }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const { organisation, role, scope, token } = caller;
  const { id, name, plan } = organisation;
  return { organisation: { id, name, plan }, role, scope, token_name: token?.name ?? '' };
};
