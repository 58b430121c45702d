import type { createSignInLink as operation } from '../../../shared/api/inner/inner-coming-in.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { linkLives } from '../../domain/signed-in-session.ts';
import { deleteStartLinks, insertSignInLink } from '../../store/store-sign-in-links.ts';
import { userByEmail } from '../../store/store-users.ts';
import type { Answer, Context } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** The operator vouches for whoever gets the link: it takes the place of the password and of the second step. */
export const createSignInLink = async (
  { sql, now, with: { accountSecrets, baseUrl } }: Context,
  { email, made_for }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const user = found(await userByEmail(sql, email.trim()), 'user_not_found');
  const { text, fingerprint } = await accountSecrets.mint('sign-in link');
  const expires_at = made_for === 'start' ? null : new Date(now + linkLives.operator);
  if (made_for === 'start') await deleteStartLinks(sql);
  await insertSignInLink(sql, { fingerprint, user: user.id, made_for, at: new Date(now), expires_at });
  return { email: user.email, address: `${baseUrl()}/enter/${text}`, expires_at: expires_at?.toISOString() ?? null };
};
