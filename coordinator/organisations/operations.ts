import * as api from '../../shared/api/organisations.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { nameFrom } from '../../shared/base/names.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { splitSecrets } from '../../shared/checks/config.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import { postMail, postMails } from '../account-mail/queries.ts';
import { hourly } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import {
  type ChannelConfig,
  type GateDependencies,
  type InOrganisation,
  notFound,
  orNotFound,
} from '../gate/context.ts';
import { afterAll, beforeAll, pageOf } from '../gate/cursors.ts';
import { epochOf } from '../maintenance/zones.ts';
import { ownersOf } from '../notifications/last-resort.ts';
import { insertFirstChannel } from '../notifications/queries.ts';
import {
  countMembers,
  deleteInvitationsBy,
  deleteMember,
  insertInvitation,
  insertMember,
  insertUser,
  invitationsOf,
  type MemberRow,
  memberByEmail,
  memberOf,
  membersOf,
  ownName,
  useInvitation,
  userByEmail,
  writeRole,
} from '../people/queries.ts';
import { hashPassword } from '../people/secrets.ts';
import { linkLifetimes } from '../people/sessions.ts';
import { type DayRow, percentilesByHour } from '../results/days.ts';
import { deleteTokensOf } from '../tokens/queries.ts';
import { auditSentence, entrySentence, unlistedOperations } from './audit-sentences.ts';
import * as contract from './contract.ts';
import { beginEnding, undoEnding } from './deletion.ts';
import {
  type ExportedRow,
  type ExportPart,
  exportPage,
  exportParts,
  isExportPart,
  maxRowsOf,
} from './export.ts';
import {
  emailFrom,
  isSameName,
  keptMs,
  mayManage,
  passwordFrom,
  type Role,
  roleFrom,
  timeZoneFrom,
} from './model.ts';
import { refuseLastOwner, refuseUnlessOwner } from './owners.ts';
import { enforceLimit, planNamed, plans } from './plans.ts';
import {
  type AuditRow,
  auditChoices,
  auditPage,
  createdAt,
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
  await insertUser(sql, { id, email, password_hash: await hashPassword(password) });
  await insertMember(sql, organisation.id, id, role);
  // The creator of the account vouches for its address.
  if (role === 'owner')
    await insertFirstChannel(sql, { organisation: organisation.id, email, at: new Date(now) });
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
  await deleteMember(sql, organisation.id, member.user_id);
  await endInvitations(context, member, null);
  return { id: organisation.id };
});

/**
 * Ends the invitations that the member may not make any more: one of their own, to another mailbox,
 * would give the role back.
 */
async function endInvitations(
  { sql, organisation }: InOrganisation,
  { user_id, role }: MemberRow,
  next: Role | null,
): Promise<void> {
  if (next === 'owner' || !mayManage(role)) return;
  const ofOwners = next !== null && mayManage(next);
  await deleteInvitationsBy(sql, organisation.id, user_id, { ofOwners });
}

export const removeMember = handle(contract.removeMember)(async (context, input) => {
  const { sql, organisation } = context;
  const member = orNotFound(
    await memberByEmail(sql, organisation.id, input.email.trim()),
    'member_not_found',
  );
  await refuseLastOwner(context, member);
  refuseUnlessOwner(context, member.role);
  context.note({ before: { email: member.email, role: member.role } });
  await deleteMember(sql, organisation.id, member.user_id);
  await endInvitations(context, member, null);
  return { id: member.user_id };
});

/**
 * A change of role ends the member's tokens. The operator may also add a user who belongs to other
 * organisations only.
 */
export const setMemberRole = handle(contract.setMemberRole)(async (context, input) => {
  const { sql, organisation, caller } = context;
  const role = roleFrom(input.role);
  const member = await memberByEmail(sql, organisation.id, input.email.trim());
  if (!member) {
    if (caller.is !== 'operator') throw notFound('member_not_found');
    const user = orNotFound(await userByEmail(sql, input.email.trim()), 'user_not_found');
    enforceLimit('members', organisation.plan, await countMembers(sql, organisation.id));
    await insertMember(sql, organisation.id, user.id, role);
    return { id: user.id, email: user.email, role };
  }
  context.note({
    before: { role: member.role },
    after: { email: member.email, role },
  });
  if (member.role !== role) {
    await refuseLastOwner(context, member);
    refuseUnlessOwner(context, member.role, role);
    await writeRole(sql, organisation.id, member.user_id, role);
    await deleteTokensOf(sql, organisation.id, member.user_id);
    await endInvitations(context, member, role);
  }
  return { id: member.user_id, email: member.email, role };
});

