import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Queryable } from '../../database/connect.ts';
import type { Role } from '../../gate/caller.ts';
import type { InOrganisation } from '../../gate/context.ts';
import type { Move } from '../../organisations/model.ts';
import {
  deleteMembers,
  insertUsers,
  invitationTo,
  memberByEmail,
  memberOf,
  useInvitation,
  writeEmail,
  writeName,
} from '../../people/queries.ts';
import {
  endProviderAccess,
  heldBackIn,
  recordMoves,
  type Serving,
  writeMoves,
} from '../membership.ts';
import { roleProvisioned } from '../model.ts';
import { identityOf, noPassword } from '../queries.ts';
import { addressIn, personName, textOf, type Values } from './attributes.ts';
import {
  type Account,
  type Address,
  addressesOf,
  isUntouched,
  type Stands,
  standings,
  writeAccounts,
  writeLeaver,
} from './queries.ts';

type Parts = Pick<InOrganisation, 'sql' | 'now' | 'organisation'>;

/**
 * Gives those whom a provider provisions the role of their groups. Who gets their first one gets an
 * account, or it is given to the account of their address. Who cannot be provisioned keeps no other
 * from getting in, or out. Returns how many those are. @throws Refusal if it was about no other.
 */
export async function settle(
  { sql, now, organisation }: Parts,
  provider: Serving,
  only: Parameters<typeof standings>[2],
): Promise<number> {
  const people = await standings(sql, provider, only);
  const due = people.filter(
    (person) => roleProvisioned(provider.table, person, person.role) !== person.role,
  );
  if (due.length === 0) return 0;
  const emails = due.flatMap(({ user, said }) =>
    user === undefined ? (addressIn(said, provider.domain) ?? []) : [],
  );
  const addresses = await addressesOf(sql, provider, emails);
  const { entries, refusals } = entriesOf(provider, due, addresses);
  const held = await heldBackIn(sql, organisation, entries.filter(isMove));
  const going = entries.filter((entry) => !held.has(entry));
  await writeEntries(sql, provider, going);
  const moves = going.filter(isMove);
  await writeMoves(sql, organisation.id, moves);
  await recordMoves(sql, provider, moves, now);
  const left = [...refusals, ...held.values()].filter(({ code }) => code !== 'last_owner');
  const [first] = left;
  if (only !== 'all' && first && left.length === people.length) throw first;
  return left.length;
}

/** The role that somebody gets, and the account that has them from then on. */
type Entry = Move & {
  readonly person: Stands;
  /** The address of an account that is made for them. */
  readonly makes?: string;
};

function isMove({ before, after }: Move): boolean {
  return before !== after;
}

/** Without those for whose address the provider speaks no more. */
function entriesOf(
  { table, domain }: Serving,
  due: readonly Stands[],
  addresses: readonly Address[],
): { readonly entries: readonly Entry[]; readonly refusals: readonly Refusal[] } {
  const byEmail = new Map(addresses.map((each) => [each.asked, each]));
  const given = new Set<string>();
  const refusals: Refusal[] = [];
  const entries: Entry[] = [];
  const enter = (person: Stands, user: string, before: Role | undefined, makes?: string): void => {
    const after = roleProvisioned(table, person, before);
    entries.push({ person, user, before, after, ...(makes === undefined ? {} : { makes }) });
  };
  for (const person of due) {
    const { user, role, said } = person;
    const found = byEmail.get(addressIn(said, domain) ?? '');
    if (user !== undefined) enter(person, user, role);
    else if (found !== undefined) {
      const { asked, address, account } = found;
      const refusal = given.has(address)
        ? taken(asked)
        : account && refusalOf(person, account, asked);
      given.add(address);
      if (refusal) refusals.push(refusal);
      else if (account) enter(person, account.id, account.role ?? undefined);
      else enter(person, newId(), undefined, asked);
    }
  }
  return { entries, refusals };
}

/** Whoever gets an account gets all that it may do: it must be theirs. */
function refusalOf({ id, said }: Stands, account: Account, email: string): Refusal | null {
  const { is_taken, is_entered, is_proven, left, role, subject } = account;
  if (is_taken) return taken(email);
  if (!is_entered) return null;
  const externalId = textOf(said, 'externalId') ?? null;
  const isSame =
    left?.person_id === id ||
    (externalId !== null && [left?.external_id, subject].includes(externalId));
  // A subject is not always called like an externalId: a member is believed to be the same.
  if (!isSame && (left || (subject !== null && role === null)))
    return new Refusal(
      'account_exists',
      `There is an account of ${email} that somebody of this provider had before. If it is the same person, they get their role when they sign in by the provider. ${freeIt}`,
    );
  // Whoever wrote somebody's address into an account of their own would get that one's role.
  return is_proven
    ? null
    : new Refusal(
        'account_exists',
        `There is an account of ${email} that never proved the address. Whoever has it confirms it in their profile, or connects this provider there, and then it can be provisioned.`,
      );
}

function taken(email: string): Refusal {
  return new Refusal(
    'scim_taken',
    `Another user of this provider has the account of ${email}. ${freeIt}`,
  );
}

const freeIt =
  'If the address has a new holder, the account needs another one first: whoever has it sets that in its profile.';

async function writeEntries(
  sql: Queryable,
  provider: Serving,
  entries: readonly Entry[],
): Promise<void> {
  const made = entries.flatMap(({ user: id, makes: email, person: { said } }) =>
    email === undefined ? [] : [{ id, email, name: personName(said), password_hash: noPassword }],
  );
  const links = entries
    .filter(({ person }) => person.user === undefined)
    .map(({ person, user }) => ({ person: person.id, user }));
  if (made.length > 0) await insertUsers(sql, ...made);
  if (links.length > 0) await writeAccounts(sql, provider, ...links);
}

/**
 * Ends all that a provisioned user could do here, with the membership; also a member whom their
 * address alone tells, since this gives nothing to whoever has it. @throws Refusal `last_owner`.
 */
export async function endPerson(
  { sql, now, organisation }: Parts,
  provider: Serving,
  { id, user: linked, said }: Stands,
): Promise<void> {
  const email = addressIn(said, provider.domain);
  const invitation = email && (await invitationTo(sql, organisation.id, email, now));
  if (invitation) await useInvitation(sql, organisation.id, invitation.id);
  const user = linked ?? (await unlinkedMember(sql, provider, said));
  if (user === undefined) return;
  const member = await memberOf(sql, organisation.id, user);
  if (member) {
    const move = { user, before: member.role, after: undefined };
    const refusal = (await heldBackIn(sql, organisation, [move])).get(move);
    if (refusal) throw refusal;
    await writeMoves(sql, organisation.id, [move]);
    await recordMoves(sql, provider, [move], now);
  }
  await endProviderAccess(sql, provider, user, now);
  await writeLeaver(sql, provider, { person: id, user, said });
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
    await deleteMembers(sql, provider.organisation, own.user);
  }
  await writeAccounts(sql, provider, { person: own.id, user });
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
