import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { inSteps } from '../gate/bind.ts';
import {
  type ByPerson,
  type Early,
  notFound,
  type OperationResult,
  type OwnScope,
} from '../gate/context.ts';
import { deadLink } from '../gate/roles.ts';
import { postMail } from '../mail/queries.ts';
import { insertFirstChannel } from '../notifications/queries.ts';
import { emailFrom, passwordFrom, planOfAnother, timeZoneFrom } from '../organisations/model.ts';
import { insertOrganisation } from '../organisations/queries.ts';
import type * as contract from './contract.ts';
import {
  insertMember,
  insertVerification,
  invitationBy,
  membershipsOf,
  ownedPlans,
  wantedEmail,
  writeEmail,
  writeName,
} from './queries.ts';
import { hashPassword } from './secrets.ts';
import {
  deleteSession,
  deleteSessions,
  deviceOf,
  isOver,
  linkLifetimes,
  sessionsOf,
  writeActiveOrganisation,
} from './sessions.ts';
import { beginSession } from './sign-in.ts';
import { join, organisationEnding, replacePassword } from './sign-up.ts';

/**
 * The signed-in user joins, whatever address the invitation was sent to: the inviter gave it to
 * someone.
 */
export async function acceptInvitation(
  context: ByPerson,
  { secret }: InputOf<typeof contract.acceptInvitation>,
): OperationResult<OutputOf<typeof contract.acceptInvitation>> {
  const { sql, now, note, person } = context;
  const { accountSecrets } = context.with;
  const invitation = await invitationBy(
    sql,
    await accountSecrets.fingerprint('invitation', secret),
    new Date(now),
  );
  if (!invitation) throw deadLink();
  const joined = await join(context, person.user, invitation);
  if (joined === 'gone') throw deadLink();
  const { organisation_id: id, organisation: name, role } = invitation;
  if (joined === 'ending') throw organisationEnding(invitation);
  if (joined === 'member already')
    throw new Refusal('already_member', `You belong to ${name} already.`);
  await writeActiveOrganisation(sql, person.session, id);
  note({ organisation: id, after: { email: person.email, role } });
  return { id, name, role };
}

export async function signOut({
  sql,
  person,
}: ByPerson): OperationResult<OutputOf<typeof contract.signOut>> {
  return {
    ended: await deleteSession(sql, person.user, person.session),
  };
}

export async function endSession(
  { sql, person }: ByPerson,
  { session_id }: InputOf<typeof contract.endSession>,
): OperationResult<OutputOf<typeof contract.endSession>> {
  if (!(await deleteSession(sql, person.user, session_id))) throw notFound('session_not_found');
  return { id: session_id, is_this: session_id === person.session };
}

export async function endOtherSessions({
  sql,
  person,
}: ByPerson): OperationResult<OutputOf<typeof contract.endOtherSessions>> {
  return {
    ended: await deleteSessions(sql, person.user, person.session),
  };
}

/** Creates another organisation. Its creator owns it, and acts in it from now on. */
export async function createOwnOrganisation(
  context: ByPerson,
  input: InputOf<typeof contract.createOwnOrganisation>,
): OperationResult<OutputOf<typeof contract.createOwnOrganisation>> {
  const { sql, person, now, note } = context;
  const owned = await ownedPlans(sql, person.user);
  const plan = planOfAnother({ owned, isProven: person.email_verified }, context.with.door);
  if (plan instanceof Refusal) throw plan;
  const organisation = {
    id: newId(),
    name: nameFrom(input.name),
    plan,
    time_zone: timeZoneFrom(input.time_zone),
  };
  const { id, name } = organisation;
  await insertOrganisation(sql, organisation);
  await insertMember(sql, id, person.user, 'owner');
  if (person.email_verified)
    await insertFirstChannel(sql, { organisation: id, email: person.email, at: new Date(now) });
  await writeActiveOrganisation(sql, person.session, id);
  note({ organisation: id, after: organisation });
  return { id, name };
}