export const whoami = handle(api.whoami)(async ({ caller }) => {
  const { organisation, role, scope, token, connection } = caller;
  const { id, name, plan, time_zone } = organisation;
  return {
    organisation: { id, name, plan, time_zone },
    role,
    scope,
    token_name: token?.name ?? connection?.client ?? '',
  };
});

export const listInvitations = handle(contract.listInvitations)(
  async ({ sql, organisation, now }) => ({
    items: (await invitationsOf(sql, organisation.id, new Date(now))).map(
      ({ id, email, role, inviter, expires_at }) => ({
        id,
        email,
        role,
        inviter,
        expires_at: expires_at.toISOString(),
      }),
    ),
  }),
);

export const inviteMember = handle(contract.inviteMember)({
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
    const others = (await invitationsOf(sql, organisation.id, new Date(now))).filter(
      (one) => one.email.toLowerCase() !== email.toLowerCase(),
    );
    enforceLimit(
      'members',
      organisation.plan,
      (await countMembers(sql, organisation.id)) + others.length,
    );
    const [id, at, expires_at] = [newId(), new Date(now), new Date(now + linkLifetimes.invitation)];
    const link = door.mail ? undefined : await accountSecrets.mint('invitation');
    const row = {
      id,
      organisation: organisation.id,
      email,
      role,
      fingerprint: link?.fingerprint ?? null,
    };
    await insertInvitation(sql, { ...row, invited_by: caller.user, at, expires_at });
    if (link === undefined)
      await postMail(sql, { kind: 'invitation', recipient: email, about: { invitation: id }, at });
    note({ after: { email, role } });
    const address = link === undefined ? null : `${baseUrl()}/join/${link.text}`;
    return { id, email, role, address, expires_at: expires_at.toISOString() };
  },
});

export const withdrawInvitation = handle(contract.withdrawInvitation)(
  async ({ sql, organisation }, { invitation_id }) => {
    if (!(await useInvitation(sql, organisation.id, invitation_id)))
      throw notFound('invitation_not_found');
    return { id: invitation_id };
  },
);

export const listMembers = handle(contract.listMembers)(async ({ sql, organisation }) => ({
  items: (await membersOf(sql, organisation.id)).map(({ id, email, name, role, created_at }) => ({
    id,
    email,
    name,
    role,
    joined_at: created_at.toISOString(),
  })),
}));

/**
 * From now on the organisation is read-only, and nothing is checked or notified; after some days
 * housekeeping deletes it.
 */
export const endOrganisation = handle(contract.endOrganisation)(async (context, { name }) => {
  const { sql, organisation, caller, now, note } = context;
  if (!isSameName(name, organisation.name))
    throw new Refusal('name_invalid', {
      name: `the name does not match; type ${organisation.name}`,
    });
  const endsAt = new Date(now + keptMs);
  const paused = await beginEnding(sql, {
    organisation: organisation.id,
    user: caller.user,
    at: new Date(now),
    endsAt,
  });
  await mailOwners(context, 'ends', endsAt);
  note({ before: { ends_at: null }, after: { ends_at: endsAt.toISOString(), paused } });
  return { id: organisation.id, ends_at: endsAt.toISOString(), paused };
});

/** All owners are notified, whoever did it. */
async function mailOwners(
  { sql, organisation: { id, name, time_zone }, caller, now }: InOrganisation,
  what: 'ends' | 'kept',
  endsAt: Date,
): Promise<void> {
  const by = caller.user === null ? null : ((await ownName(sql, caller.user)) ?? null);
  const about = { what, organisation: name, by, ends_at: endsAt.toISOString(), time_zone };
  const owners = (await ownersOf(sql, [id])).get(id) ?? [];
  await postMails(
    sql,
    owners.map((recipient) => ({ kind: 'organisation', recipient, about, at: new Date(now) })),
  );
}

export const keepOrganisation = handle(contract.keepOrganisation)(async (context) => {
  const { sql, organisation, now, note } = context;
  if (organisation.ends_at === null)
    throw new Refusal(
      'organisation_not_ending',
      `Nobody wants ${organisation.name} to be deleted.`,
    );
  const endsAt = new Date(organisation.ends_at);
  const resumed = await undoEnding(sql, organisation.id, new Date(now));
  if (resumed === undefined)
    throw new Refusal(
      'organisation_ending',
      `The days in which ${organisation.name} could be kept are over; it is being deleted.`,
    );
  await mailOwners(context, 'kept', endsAt);
  note({ before: { ends_at: endsAt.toISOString() }, after: { ends_at: null, resumed } });
  return { id: organisation.id, resumed };
});

