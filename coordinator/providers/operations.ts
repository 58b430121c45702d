import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { hostOf } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import {
  type ByAnonymous,
  type Context,
  type Early,
  notFound,
  orNotFound,
  type SignedOut,
} from '../gate/context.ts';
import { join, organisationEnding } from '../people/joining.ts';
import { insertOneTime, useOneTime } from '../people/one-time.ts';
import { passkeysOf } from '../people/passkeys.ts';
import {
  insertUsers,
  invitationTo,
  markVerified,
  membershipsOf,
  passwordHashOf,
  userByEmail,
} from '../people/queries.ts';
import { beginSession } from '../people/sessions.ts';
import type { AccountSecrets } from '../secrets/account-secrets.ts';
import { refreshTokenOf } from '../secrets/at-rest.ts';
import * as contract from './contract.ts';
import { answerPath, findProvider, type Provider, providersOf } from './lookup.ts';
import { endProviderAccess, followGroups, isServing, newcomerRole } from './membership.ts';
import { domainOf, entryOf, isStale, signInMs, type Vouched, vouchedFrom } from './model.ts';
import { maxLogoutAgeS, type SignInSecrets } from './protocol.ts';
import {
  connectedOf,
  deleteIdentity,
  endVouchedSessions,
  identityOf,
  insertIdentity,
  noPassword,
  ownProvidersOf,
  rememberLogout,
  writeRefreshToken,
} from './queries.ts';
import { refusing } from './refusing.ts';
import { linkPerson } from './scim/provisioning.ts';
import { awaitsProvider, isRemoved } from './scim/queries.ts';

const mostSignIns = 60;

export const beginProviderSignIn = handle(contract.beginProviderSignIn)({
  before: async (early, input) => {
    const { visitor, with: instruments } = early;
    await instruments.attempts.count([
      { what: `provider sign-ins from ${hostOf(visitor.address)}`, most: mostSignIns },
    ]);
    return begun(early, input);
  },
  act: (context, _input, begin) => written(context, begin, null),
});

export const beginProviderConnection = handle(contract.beginProviderConnection)({
  before: (early, { provider }) => begun(early, { provider, again: true }),
  act: (context, _input, begin) => written(context, begin, context.person.user),
});

type Begun = {
  readonly provider: Provider;
  readonly address: string;
  readonly secret: string;
  readonly fingerprint: Buffer;
};

async function begun(
  parts: Pick<Early<object>, 'sql' | 'with'>,
  { provider: key, again }: { readonly provider: string; readonly again: boolean },
): Promise<Begun> {
  const { accountSecrets, baseUrl, providers } = parts.with;
  const provider = orNotFound(await findProvider(parts, key), 'provider_not_found');
  const { text, fingerprint } = await accountSecrets.mint('provider sign-in');
  const address = await refusing(provider, async () =>
    providers.protocol.begin(provider.client, {
      ...(await secretsFrom(accountSecrets, text)),
      redirectUri: `${baseUrl()}${answerPath(provider.key)}`,
      again,
    }),
  );
  return { provider, address, secret: text, fingerprint };
}

async function written(
  { sql, now }: Pick<Context, 'sql' | 'now'>,
  { provider, address, secret, fingerprint }: Begun,
  user: string | null,
) {
  await insertOneTime(sql, {
    kind: 'provider sign-in',
    fingerprint,
    user,
    provider: provider.id,
    expires_at: now + signInMs,
  });
  return { address, secret };
}

/** What the browser's secret stands for; whoever sees one of these knows none of the others. */
async function secretsFrom(secrets: AccountSecrets, text: string): Promise<SignInSecrets> {
  const of = async (kind: 'provider state' | 'provider nonce' | 'provider verifier') =>
    (await secrets.fingerprint(kind, text)).toString('base64url');
  const [state, nonce, verifier] = await Promise.all([
    of('provider state'),
    of('provider nonce'),
    of('provider verifier'),
  ]);
  return { state, nonce, verifier };
}

