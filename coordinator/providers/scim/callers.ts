import { Refusal } from '../../../shared/base/errors.ts';
import type { Sql } from '../../database/connect.ts';
import type { Caller } from '../../gate/caller.ts';
import type { GateDependencies } from '../../gate/context.ts';
import { organisationById } from '../../gate/records.ts';
import { isTokenText } from '../../tokens/authenticate.ts';
import { findProvider, installationKey } from '../lookup.ts';
import { organisationOfToken } from './queries.ts';

type Parts = { readonly sql: Sql } & {
  readonly with: Pick<GateDependencies, 'accountSecrets' | 'providers' | 'secrets'>;
};

/**
 * A provider that says who is in its organisation. It is an owner there, but for the three
 * operations of SCIM alone, which `routes.ts` passes to the gate.
 */
export function createScimCallers(parts: Parts) {
  return async (authorization: string | undefined, address: string): Promise<Caller> => {
    const [, text] = /^bearer +([\x21-\x7e]{1,2000}) *$/i.exec(authorization ?? '') ?? [];
    if (text === undefined)
      throw new Refusal('token_missing', 'Send the SCIM token as `Authorization: Bearer …`.');
    const key = await keyOf(parts, text);
    const provider = key === undefined ? undefined : await findProvider(parts, key);
    const organisation =
      provider?.isProvisioned === true && provider.organisation !== undefined
        ? await organisationById(parts.sql, provider.organisation)
        : undefined;
    if (provider === undefined || organisation === undefined)
      throw new Refusal(
        'token_invalid',
        'This SCIM token is unknown or was replaced, or the domain of its provider is not confirmed.',
      );
    return {
      is: 'token',
      organisation,
      user: null,
      role: 'owner',
      scope: 'read_write',
      token: { id: provider.id, name: `SCIM of ${provider.name}` },
      address,
    };
  };
}

/** The key of the provider that a token is of. */
async function keyOf({ sql, with: parts }: Parts, text: string): Promise<string | undefined> {
  const { accountSecrets, providers } = parts;
  const fingerprint = await accountSecrets.fingerprint('SCIM token', text);
  const ofInstallation = providers.installation?.scim_token;
  if (
    ofInstallation !== undefined &&
    fingerprint.equals(await accountSecrets.fingerprint('SCIM token', ofInstallation))
  )
    return installationKey;
  return isTokenText(text, 'scim') ? organisationOfToken(sql, fingerprint) : undefined;
}