export async function listOwnOrganisations(
  context: ByPerson,
): OperationResult<OutputOf<typeof contract.listOwnOrganisations>> {
  const { sql, person } = context;
  const [memberships, owned] = await Promise.all([
    membershipsOf(sql, person.user),
    ownedPlans(sql, person.user),
  ]);
  return {
    items: memberships.map(({ ends_at, ...own }) => ({
      ...own,
      ends_at: ends_at === null ? null : new Date(ends_at).toISOString(),
    })),
    may_found: !(
      planOfAnother({ owned, isProven: person.email_verified }, context.with.door) instanceof
      Refusal
    ),
  };
}

export async function switchOrganisation(
  { sql, person }: ByPerson,
  { organisation_id }: InputOf<typeof contract.switchOrganisation>,
): OperationResult<OutputOf<typeof contract.switchOrganisation>> {
  const own = await membershipsOf(sql, person.user);
  if (!own.some(({ id }) => id === organisation_id)) throw notFound('organisation_not_found');
  await writeActiveOrganisation(sql, person.session, organisation_id);
  return { id: organisation_id };
}

export async function listSessions({
  sql,
  now,
  person,
}: ByPerson): OperationResult<OutputOf<typeof contract.listSessions>> {
  return {
    items: (await sessionsOf(sql, person.user))
      .filter((session) => !isOver(session, now))
      .map(({ id, device, address, created_at, last_used_at }) => ({
        id,
        device: deviceOf(device),
        address,
        created_at: created_at.toISOString(),
        last_used_at: last_used_at.toISOString(),
        is_this: id === person.session,
      })),
  };
}

export async function showProfile({
  sql,
  now,
  person,
  with: { door },
}: ByPerson): OperationResult<OutputOf<typeof contract.showProfile>> {
  const { name, email, email_verified } = person;
  return {
    name,
    email,
    email_verified,
    wanted_email: (await wantedEmail(sql, person.user, new Date(now))) ?? null,
    mail: door.mail,
  };
}

export async function updateProfile(
  { sql, note, person }: ByPerson,
  input: InputOf<typeof contract.updateProfile>,
): OperationResult<OutputOf<typeof contract.updateProfile>> {
  const name = nameFrom(input.name);
  await writeName(sql, person.user, name);
  note({ before: { name: person.name }, after: { name } });
  return { name };
}

export const changeEmail = inSteps({ before: beforeEmail, act: actEmail });

async function beforeEmail(
  { person, with: { attempts, door } }: Early<OwnScope>,
  input: InputOf<typeof contract.changeEmail>,
): Promise<string> {
  const email = emailFrom(input.email);
  if (door.mail)
    await attempts.count([
      { what: `mails to ${email.toLowerCase()}`, most: 5 },
      { what: `mails asked for by ${person.user}`, most: 10 },
    ]);
  return email;
}

/**
 * With mail, the present address stays until the new one is proven, and the answer does not reveal
 * whether the new one has an account.
 */
async function actEmail(
  { sql, now, note, person, with: { door } }: ByPerson,
  _input: InputOf<typeof contract.changeEmail>,
  email: string,
): OperationResult<OutputOf<typeof contract.changeEmail>> {
  if (door.mail) {
    const id = newId();
    await insertVerification(sql, {
      id,
      user: person.user,
      email,
      at: new Date(now),
      expires_at: new Date(now + linkLifetimes.email),
    });
    await postMail(sql, {
      kind: 'e-mail',
      recipient: email,
      about: { verification: id },
      at: new Date(now),
    });
    if (email.toLowerCase() !== person.email.toLowerCase())
      await postMail(sql, {
        kind: 'e-mail-change',
        recipient: person.email,
        about: { verification: id },
        at: new Date(now),
      });
    return { email, must_confirm: true };
  }
  await writeEmail(sql, person.user, email, null);
  note({ before: { email: person.email }, after: { email } });
  return { email, must_confirm: false };
}

export const changePassword = inSteps({ before: beforePassword, act: actPassword });

function beforePassword(
  _: Early<OwnScope>,
  { password }: InputOf<typeof contract.changePassword>,
): Promise<string> {
  return hashPassword(passwordFrom(password));
}

/** The browser in which it was changed stays signed in, with a new session. */
async function actPassword(
  context: ByPerson,
  also: InputOf<typeof contract.changePassword>,
  password_hash: string,
): OperationResult<OutputOf<typeof contract.changePassword>> {
  const { user, email, from } = context.person;
  await replacePassword(context, { user, email }, password_hash, also);
  return { session: await beginSession({ ...context, visitor: from }, user) };
}