const leftOut = [
  {
    what: 'secrets',
    why: 'Passwords, keys, tokens and addresses of heartbeats are kept encrypted or as fingerprints; *** replaces them.',
  },
  {
    what: 'results',
    why: 'Single results are kept for some days only, and `GET /api/v1/monitors/{id}/checks` lists them; the figures of each hour are in response_percentiles or response_times, of the last days in both.',
  },
  {
    what: 'sessions, second factors and passkeys of members',
    why: 'They belong to the people, not to the organisation.',
  },
  { what: 'subscribers of status pages', why: 'Their addresses were given for one page alone.' },
  {
    what: 'logos of status pages',
    why: 'A picture is no text; each is at the address of its page.',
  },
  {
    what: 'invitations, links to incidents, and attempts at sending',
    why: 'They are of the moment, and open doors.',
  },
  {
    what: 'events, and what was sent to webhooks',
    why: 'GET /api/v1/events lists them for 90 days, and the log of a webhook for 14.',
  },
  { what: 'what was deleted', why: 'It is gone.' },
];

/** Writes the audit entry of an export. */
export const beginExport = handle(contract.beginExport)(async ({ sql, organisation, note }) => {
  const { id, name, plan, time_zone } = organisation;
  note({ after: { parts: exportParts } });
  return {
    organisation: {
      id,
      name,
      plan,
      time_zone,
      created_at: (await createdAt(sql, id)).toISOString(),
    },
    parts: exportParts,
    left_out: leftOut,
  };
});

export const readExport = handle(contract.readExport)(
  async ({ sql, organisation, with: dependencies }, input) => {
    const { part } = input;
    if (!isExportPart(part))
      throw new Refusal('request_malformed', { part: `must be one of ${exportParts.join(', ')}.` });
    return pageOf(
      dependencies.cursors,
      ['export', organisation.id, part],
      { ...input, limit: maxRowsOf(part, input.limit) },
      (from, limit) => exportPage(sql, organisation.id, part, from ?? beforeAll, limit),
      (row) => masked(dependencies, part, row),
    );
  },
);

/**
 * A secret that was stored before its field counted as secret is masked, too. The columns are those
 * of `organisations/export.ts`.
 */
function masked(
  { channels, results }: Pick<GateDependencies, 'channels' | 'results'>,
  part: ExportPart,
  { key, row }: ExportedRow,
): ExportedRow['row'] {
  if (part === 'monitors')
    return { ...row, config: splitSecrets(row.type as Kind, row.config as Config).open };
  if (part === 'channels')
    return { ...row, config: channels.shown(String(row.kind), row.config as ChannelConfig) };
  if (part === 'response_percentiles') {
    const { monitor, days } = row;
    const report = (day: number, fault: string) => results.reportDay(key, day, fault);
    return {
      monitor,
      hours: (days as DayRow[]).flatMap((each) => percentilesByHour(each, report)),
    };
  }
  return row;
}

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

function entryJson({
  key,
  at,
  who,
  through,
  token_name,
  address,
  operation,
  changed,
  subject,
}: AuditRow) {
  const before = record(changed.before);
  const after = record(changed.after) ?? record(changed.sent);
  return {
    id: key,
    at: at.toISOString(),
    who,
    through,
    token_name,
    address,
    operation,
    what: entrySentence(operation, { before, after }),
    subject,
    about: record(changed.about) ?? {},
    before,
    after,
  };
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
  'windows',
] as const;

export const showOrganisation = handle(contract.showOrganisation)(
  async ({ sql, organisation, now }) => {
    const { id, name, time_zone, plan: named, ends_at } = organisation;
    const plan = plans[named];
    const [usage, created_at] = await Promise.all([usageOf(sql, id, now), createdAt(sql, id)]);
    return {
      id,
      name,
      time_zone,
      plan: named,
      created_at: created_at.toISOString(),
      least_interval_s: plan.min_interval_s,
      ends_at: ends_at === null ? null : new Date(ends_at).toISOString(),
      used: things.map((what) => ({
        what,
        count: usage[what],
        most: Number.isFinite(plan[what]) ? plan[what] : null,
      })),
    };
  },
);

/**
 * Windows keep the time zone in which they were created; times are shown in the new one from now
 * on.
 */
export const showFirstSteps = handle(contract.showFirstSteps)(({ sql, organisation }) =>
  firstStepsOf(sql, organisation.id),
);

export const hideFirstSteps = handle(contract.hideFirstSteps)(
  async ({ sql, organisation, now }) => {
    await writeFirstStepsHidden(sql, organisation.id, new Date(now));
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
