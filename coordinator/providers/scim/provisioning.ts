import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Context } from '../../gate/context.ts';
import {
  countOwners,
  deleteMember,
  insertUser,
  invitationTo,
  memberByEmail,
  memberOf,
  useInvitation,
  writeEmail,
  writeName,
} from '../../people/queries.ts';
import { endProviderAccess, followAndRecord, type Serving } from '../membership.ts';
import { roleProvisioned } from '../model.ts';
import { identityOf, noPassword } from '../queries.ts';
import { addressIn, personName, textOf, type Values } from './attributes.ts';
import { accountAt, isUntouched, type Stands, standings, writeAccount } from './queries.ts';

type Parts = Pick<Context, 'sql' | 'now'>;

/**
 * Gives those whom a provider provisions the role of their groups. Who gets their first one gets an
 * account, or it is given to the account of their address. Who cannot be provisioned keeps no other
 * from getting in, or out. Returns how many those are. @throws Refusal if it was about no other.
 */
export async function settle(
  parts: Parts,
  provider: Serving,
  only: Parameters<typeof standings>[2],
): Promise<number> {
  const people = await standings(parts.sql, provider, only);
  const refusals: Refusal[] = [];
  for (const person of people)
    try {
      await follow(parts, provider, person);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusals.push(error);
    }
  const [first] = refusals;
  if (only !== 'all' && first && refusals.length === people.length) throw first;
  return refusals.length;
}

/** Each refusal comes before a statement fails, so that the transaction goes on. */
async function follow({ sql, now }: Parts, provider: Serving, person: Stands): Promise<void> {
  const role = roleProvisioned(provider.table, person, person.role);
  if (role === person.role) return;
  const user = person.user ?? (await accountFor({ sql, now }, provider, person));
  if (user !== undefined) await followAndRecord(sql, provider, { user }, now);
}

/** Undefined: the provider speaks for its address no more. */
async function accountFor(
  { sql }: Parts,
  provider: Serving,
  { id, said }: Stands,
): Promise<string | undefined> {
  const email = addressIn(said, provider.domain);
  if (email === undefined) return undefined;
  const account = await accountAt(sql, email);
  if (account && (await standings(sql, provider, { user: account.id })).length > 0)
    throw new Refusal('scim_taken', 'There is a user of this e-mail address already.');
  // Whoever wrote somebody's address into an account of their own would get that one's role.
  if (account?.is_entered && !account.is_proven)
    throw new Refusal(
      'account_exists',
      `There is an account of ${email} that never proved the address. Whoever has it confirms it in their profile, or connects this provider there, and then it can be provisioned.`,
    );
  const user = account?.id ?? newId();
  if (account === undefined)
    await insertUser(sql, { id: user, email, name: personName(said), password_hash: noPassword });
  await writeAccount(sql, provider, id, user);
  return user;
}

/**
 * Ends all that a provisioned user could do here, with the membership; also a member whom their
 * address alone tells, since this gives nothing to whoever has it. @throws Refusal `last_owner`.
 */
export async function endPerson(
  { sql, now }: Parts,
  provider: Serving,
  { id, user: linked, said }: Stands,
): Promise<void> {
  const email = addressIn(said, provider.domain);
  const invitation = email && (await invitationTo(sql, provider.organisation, email, now));
  if (invitation) await useInvitation(sql, provider.organisation, invitation.id);
  const user = linked ?? (await unlinkedMember(sql, provider, said));
  if (user === undefined) return;
  const member = await memberOf(sql, provider.organisation, user);
  if (member?.role === 'owner' && (await countOwners(sql, provider.organisation)) < 2)
    throw new Refusal(
      'last_owner',
      'This is the only owner of the organisation. Make another member an owner first.',
    );
  if (linked === undefined) await writeAccount(sql, provider, id, user);
  await followAndRecord(sql, provider, { user }, now);
  await endProviderAccess(sql, provider, user, now);
  if (linked === undefined) await writeAccount(sql, provider, id, null);
}

async function unlinkedMember(
  sql: Parts['sql'],
  provider: Serving,
  said: Values,
): Promise<string | undefined> {
  const email = addressIn(said, provider.domain);
  const subject = textOf(said, 'externalId');
  const identity = subject && (await identityOf(sql, provider.id, subject));
  const member = identity || (email && (await memberByEmail(sql, provider.organisation, email)));
  if (!member) return undefined;
  const others = await standings(sql, provider, { user: member.user_id });
  return others.length === 0 ? member.user_id : undefined;
}

/**
 * Lets what is provisioned count for the account that somebody signs in to, whatever address it has
 * here. An account that was made for them, and that nobody came in by, has no part any more.
 */
export async function linkPerson(
  sql: Parts['sql'],
  provider: Serving,
  {
    user,
    subject,
    email,
  }: {
    readonly user: string;
    readonly subject: string;
    readonly email: string | undefined;
  },
): Promise<void> {
  if ((await standings(sql, provider, { user })).length > 0) return;
  const all = await standings(sql, provider, { subject, email: email ?? '' });
  const own =
    all.find(({ said }) => textOf(said, 'externalId') === subject) ??
    all.find(({ said }) => email !== undefined && addressIn(said, provider.domain) === email);
  if (own === undefined) return;
  if (own.user !== undefined) {
    if (!(await isUntouched(sql, provider, own.user))) return;
    await deleteMember(sql, provider.organisation, own.user);
  }
  await writeAccount(sql, provider, own.id, user);
}

/** An account that nobody has come in by has the address and name that its provider says now. */
export async function renameAccount(
  sql: Parts['sql'],
  provider: Serving,
  { user, said }: { readonly user: string; readonly said: Values },
): Promise<void> {
  const email = addressIn(said, provider.domain);
  if (email === undefined || !(await isUntouched(sql, provider, user))) return;
  await writeEmail(sql, user, email, null);
  await writeName(sql, user, personName(said));
}