export const finishProviderSignIn = handle(contract.finishProviderSignIn)({
  /** The secret is used up before anyone is asked, so that an answer counts once, whatever comes. */
  before: async (early: Early<SignedOut>, { provider: key, secret, answer, again }) => {
    const { pool, now, visitor, with: instruments } = early;
    const { accountSecrets, attempts, baseUrl, providers } = instruments;
    await attempts.count([
      { what: `provider answers from ${hostOf(visitor.address)}`, most: mostSignIns },
    ]);
    const provider = orNotFound(await findProvider(early, key), 'provider_not_found');
    const fingerprint = await accountSecrets.fingerprint('provider sign-in', secret);
    const waiting = await useOneTime(pool, fingerprint, now);
    if (waiting?.provider_id !== provider.id) throw notBegun();
    const said = await refusing(provider, async () =>
      providers.protocol.redeem(provider.client, {
        ...(await secretsFrom(accountSecrets, secret)),
        answer: `${baseUrl()}${answerPath(provider.key)}?${answer}`,
        groupsClaim: provider.groupsClaim,
      }),
    );
    const vouched = vouchedFrom(said.token ?? {}, said.info, provider.groupsClaim);
    if (vouched instanceof Refusal) throw vouched;
    if ((again || waiting.user_id !== null) && isStale(vouched, now))
      throw new Refusal(
        'provider_refused',
        `${provider.name} did not ask for your password again.`,
      );
    return { provider, vouched, refreshToken: said.refreshToken, connecting: waiting.user_id };
  },
  act: async (context, _input, { provider, vouched, refreshToken, connecting }) => {
    const { sql, note } = context;
    const known = await identityOf(sql, provider.id, vouched.subject);
    const account = vouched.email === undefined ? undefined : await userByEmail(sql, vouched.email);
    const entry = entryOf({
      vouched,
      known: known?.user_id,
      connecting,
      taken: account !== undefined,
      awaiting:
        account && (await awaitsProvider(sql, provider, account.id)) ? account.id : undefined,
      domain: provider.domain,
      name: provider.name,
    });
    if (entry instanceof Refusal) throw entry;
    const user =
      entry.is === 'new' ? await newcomer(context, provider, vouched, entry.email) : entry.user;
    const identity = known?.id ?? (await identified(context, provider, vouched, user));
    if (account?.id === user && speaksFor(provider, account.email))
      await markVerified(sql, user, context.now);
    if (refreshToken !== undefined) await keepToken(context, identity, refreshToken);
    if (provider.isProvisioned && isServing(provider))
      await linkPerson(sql, provider, { user, ...vouched });
    const role = await roleHere(context, provider, vouched, user);
    note({
      user,
      ...(provider.organisation === undefined ? {} : { organisation: provider.organisation }),
      before: { role: role.before ?? null },
      after: {
        provider: provider.name,
        role: role.after ?? null,
        ...(entry.is === 'known' ? {} : { account: entry.is === 'new' ? 'created' : 'connected' }),
      },
    });
    const isOut = provider.isProvisioned && (await isRemoved(sql, provider, user));
    const isOpen = provider.isOwn
      ? role.after !== undefined
      : !isOut && (await membershipsOf(sql, user)).length > 0;
    if (!isOpen) return { session: null, refused: noRole(provider).message };
    const by = { identity, session: vouched.session };
    return { session: await beginSession(context, user, by), refused: null };
  },
});

function notBegun(): Refusal {
  return new Refusal(
    'provider_refused',
    'This sign-in was begun in another browser, is done already, or took longer than ten minutes. Begin again.',
  );
}

function noRole({ name }: Provider): Refusal {
  return new Refusal(
    'provider_refused',
    `${name} knows you, but none of your groups there gives you a role here. Ask whoever manages this service.`,
  );
}

/** Only then is an address proven by what a provider says. */
function speaksFor({ domain }: Provider, email: string): boolean {
  return domain === null || domainOf(email) === domain;
}

