import type { getToken as getOperation, listTokens as listOperation } from '../../../shared/api/inner/inner-tokens.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { mayManage } from '../../domain/organisation.ts';
import { type ListedToken, tokenPage } from '../../store/store-tokens.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { afterAll, pageOf } from '../operation-cursors.ts';
import { found } from '../operation-not-found.ts';

/** Whose tokens a caller sees: everyone their own; owners, admins and the operator all. */
const whose = ({ caller }: InOrganisation): string | null => (mayManage(caller.role) ? null : caller.user);

const tokenOut =
  ({ caller, now }: InOrganisation) =>
  ({ id, name, shown, scope, user_id, email, owner, created_at, expires_at, last_used_at }: ListedToken) => ({
    ...{ id, kind: 'token', name, shown, scope },
    owner: { email, name: owner },
    own: user_id === caller.user,
    created_at: created_at.toISOString(),
    expires_at: expires_at?.toISOString() ?? null,
    over: expires_at !== null && expires_at.getTime() <= now,
    last_used_at: last_used_at?.toISOString() ?? null,
  });

export const listTokens = async (context: InOrganisation, input: InputOf<typeof listOperation>): Answer<OutputOf<typeof listOperation>> => {
  const { sql, organisation } = context;
  const of = whose(context);
  return pageOf(
    context.with.cursors,
    ['tokens', organisation.id, of],
    input,
    (from, most) => tokenPage(sql, organisation.id, { user: of, id: null }, from ?? afterAll, most),
    tokenOut(context),
  );
};

export const getToken = async (
  context: InOrganisation,
  { token_id: id }: InputOf<typeof getOperation>,
): Answer<OutputOf<typeof getOperation>> => {
  const { sql, organisation } = context;
  const [row] = await tokenPage(sql, organisation.id, { user: whose(context), id }, afterAll, 1);
  return tokenOut(context)(found(row, 'token_not_found'));
};
