import type { createToken as operation } from '../../../shared/api/inner/inner-tokens.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { scopeFrom } from '../../domain/organisation.ts';
import { epochOf } from '../../domain/zone-clock.ts';
import { insertToken } from '../../store/store-tokens.ts';
import { memberByEmail } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';

/** A token belongs to the user who makes it. Its scope does not depend on the role, which is asked for with every call. */
export const createToken = async (
  { sql, organisation, caller, now, note, with: { mintToken } }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [name, scope] = [nameFrom(input.name), scopeFrom(input.scope)];
  if (input.email !== null && caller.is !== 'operator')
    throw new Refusal('role_insufficient', 'email: tokens are made by the user whom they belong to.');
  const user = caller.user ?? found(await memberByEmail(sql, organisation.id, (input.email ?? '').trim()), 'member_not_found').user_id;
  const expires_at = input.expires_at && new Date(epochOf(input.expires_at, organisation.time_zone));
  if (expires_at !== null && expires_at.getTime() <= now)
    throw new Refusal('expiry_invalid', 'expires_at: has passed already; give a later one, or none for a token that does not end.');
  const { token, fingerprint, shown } = await mintToken();
  // By `sent` alone the log would say too little of a token that the operator made, and hide the fields that are called after it.
  note({
    after: {
      name,
      scope,
      begins: shown,
      expires_at: expires_at?.toISOString() ?? null,
      ...(input.email === null ? {} : { owner: input.email.trim() }),
    },
  });
  const id = newId();
  const isTheirs = await insertToken(sql, {
    id,
    organisation: organisation.id,
    user,
    name,
    scope,
    fingerprint,
    shown,
    created_at: new Date(now),
    expires_at,
  });
  // Who was removed since they were let in is told what any stranger is told.
  if (!isTheirs) throw notFound('organisation_not_found');
  return { id, name, scope, token };
};
