import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { postMail } from '../account-mail/queries.ts';
import { handle } from '../gate/bind.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import { deadLink } from '../gate/roles.ts';
import { timeZoneFrom } from '../maintenance/zones.ts';
import { insertFirstChannel } from '../notifications/queries.ts';
import { emailFrom, passwordFrom, planOfAnother } from '../organisations/model.ts';
import { insertOrganisation } from '../organisations/queries.ts';
import * as contract from './contract.ts';
import { join, organisationEnding } from './joining.ts';
import { deleteOneTime, insertOneTime, wantedEmail } from './one-time.ts';
import {
  hasOwnProviders,
  insertMembers,
  invitationBy,
  ownedPlans,
  writeEmail,
  writeName,
} from './queries.ts';
import { hashPassword } from './secrets.ts';
import {
  beginSession,
  deleteSession,
  deleteSessions,
  deviceOf,
  isOver,
  linkLifetimes,
  openedBy,
  organisationsOf,
  sessionsOf,
  writeActiveOrganisation,
} from './sessions.ts';
import { replacePassword } from './sign-up.ts';

/**
 * The signed-in user joins, whatever address the invitation was sent to: the inviter gave it to
 * someone.
 */
export const acceptInvitation = handle(contract.acceptInvitation)(async (context, { secret }) => {
  const { sql, now, note, person } = context;
  const { accountSecrets } = context.with;
  const invitation = await invitationBy(
    sql,
    await accountSecrets.fingerprint('invitation', secret),
    now,
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
});

export const signOut = handle(contract.signOut)(async ({ sql, person }) => ({
  ended: await deleteSession(sql, person.user, person.session),
}));

export const endSession = handle(contract.endSession)(async ({ sql, person }, { session_id }) => {
  if (!(await deleteSession(sql, person.user, session_id))) throw notFound('session_not_found');
  return { id: session_id, is_this: session_id === person.session };
});

export const endOtherSessions = handle(contract.endOtherSessions)(async ({ sql, person }) => ({
  ended: await deleteSessions(sql, person.user, person.session),
}));

/** Creates another organisation. Its creator owns it, and acts in it from now on. */
export const createOwnOrganisation = handle(contract.createOwnOrganisation)(
  async (context, input) => {
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
    await insertMembers(sql, id, { user: person.user, role: 'owner' });
    if (person.email_verified)
      await insertFirstChannel(sql, { organisation: id, email: person.email, at: now });
    await writeActiveOrganisation(sql, person.session, id);
    note({ organisation: id, after: organisation });
    return { id, name };
  },
);

export const listOwnOrganisations = handle(contract.listOwnOrganisations)(async (context) => {
  const { sql, person } = context;
  const [memberships, owned] = await Promise.all([
    organisationsOf(sql, person),
    ownedPlans(sql, person.user),
  ]);
  return {
    items: memberships,
    may_found:
      person.within === undefined &&
      !(
        planOfAnother({ owned, isProven: person.email_verified }, context.with.door) instanceof
        Refusal
      ),
  };
});

export const switchOrganisation = handle(contract.switchOrganisation)(
  async ({ sql, person }, { organisation_id }) => {
    orNotFound(await openedBy(sql, person, organisation_id), 'organisation_not_found');
    await writeActiveOrganisation(sql, person.session, organisation_id);
    return { id: organisation_id };
  },
);

export const listSessions = handle(contract.listSessions)(async ({ sql, now, person }) => ({
  items: (await sessionsOf(sql, person.user))
    .filter((session) => !isOver(session, now))
    .map((session) => ({
      ...session,
      device: deviceOf(session.device),
      is_this: session.id === person.session,
    })),
}));

export const showProfile = handle(contract.showProfile)(
  async ({ sql, now, person, with: { door, providers } }) => {
    const { name, email, email_verified } = person;
    return {
      name,
      email,
      email_verified,
      wanted_email: (await wantedEmail(sql, person.user, now)) ?? null,
      mail: door.mail,
      providers: providers.installation !== null || (await hasOwnProviders(sql)),
    };
  },
);

export const updateProfile = handle(contract.updateProfile)(
  async ({ sql, note, person }, input) => {
    const name = nameFrom(input.name);
    await writeName(sql, person.user, name);
    note({ before: { name: person.name }, after: { name } });
    return { name };
  },
);

export const changeEmail = handle(contract.changeEmail)({
  before: async ({ person, with: { attempts, door } }, input) => {
    const email = emailFrom(input.email);
    if (door.mail)
      await attempts.count([
        { what: `mails to ${email.toLowerCase()}`, most: 5 },
        { what: `mails asked for by ${person.user}`, most: 10 },
      ]);
    return email;
  },
  /**
   * With mail, the present address stays until the new one is proven, and the answer does not
   * reveal whether the new one has an account.
   */
  act: async ({ sql, now, note, person, with: { door } }, _input, email) => {
    if (door.mail) {
      const id = newId();
      await deleteOneTime(sql, person.user, ['e-mail']);
      await insertOneTime(sql, {
        id,
        kind: 'e-mail',
        user: person.user,
        email,
        fingerprint: null,
        expires_at: now + linkLifetimes.email,
      });
      await postMail(sql, {
        kind: 'e-mail',
        recipient: email,
        about: { verification: id },
        at: now,
      });
      if (email.toLowerCase() !== person.email.toLowerCase())
        await postMail(sql, {
          kind: 'e-mail-change',
          recipient: person.email,
          about: { verification: id },
          at: now,
        });
      return { email, must_confirm: true };
    }
    await writeEmail(sql, person.user, email, null);
    note({ before: { email: person.email }, after: { email } });
    return { email, must_confirm: false };
  },
});

export const changePassword = handle(contract.changePassword)({
  before: (_, { password }) => hashPassword(passwordFrom(password)),
  /** The browser in which it was changed stays signed in, with a new session. */
  act: async (context, also, password_hash) => {
    const { user, email, from } = context.person;
    await replacePassword(context, { user, email }, password_hash, also);
    return { session: await beginSession({ ...context, visitor: from }, user) };
  },
});
