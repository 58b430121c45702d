import { randomBytes } from 'node:crypto';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { hostOf, hourly } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { providerSecretOf } from '../secrets/at-rest.ts';
import { proofRecordName } from '../status-pages/model.ts';
import * as contract from './contract.ts';
import { groupRolesFrom, groupRolesText } from './group-roles.ts';
import { answerPath, findProvider, logoutPath, providerName } from './lookup.ts';
import { isServing } from './membership.ts';
import { domainOf, issuerFrom, mailDomainFrom, signInProof, tokenOfProof } from './model.ts';
import {
  deleteOwnProvider,
  forgetProofs,
  insertOwnProvider,
  providerOf,
  providerOfDomain,
  writeDomainProved,
  writeOwnProvider,
} from './queries.ts';
import { refusing } from './refusing.ts';
import { settle } from './scim/provisioning.ts';
import { provisionedSoFar } from './scim/queries.ts';

export const findSignInProvider = handle(contract.findSignInProvider)({
  before: ({ visitor, with: { attempts } }) =>
    attempts.count([{ what: `provider searches from ${hostOf(visitor.address)}`, most: 60 }]),
  act: async ({ sql }, { email }) => {
    const row = await providerOfDomain(sql, domainOf(email.trim()));
    return {
      found: row ? { key: row.organisation_id, name: providerName(row.issuer) } : null,
    };
  },
});

export const showSignInProvider = handle(contract.showSignInProvider)(
  async ({ sql, organisation: { id }, with: { baseUrl } }) => {
    const row = await providerOf(sql, id);
    const { domain = null, domain_token = null } = row ?? {};
    return {
      answer_address: `${baseUrl()}${answerPath(id)}`,
      logout_address: `${baseUrl()}${logoutPath(id)}`,
      provider:
        row === undefined || domain === null || domain_token === null
          ? null
          : {
              issuer: row.issuer,
              client_id: row.client_id,
              groups_claim: row.groups_claim,
              group_roles: groupRolesText(row.group_roles),
              domain,
              record_name: proofRecordName(domain),
              record_text: signInProof(domain_token),
              proved_at: row.domain_proved_at,
              only_way: row.only_way,
              scim_address: `${baseUrl()}/scim/v2`,
              scim:
                row.scim_since === null
                  ? null
                  : {
                      since: row.scim_since,
                      ...(await provisionedSoFar(sql, { id: row.id, organisation: id })),
                    },
            },
    };
  },
);

export const setSignInProvider = handle(contract.setSignInProvider)({
  /** The provider is asked for its description, so that a wrong address is found at once. */
  before: async ({ organisation, with: { attempts, baseUrl, providers } }, input) => {
    const next = {
      issuer: issuerFrom(input.issuer),
      client_id: input.client_id.trim(),
      groups_claim: input.groups_claim.trim() || 'groups',
      group_roles: groupRolesFrom(input.group_roles),
      domain: mailDomainFrom(input.domain),
      only_way: input.only_way,
    };
    await attempts.count([hourly(`provider settings of ${organisation.id}`, 60)]);
    await refusing({ name: providerName(next.issuer) }, () =>
      providers.protocol.begin(
        { ...next, client_secret: '-', isOperators: false },
        {
          ...{ state: '-', nonce: '-', verifier: '-', again: false },
          redirectUri: `${baseUrl()}${answerPath(organisation.id)}`,
        },
      ),
    );
    return next;
  },
  /** Another client is another provider: nobody is who they were at the one before. */
  act: async (context, { client_secret }, next) => {
    const { sql, organisation, note } = context;
    const { secrets } = context.with;
    const row = await providerOf(sql, organisation.id);
    const isSame = row?.issuer === next.issuer && row.client_id === next.client_id;
    const given = client_secret?.trim() || undefined;
    if (given === undefined && !isSame)
      throw new Refusal('issuer_invalid', {
        client_secret: 'is needed; the provider gave it with the client id.',
      });
    const id = isSame ? row.id : newId();
    const secret =
      given ??
      (row?.client_secret ? await secrets.open(sql, row.client_secret, providerSecretOf(id)) : '');
    const keepsDomain = isSame && row.domain === next.domain;
    const isProved = keepsDomain && row.domain_proved_at !== null;
    if (next.only_way && !isProved)
      throw new Refusal('domain_invalid', {
        only_way: 'can be chosen once the domain is confirmed, or nobody could sign in.',
      });
    const made = {
      id,
      organisation_id: organisation.id,
      ...next,
      client_secret: await secrets.seal(sql, secret, providerSecretOf(id)),
      domain_token: keepsDomain ? row.domain_token : randomBytes(16).toString('hex'),
      domain_proved_at: keepsDomain ? row.domain_proved_at : null,
    };
    if (isSame) await writeOwnProvider(sql, made);
    else {
      await deleteOwnProvider(sql, organisation.id);
      await insertOwnProvider(sql, made);
    }
    const toldOf = ({
      issuer,
      client_id,
      groups_claim,
      domain,
      group_roles,
      only_way,
    }: Omit<typeof made, 'domain'> & { readonly domain: string | null }) => ({
      ...{ issuer, client_id, groups_claim, domain, only_way },
      group_roles: groupRolesText(group_roles),
    });
    note({
      ...(row === undefined
        ? {}
        : {
            before: toldOf({
              ...made,
              ...row,
              organisation_id: organisation.id,
              client_secret: made.client_secret,
            }),
          }),
      after: toldOf(made),
    });
    const provider = await findProvider(context, organisation.id);
    const left_out =
      provider?.isProvisioned && isServing(provider) ? await settle(context, provider, 'all') : 0;
    if (left_out > 0) note({ after: { left_out } });
    return { proved: made.domain_proved_at !== null };
  },
});

export const checkSignInDomain = handle(contract.checkSignInDomain)({
  before: async ({ pool, organisation, with: { attempts, textRecords } }) => {
    await attempts.count([hourly(`provider domains of ${organisation.id}`, 60)]);
    const row = await providerOf(pool, organisation.id);
    if (!row?.domain || row.domain_token === null) throw missing();
    return { row, texts: await textRecords(proofRecordName(row.domain)) };
  },
  act: async ({ sql, now, note }, _input, { row, texts }) => {
    const proved = texts.includes(signInProof(row.domain_token ?? ''));
    if (proved) {
      // A domain that changed hands is the new owner's; who had it before has no record there.
      await forgetProofs(sql, row, texts.map(tokenOfProof));
      await writeDomainProved(sql, row, now);
    }
    note({ after: { domain: row.domain, proved } });
    return { proved, texts: [...texts] };
  },
});

function missing(): Refusal {
  return new Refusal('sign_in_provider_missing', 'The organisation has no sign-in provider.');
}

export const removeSignInProvider = handle(contract.removeSignInProvider)(
  async ({ sql, organisation, note }) => {
    const row = await providerOf(sql, organisation.id);
    if (!row) throw missing();
    await deleteOwnProvider(sql, organisation.id);
    note({ before: { issuer: row.issuer, domain: row.domain } });
    return { removed: true };
  },
);
