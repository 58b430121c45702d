import * as api from '../../shared/api/tokens.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { isoText } from '../../shared/base/time.ts';
import { handle } from '../gate/bind.ts';
import { mayManage, scopeFrom } from '../gate/caller.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { epochOf } from '../maintenance/zones.ts';
import { memberByEmail } from '../people/queries.ts';
import * as contract from './contract.ts';
import { deleteToken, insertToken, type ListedToken, tokenOwner, tokenPage } from './queries.ts';

/**
 * A token belongs to the user who creates it. Its scope does not depend on the role, which is
 * checked with every call.
 */
export const createToken = handle(contract.createToken)(
  async ({ sql, organisation, caller, now, note, with: { mintToken } }, input) => {
    const [name, scope] = [nameFrom(input.name), scopeFrom(input.scope)];
    const { manage_members } = input;
    if (input.email !== null && caller.is !== 'operator')
      throw new Refusal('role_insufficient', {
        email: 'tokens are made by the user whom they belong to.',
      });
    const member =
      caller.user === null
        ? orNotFound(
            await memberByEmail(sql, organisation.id, (input.email ?? '').trim()),
            'member_not_found',
          )
        : { user_id: caller.user, role: caller.role };
    if (manage_members && member.role !== 'owner')
      throw new Refusal('role_insufficient', { manage_members: 'is for tokens of owners.' });
    if (manage_members && scope !== 'read_write')
      throw new Refusal('scope_unknown', {
        scope: 'must be read_write (read and write) for a token that manages members.',
      });
    const expires_at = input.expires_at && epochOf(input.expires_at, organisation.time_zone);
    if (expires_at !== null && expires_at <= now)
      throw new Refusal('expiry_invalid', {
        expires_at: 'must be in the future. Leave it out for a token that does not expire.',
      });
    const { token, fingerprint, shown } = await mintToken();
    // With `sent` alone the log would say too little about a token that the operator created, and
    // hide the fields named after it.
    note({
      after: {
        name,
        scope,
        ...(manage_members && { manage_members: true }),
        begins: shown,
        expires_at: isoText(expires_at),
        ...(input.email === null ? {} : { owner: input.email.trim() }),
      },
    });
    const id = newId();
    const isTheirs = await insertToken(sql, {
      id,
      organisation: organisation.id,
      user: member.user_id,
      name,
      scope,
      manage_members,
      fingerprint,
      shown,
      created_at: now,
      expires_at,
    });
    // A member who was removed after authentication gets the same answer as any outsider.
    if (!isTheirs) throw notFound('organisation_not_found');
    return { id, name, scope, token };
  },
);

export const listTokens = handle(api.listTokens)(async (context, input) => {
  const { sql, organisation } = context;
  const of = whose(context);
  return pageOf(
    context.with.cursors,
    ['tokens', organisation.id, of],
    input,
    (from, limit) =>
      tokenPage(sql, organisation.id, { user: of, id: null }, from ?? afterAll, limit),
    tokenJson(context),
  );
});

/** Which tokens a caller sees: everyone their own; owners, admins and the operator all. */
function whose({ caller }: InOrganisation): string | null {
  return mayManage(caller.role) ? null : caller.user;
}

function tokenJson({ caller, now }: InOrganisation) {
  return (row: ListedToken) => ({
    ...row,
    kind: 'token',
    owner: { email: row.email, name: row.owner },
    own: row.user_id === caller.user,
    over: row.expires_at !== null && row.expires_at <= now,
  });
}

export const getToken = handle(api.getToken)(async (context, { token_id: id }) => {
  const { sql, organisation } = context;
  const [row] = await tokenPage(sql, organisation.id, { user: whose(context), id }, afterAll, 1);
  return tokenJson(context)(orNotFound(row, 'token_not_found'));
});

/** Everyone may revoke their own tokens; owners and admins those of others, too. */
export const revokeToken = handle(api.revokeToken)(
  async ({ sql, organisation, caller, note }, { token_id }) => {
    const token = await tokenOwner(sql, organisation.id, token_id);
    if (token === undefined || (token.user_id !== caller.user && !mayManage(caller.role)))
      throw notFound('token_not_found');
    note({ before: { name: token.name, scope: token.scope, owner: token.email } });
    await deleteToken(sql, organisation.id, token_id);
  },
);
