import type { revokeToken as operation } from '../../../shared/api/inner/account.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { mayManage } from '../../domain/organisation.ts';
import { deleteToken, tokenOwner } from '../../store/tokens.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { notFound } from '../not-found.ts';

/** Everyone ends their own tokens; owners and admins those of others, too. */
export const revokeToken = async (
  { sql, organisation, caller }: InOrganisation,
  { token_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const user = await tokenOwner(sql, organisation.id, token_id);
  if (user === undefined || (user !== caller.user && !mayManage(caller.role))) throw notFound('token_not_found');
  await deleteToken(sql, organisation.id, token_id);
  return { id: token_id };
};
