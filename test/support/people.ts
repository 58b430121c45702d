/** For test files: the people who stand in every test of access. */
import { randomBytes } from 'node:crypto';
import type { Sql } from '../../coordinator/database/connect.ts';
import type { Caller, Role, Scope } from '../../coordinator/gate/caller.ts';
import type { PlanName } from '../../coordinator/gate/plans.ts';
import { insertOrganisation } from '../../coordinator/organisations/queries.ts';
import { insertMembers, insertUsers } from '../../coordinator/people/queries.ts';
import { createTokens } from '../../coordinator/tokens/authenticate.ts';
import { insertToken } from '../../coordinator/tokens/queries.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';

export const testSecretKey = 'a secret key for tests, longer than thirty-two characters';

export type Person = {
  readonly email: string;
  readonly user: string;
  readonly organisation: string;
  readonly role: Role;
  /** As the gate is called by a read-write token of this person; an owner's manages members. */
  readonly caller: Caller;
  /** API tokens of this person, as text. */
  readonly read: string;
  readonly readWrite: string;
};

/**
 * One of each role; none of their passwords is known to anyone, because hashing them would only
 * cost time here.
 */
export type TestOrganisation = { readonly organisation: string; readonly name: string } & {
  readonly [role in Role]: Person;
};

type Options = { readonly plan?: PlanName; readonly time_zone?: string; readonly name?: string };

const tokenOf = async (
  sql: Sql,
  { role, ...person }: { organisation: string; user: string; role: Role },
  scope: Scope,
): Promise<{ id: string; token: string }> => {
  const tokens = createTokens({
    sql,
    secretKey: testSecretKey,
    clock: systemClock,
    log: createLog({ name: 'people', level: 'silent' }),
  });
  const { token, fingerprint, shown } = await tokens.mint();
  const id = newId();
  await insertToken(sql, {
    id,
    ...person,
    name: `${scope} of a test`,
    scope,
    manage_members: managesMembers(role, scope),
    fingerprint,
    shown,
    created_at: Date.now(),
    expires_at: null,
  });
  return { id, token };
};

const managesMembers = (role: Role, scope: Scope): boolean =>
  role === 'owner' && scope === 'read_write';

const person = async (
  sql: Sql,
  organisation: Caller['organisation'],
  role: Role,
): Promise<Person> => {
  const user = newId();
  const email = `${role}-${randomBytes(6).toString('hex')}@example.org`;
  await insertUsers(sql, { id: user, email, password_hash: 'none' });
  await insertMembers(sql, organisation.id, { user, role });
  const of = { organisation: organisation.id, user, role };
  const [read, readWrite] = [await tokenOf(sql, of, 'read'), await tokenOf(sql, of, 'read_write')];
  const token = {
    id: readWrite.id,
    name: 'read_write of a test',
    managesMembers: managesMembers(role, 'read_write'),
  };
  const caller: Caller = { is: 'token', organisation, user, role, scope: 'read_write', token };
  return {
    email,
    user,
    organisation: organisation.id,
    role,
    caller,
    read: read.token,
    readWrite: readWrite.token,
  };
};

/** An organisation with an owner, an admin, a member and a viewer. */
export const createTestOrganisation = async (
  sql: Sql,
  options: Options = {},
): Promise<TestOrganisation> => {
  const {
    plan = 'self_hosted',
    time_zone = 'UTC',
    name = `House ${randomBytes(4).toString('hex')}`,
  } = options;
  const organisation = { id: newId(), name, plan, time_zone };
  await insertOrganisation(sql, organisation);
  const of = (role: Role): Promise<Person> => person(sql, { ...organisation, ends_at: null }, role);
  const [owner, admin, member, viewer] = [
    await of('owner'),
    await of('admin'),
    await of('member'),
    await of('viewer'),
  ];
  return { organisation: organisation.id, name, owner, admin, member, viewer };
};

/** The same person at a page: what a token may not do. */
export const inPerson = (who: Person | Caller): Caller => {
  const caller = 'caller' in who ? who.caller : who;
  if (caller.is !== 'token') return caller;
  const { token: _, ...rest } = caller;
  return { ...rest, is: 'session' };
};

/** The same person with a token that may only read. */
export const reading = ({ caller }: Person): Caller => ({ ...caller, scope: 'read' });
