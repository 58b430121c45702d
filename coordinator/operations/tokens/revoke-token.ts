import type { revokeToken as operation } from '../../../shared/api/inner/inner-tokens.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { mayManage } from '../../domain/organisation.ts';
import { deleteToken, tokenOwner } from '../../store/store-tokens.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

/** Everyone ends their own tokens; owners and admins those of others, too. */
export const revokeToken = async (
  { sql, organisation, caller, note }: InOrganisation,
  { token_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const token = await tokenOwner(sql, organisation.id, token_id);
  if (token === undefined || (token.user_id !== caller.user && !mayManage(caller.role))) throw notFound('token_not_found');
  note({ before: { name: token.name, scope: token.scope, owner: token.email } });
  await deleteToken(sql, organisation.id, token_id);
  return { id: token_id };
};