/** Nobody gets an account that opens nothing; an invitation counts like a role of before. */
async function newcomer(
  context: ByAnonymous,
  provider: Provider,
  { groups, name }: Vouched,
  email: string,
): Promise<string> {
  const { sql, now } = context;
  const { organisation } = provider;
  const invitation =
    organisation === undefined ? undefined : await invitationTo(sql, organisation, email, now);
  if (!isServing(provider) || newcomerRole(provider, groups, invitation?.role) === undefined)
    throw noRole(provider);
  const id = newId();
  await insertUsers(sql, {
    id,
    email,
    name,
    password_hash: noPassword,
    email_verified_at: now,
  });
  if (invitation && (await join(context, id, invitation)) === 'ending')
    throw organisationEnding(invitation);
  return id;
}

async function identified(
  { sql, now }: ByAnonymous,
  provider: Provider,
  { subject }: Vouched,
  user: string,
): Promise<string> {
  const id = newId();
  if (!(await insertIdentity(sql, { id, provider: provider.id, subject, user, at: now })))
    throw new Refusal(
      'identity_taken',
      `Your account is connected with another account of ${provider.name} already.`,
    );
  return id;
}

async function keepToken(
  { sql, now, with: { secrets } }: ByAnonymous,
  identity: string,
  token: string,
): Promise<void> {
  const box = await secrets.seal(sql, token, refreshTokenOf(identity));
  await writeRefreshToken(sql, identity, box, now);
}

async function roleHere(
  { sql }: ByAnonymous,
  provider: Provider,
  { groups }: Vouched,
  user: string,
): ReturnType<typeof followGroups> {
  return isServing(provider)
    ? followGroups(sql, provider, { user, groups })
    : { user, before: undefined, after: undefined };
}

export const listOwnProviders = handle(contract.listOwnProviders)(async (context) => {
  const { sql, person } = context;
  const providers = [
    ...(await providersOf(context, await ownProvidersOf(sql, person.user))).values(),
  ];
  const connected = await connectedOf(sql, person.user);
  return {
    items: providers.map(({ id, key, name }) => ({ key, name, connected: connected.includes(id) })),
  };
});

export const disconnectProvider = handle(contract.disconnectProvider)(
  async (context, { provider: key }) => {
    const { sql, note, person } = context;
    const provider = orNotFound(await findProvider(context, key), 'provider_not_found');
    const hasPassword = (await passwordHashOf(sql, person.user)) !== noPassword;
    if (!hasPassword && (await passkeysOf(sql, person.user)).length === 0)
      throw new Refusal(
        'password_missing',
        'Your account has neither a password nor a passkey, so you could not sign in any more. Set one first.',
      );
    if (!(await deleteIdentity(sql, provider.id, person.user)))
      throw notFound('provider_not_found');
    note({ before: { provider: provider.name } });
    return { name: provider.name };
  },
);

export const endProviderSessions = handle(contract.endProviderSessions)({
  before: async (early, { provider: key, logout_token }) => {
    const { now, visitor, with: instruments } = early;
    await instruments.attempts.count([
      { what: `provider sign-outs from ${hostOf(visitor.address)}`, most: mostLogouts },
    ]);
    const provider = orNotFound(await findProvider(early, key), 'provider_not_found');
    const ended = await refusing(provider, () =>
      instruments.providers.protocol.readLogout(provider.client, logout_token, now),
    );
    const fingerprint = await instruments.accountSecrets.fingerprint(
      'logout token',
      `${provider.id} ${ended.id}`,
    );
    return { provider, ended, fingerprint };
  },
  act: async ({ sql, now, note }, _input, { provider, ended, fingerprint }) => {
    // A token that is read at the end of its age, by a clock that is behind, is still remembered.
    const until = now + 2 * maxLogoutAgeS * 1_000;
    if (!(await rememberLogout(sql, { id: newId(), fingerprint, until })))
      throw new Refusal('provider_refused', 'This logout token was used already.');
    const { subject, session } = ended;
    const identities = await endVouchedSessions(sql, provider.id, { subject, session });
    for (const identity of identities)
      if (!identity.is_kept) await endProviderAccess(sql, provider, identity.user_id, now);
    const [first] = identities;
    note({
      ...(first ? { user: first.user_id } : {}),
      ...(provider.organisation === undefined ? {} : { organisation: provider.organisation }),
      after: { provider: provider.name, signed_out: identities.length },
    });
    return { ended: identities.length > 0 };
  },
});

const mostLogouts = 6_000;
