import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Context } from '../../gate/context.ts';
import {
  countOwners,
  insertUser,
  memberByEmail,
  memberOf,
  writeEmail,
  writeName,
} from '../../people/queries.ts';
import { endProviderAccess, followAndRecord, type Serving } from '../membership.ts';
import { roleProvisioned } from '../model.ts';
import { noPassword } from '../queries.ts';
import { addressIn, personName, type Values } from './attributes.ts';
import { accountAt, isUntouched, type Stands, standings, writeAccount } from './queries.ts';

type Parts = Pick<Context, 'sql' | 'now'>;

/**
 * Gives those whom a provider provisions the role of their groups. Who gets their first one gets an
 * account, or it is given to the account of their address.
 */
export async function settle(
  { sql, now }: Parts,
  provider: Serving,
  only: Parameters<typeof standings>[2],
): Promise<void> {
  for (const person of await standings(sql, provider, only)) {
    const role = roleProvisioned(provider.table, person, person.role);
    if (role === person.role) continue;
    const user = person.user ?? (await accountFor({ sql, now }, provider, person));
    if (user !== undefined) await followAndRecord(sql, provider, { user }, now);
  }
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
  // Whoever wrote somebody's address into an account of their own would get that one's role.
  if (account?.is_entered && !account.is_proven)
    throw new Refusal(
      'account_exists',
      `There is an account of ${email} that never proved the address. Whoever has it confirms it in their profile, or signs in with this provider, and then it can be provisioned.`,
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
  const member = email && (await memberByEmail(sql, provider.organisation, email));
  if (!member) return undefined;
  const others = await standings(sql, provider, { user: member.user_id });
  return others.length === 0 ? member.user_id : undefined;
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
