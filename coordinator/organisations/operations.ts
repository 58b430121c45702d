import * as members from '../../shared/api/members.ts';
import * as api from '../../shared/api/organisations.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { postMail } from '../account-mail/queries.ts';
import { hourly } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { roleFrom } from '../gate/caller.ts';
import { orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { enforceLimit, planNamed, plans } from '../gate/plans.ts';
import { createdAt } from '../gate/records.ts';
import { epochOf, timeZoneFrom } from '../maintenance/zones.ts';
import { insertFirstChannel } from '../notifications/queries.ts';
import {
  countMembers,
  deleteMembers,
  insertInvitation,
  insertMembers,
  insertUsers,
  invitationsOf,
  memberByEmail,
  memberOf,
  membersOf,
  useInvitation,
  userById,
  writeRoles,
} from '../people/queries.ts';
import { hashPassword } from '../people/secrets.ts';
import { linkLifetimes } from '../people/sessions.ts';
import { deleteTokensOf } from '../tokens/queries.ts';
import { auditSentence, entrySentence, unlistedOperations } from './audit-sentences.ts';
import * as contract from './contract.ts';
import { emailFrom, passwordFrom } from './model.ts';
import { endInvitations, refuseLastOwner, refuseUnlessOwner } from './owners.ts';
import {
  type AuditRow,
  auditChoices,
  auditPage,
  firstStepsOf,
  insertOrganisation,
  usageOf,
  writeFirstStepsHidden,
  writeOrganisation,
} from './queries.ts';

export const createOrganisation = handle(contract.createOrganisation)(
  async ({ sql, note }, input) => {
    const organisation = {
      id: newId(),
      name: nameFrom(input.name),
      plan: planNamed(input.plan),
      time_zone: timeZoneFrom(input.time_zone),
    };
    await insertOrganisation(sql, organisation);
    note({ organisation: organisation.id });
    return organisation;
  },
);

export const createUser = handle(contract.createUser)(async (context, input) => {
  const { sql, organisation, now } = context;
  const email = emailFrom(input.email);
  const password = passwordFrom(input.password);
  const role = roleFrom(input.role);
  refuseUnlessOwner(context, role);
  enforceLimit('members', organisation.plan, await countMembers(sql, organisation.id));
  const id = newId();
  await insertUsers(sql, { id, email, password_hash: await hashPassword(password) });
  await insertMembers(sql, organisation.id, { user: id, role });
  // The creator of the account vouches for its address.
  if (role === 'owner')
    await insertFirstChannel(sql, { organisation: organisation.id, email, at: now });
  return { id, email, role };
});

/**
 * The member's own things in the organisation are deleted: tokens, assistants, their own channels.
 */
export const leaveOrganisation = handle(contract.leaveOrganisation)(async (context) => {
  const { sql, organisation, caller, note } = context;
  const member = orNotFound(
    caller.user === null ? undefined : await memberOf(sql, organisation.id, caller.user),
    'member_not_found',
  );
  await refuseLastOwner(context, member);
  note({ before: { email: member.email, role: member.role } });
  await deleteMembers(sql, organisation.id, member.user_id);
  await endInvitations(sql, organisation.id, {
    user: member.user_id,
    before: member.role,
    after: undefined,
  });
  return { id: organisation.id };
});

export const removeMember = handle(members.removeMember)(async (context, { member_id }) => {
  const { sql, organisation } = context;
  const member = orNotFound(await memberOf(sql, organisation.id, member_id), 'member_not_found');
  await refuseLastOwner(context, member);
  refuseUnlessOwner(context, member.role);
  context.note({ before: { email: member.email, role: member.role } });
  await deleteMembers(sql, organisation.id, member.user_id);
  await endInvitations(sql, organisation.id, {
    user: member.user_id,
    before: member.role,
    after: undefined,
  });
});

/**
 * A change of role ends the member's tokens. The operator may also add a user who belongs to other
 * organisations only.
 */
export const setMemberRole = handle(members.setMemberRole)(async (context, input) => {
  const { sql, organisation, caller } = context;
  const role = roleFrom(input.role);
  const member = await memberOf(sql, organisation.id, input.member_id);
  if (!member) {
    const user = caller.is === 'operator' ? await userById(sql, input.member_id) : undefined;
    const { id, email } = orNotFound(user, 'member_not_found');
    enforceLimit('members', organisation.plan, await countMembers(sql, organisation.id));
    await insertMembers(sql, organisation.id, { user: id, role });
    context.note({ after: { email, role } });
    return { id, email, role };
  }
  context.note({
    before: { role: member.role },
    after: { email: member.email, role },
  });
  if (member.role !== role) {
    await refuseLastOwner(context, member);
    refuseUnlessOwner(context, member.role, role);
    await writeRoles(sql, organisation.id, { user: member.user_id, role });
    await deleteTokensOf(sql, organisation.id, member.user_id);
    await endInvitations(sql, organisation.id, {
      user: member.user_id,
      before: member.role,
      after: role,
    });
  }
  return { id: member.user_id, email: member.email, role };
});

export const whoami = handle(api.whoami)(async ({ caller }) => {
  const { organisation, role, scope, token, connection } = caller;
  return { organisation, role, scope, token_name: token?.name ?? connection?.client ?? '' };
});

export const listInvitations = handle(members.listInvitations)(
  async ({ sql, organisation, now }) => ({
    items: (await invitationsOf(sql, organisation.id, now)).map(
      ({ id, email, role, inviter, expires_at }) => ({ id, email, role, inviter, expires_at }),
    ),
    next_cursor: null,
  }),
);

export const inviteMember = handle(members.inviteMember)({
  /**
   * Limits mails in our name to addresses that someone else chose: few per mailbox, and few per
   * organisation.
   */
  before: async ({ organisation, with: { attempts } }, input) => {
    await attempts.count([
      { what: `mails to ${emailFrom(input.email).toLowerCase()}`, most: 5 },
      hourly(`invitations of ${organisation.id}`, 30),
    ]);
  },
  /**
   * A new invitation replaces the earlier one to the same address. It makes no difference whether
   * the address has an account.
   */
  act: async (context, input) => {
    const { sql, organisation, caller, now, note } = context;
    const { accountSecrets, baseUrl, door } = context.with;
    const [email, role] = [emailFrom(input.email), roleFrom(input.role)];
    refuseUnlessOwner(context, role);
    if (await memberByEmail(sql, organisation.id, email))
      throw new Refusal('already_member', { email: `${email} is a member already.` });
    const others = (await invitationsOf(sql, organisation.id, now)).filter(
      (one) => one.email.toLowerCase() !== email.toLowerCase(),
    );
    enforceLimit(
      'members',
      organisation.plan,
      (await countMembers(sql, organisation.id)) + others.length,
    );
    const link = door.mail ? undefined : await accountSecrets.mint('invitation');
    const [id, expires_at] = [newId(), now + linkLifetimes.invitation];
    const row = {
      id,
      organisation: organisation.id,
      email,
      role,
      fingerprint: link?.fingerprint ?? null,
    };
    await insertInvitation(sql, { ...row, invited_by: caller.user, at: now, expires_at });
    if (link === undefined)
      await postMail(sql, {
        kind: 'invitation',
        recipient: email,
        about: { invitation: id },
        at: now,
      });
    note({ after: { email, role } });
    const address = link === undefined ? null : `${baseUrl()}/join/${link.text}`;
    return { id, email, role, address, expires_at };
  },
});

export const withdrawInvitation = handle(members.withdrawInvitation)(
  async ({ sql, organisation, note }, { invitation_id }) => {
    const used = await useInvitation(sql, organisation.id, invitation_id);
    note({ before: orNotFound(used, 'invitation_not_found') });
  },
);

export const listMembers = handle(members.listMembers)(async ({ sql, organisation }) => ({
  items: await membersOf(sql, organisation.id),
  next_cursor: null,
}));

export const listAudit = handle(api.listAudit)(
  async ({ sql, organisation, with: { cursors } }, input) => {
    const { who, operation } = input;
    const at = (moment: typeof input.from): number | null =>
      moment === null ? null : epochOf(moment, organisation.time_zone);
    const filter = {
      who,
      operation,
      from: at(input.from),
      until: at(input.until),
      without: unlistedOperations,
    };
    return pageOf(
      cursors,
      ['audit', organisation.id, who, operation, filter.from, filter.until],
      input,
      (from, limit) => auditPage(sql, organisation.id, filter, from ?? afterAll, limit),
      entryJson,
    );
  },
);

function entryJson({ key: id, at, operation, changed, subject, ...row }: AuditRow) {
  const before = record(changed.before);
  const after = record(changed.after) ?? record(changed.sent);
  const what = entrySentence(operation, { before, after });
  const about = record(changed.about) ?? {};
  return { id, at, ...row, operation, what, subject, about, before, after };
}

function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null;
}

