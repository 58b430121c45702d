import { isId, newId } from '../../shared/base/crypto.ts';
import type { Context, GateDependencies } from '../gate/context.ts';
import { providerSecretOf } from '../secrets/at-rest.ts';
import type { GroupRole } from './group-roles.ts';
import { createProviderProtocol, type ProviderClient, type ProviderProtocol } from './protocol.ts';
import {
  ensureInstallationProvider,
  joinedOrganisation,
  type ProviderRow,
  providerOf,
  providersByIds,
  writeOnlyWay,
} from './queries.ts';

/** The provider of the whole installation, as the settings have it. */
export type InstallationProvider = Omit<ProviderClient, 'isOperators'> & {
  readonly groups_claim: string;
  readonly group_roles: readonly GroupRole[];
  /** Whose members it makes; null: of the first organisation. */
  readonly organisation: string | null;
  /** Whether it alone signs in whoever owns no organisation. */
  readonly only_way: boolean;
  /** By which it provisions people there. */
  readonly scim_token?: string | undefined;
};

export type ProvidersPart = {
  readonly installation: InstallationProvider | null;
  readonly protocol: ProviderProtocol;
};

/** For callers that reach none. */
export const noProviders: ProvidersPart = {
  installation: null,
  protocol: createProviderProtocol({ guarded: unreachable, open: unreachable }),
};

function unreachable(): Promise<never> {
  return Promise.reject(new Error('no provider is asked here'));
}

export type Provider = {
  readonly id: string;
  /** In addresses. */
  readonly key: string;
  readonly name: string;
  readonly client: ProviderClient;
  readonly groupsClaim: string;
  readonly table: readonly GroupRole[];
  /** Where its groups give roles. */
  readonly organisation: string | undefined;
  /** Whether it speaks for that organisation alone. */
  readonly isOwn: boolean;
  /** The only domain that it vouches for; null: any. */
  readonly domain: string | null;
  /** Whether it says by SCIM who is there. */
  readonly isProvisioned: boolean;
};

export const installationKey = 'installation';

/** How people know a provider: by the host that they see when they sign in. */
export function providerName(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).host : issuer;
}

type Parts = Pick<Context, 'sql'> & {
  readonly with: Pick<GateDependencies, 'providers' | 'secrets'>;
};

export async function findProvider(parts: Parts, key: string): Promise<Provider | undefined> {
  if (key === installationKey) return installationOf(parts);
  const row = isId(key) ? await providerOf(parts.sql, key) : undefined;
  return row && ownOf(parts, row);
}

/** Those that there still are, by id. */
export async function providersOf(
  parts: Parts,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Provider>> {
  const [installation, rows] = await Promise.all([
    installationOf(parts),
    providersByIds(parts.sql, ids),
  ]);
  const own = await Promise.all(rows.map((row) => ownOf(parts, row)));
  return new Map(
    [installation, ...own].flatMap((provider) => (provider ? [[provider.id, provider]] : [])),
  );
}

async function installationOf({ sql, with: { providers } }: Parts): Promise<Provider | undefined> {
  const { installation } = providers;
  if (installation === null) return undefined;
  const { organisation, groups_claim, group_roles, issuer, client_id, client_secret } =
    installation;
  const [id, joined] = await Promise.all([
    ensureInstallationProvider(sql, newId(), installation),
    joinedOrganisation(sql, organisation),
  ]);
  return {
    id,
    key: installationKey,
    name: providerName(issuer),
    client: { issuer, client_id, client_secret, isOperators: true },
    groupsClaim: groups_claim,
    table: group_roles,
    organisation: joined,
    isOwn: false,
    domain: null,
    isProvisioned: installation.scim_token !== undefined,
  };
}

/** Lets every sign-in know what the settings say, also once they name no provider any more. */
export async function keepOnlyWay(parts: Parts): Promise<void> {
  const { installation } = parts.with.providers;
  await installationOf(parts);
  await writeOnlyWay(parts.sql, installation?.only_way ? installation : null);
}

/** Before its domain is proven it lets nobody in. */
async function ownOf(
  { sql, with: { secrets } }: Parts,
  row: ProviderRow,
): Promise<Provider | undefined> {
  const { id, organisation_id, issuer, client_id, client_secret, domain, domain_proved_at } = row;
  if (organisation_id === null || client_secret === null) return undefined;
  if (domain === null || domain_proved_at === null) return undefined;
  return {
    id,
    key: organisation_id,
    name: providerName(issuer),
    client: {
      issuer,
      client_id,
      client_secret: await secrets.open(sql, client_secret, providerSecretOf(id)),
      isOperators: false,
    },
    groupsClaim: row.groups_claim,
    table: row.group_roles,
    organisation: organisation_id,
    isOwn: true,
    domain,
    isProvisioned: row.scim_since !== null,
  };
}

/** Where a provider sends the browser back; each has its own, so that none answers for another. */
export function answerPath(key: string): string {
  return `/sign-in/provider/${key}/answer`;
}

export function logoutPath(key: string): string {
  return `/sign-in/provider/${key}/logout`;
}