export const getAuditChoices = handle(contract.getAuditChoices)(async ({ sql, organisation }) => {
  const { who, operations: ids } = await auditChoices(sql, organisation.id);
  return {
    who,
    operations: ids
      .filter((id) => !unlistedOperations.includes(id))
      .map((id) => ({ id, what: auditSentence(id) }))
      .toSorted((a, b) => a.what.localeCompare(b.what, 'en')),
  };
});

const things = [
  'monitors',
  'status_pages',
  'members',
  'private_probes',
  'channels',
  'webhooks',
  'groups',
  'objectives',
  'windows',
] as const;

export const showOrganisation = handle(api.showOrganisation)(async ({ sql, organisation, now }) => {
  const { id, ends_at } = organisation;
  const plan = plans[organisation.plan];
  const [usage, created_at] = await Promise.all([usageOf(sql, id, now), createdAt(sql, id)]);
  return {
    ...organisation,
    created_at,
    least_interval_s: plan.min_interval_s,
    ends_at,
    used: things.map((what) => ({
      what,
      count: usage[what],
      most: Number.isFinite(plan[what]) ? plan[what] : null,
    })),
  };
});

/**
 * Windows keep the time zone in which they were created; times are shown in the new one from now
 * on.
 */
export const showFirstSteps = handle(contract.showFirstSteps)(({ sql, organisation }) =>
  firstStepsOf(sql, organisation.id),
);

export const hideFirstSteps = handle(contract.hideFirstSteps)(
  async ({ sql, organisation, now }) => {
    await writeFirstStepsHidden(sql, organisation.id, now);
    return { is_hidden: true };
  },
);

export const updateOrganisation = handle(contract.updateOrganisation)(
  async ({ sql, organisation, note }, input) => {
    const { id, name, time_zone } = organisation;
    const next = {
      name: input.name === null ? name : nameFrom(input.name),
      time_zone: input.time_zone === null ? time_zone : timeZoneFrom(input.time_zone),
    };
    note({ before: { name, time_zone }, after: next });
    await writeOrganisation(sql, id, next);
    return { id, ...next };
  },
);
