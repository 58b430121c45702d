import { isDeepStrictEqual } from 'node:util';
import type { Moment } from '../../shared/api/moment.ts';
import * as api from '../../shared/api/reports.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { isoText } from '../../shared/base/time.ts';
import { hostOf } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { type ByAnonymous, type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { deadLink } from '../gate/roles.ts';
import { epochOf } from '../maintenance/zones.ts';
import { subscriberOf } from '../notifications/links.ts';
import { ownMailbox } from '../notifications/queries.ts';
import { openShare, removeShare, reportShares, writeShare } from '../shares/links.ts';
import * as contract from './contract.ts';
import {
  type ReportMailRow,
  removeReportMail,
  reportMailOf,
  reportMails,
  writeReportMail,
} from './mail-queries.ts';
import { mailDue } from './period.ts';
import { type ReportInput, type ReportOf, reportOf } from './sheet.ts';

export const getUptimeReport = handle(api.getUptimeReport)((context, input) =>
  reportOf(inContext(context), input),
);

function inContext({ sql, organisation, now, with: { results } }: InOrganisation): ReportOf {
  return { sql, results, organisation, now };
}

const maxShares = 100;
const dayMs = 86_400_000;

/** The link holds the only copy of its secret. */
export const shareReport = handle(api.shareReport)(async (context, { days, ...asked }) => {
  const {
    sql,
    organisation,
    caller,
    now,
    with: { baseUrl },
  } = context;
  const { title, time_zone } = await reportOf(inContext(context), asked);
  if ((await reportShares(sql, organisation.id, now)).length >= maxShares)
    throw new Refusal('share_limit', `There are ${maxShares} links to reports; revoke one first.`);
  const { id, secret } = await writeShare(sql, {
    organisation: organisation.id,
    report: { title, asked: keptFrom(asked, time_zone) },
    user: caller.user,
    at: now,
    expires_at: days === null ? null : now + days * dayMs,
  });
  return { id, link: `${baseUrl()}/shared/reports/${secret}` };
});

/** As the operation reads it again: moments as texts, and nothing that is not asked. */
function keptFrom({ from, to, ...rest }: ReportInput, zone: string): object {
  const text = (moment: Moment | null) => (moment === null ? null : isoText(epochOf(moment, zone)));
  return withoutNulls({ ...rest, from: text(from), to: text(to) });
}

function withoutNulls(all: object): object {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
}

export const listReportShares = handle(api.listReportShares)(
  async ({ sql, organisation, now }) => ({
    items: (await reportShares(sql, organisation.id, now)).map(({ report, ...row }) => ({
      ...row,
      period: isRecord(report) && typeof report.period === 'string' ? report.period : null,
    })),
    next_cursor: null,
  }),
);

export const withdrawReportShare = handle(api.withdrawReportShare)(
  async ({ sql, organisation }, { share_id: report }) => {
    if (!(await removeShare(sql, organisation.id, { report }))) throw notFound('share_not_found');
  },
);

/** From one host within a quarter of an hour: the report of a year takes a second. */
const maxLooks = 120;

export const showSharedReport = handle(contract.showSharedReport)({
  before: ({ visitor, with: { attempts } }) =>
    attempts.count([{ what: `shared reports from ${hostOf(visitor.address)}`, most: maxLooks }]),
  act: async ({ sql, now, with: { results } }, { secret }) => {
    const share = await openShare(sql, secret, now);
    const gone = new Refusal('link_invalid', 'This link was revoked, or has ended.');
    const asked = api.getUptimeReport.parse({ query: isRecord(share?.report) ? share.report : {} });
    if (!isRecord(share?.report) || !asked.ok) throw gone;
    const { organisation: id, name, time_zone } = share;
    try {
      const of = { sql, results, organisation: { id, time_zone }, now };
      return { organisation: name, report: await reportOf(of, asked.value) };
    } catch (error) {
      // What it is of was deleted.
      if (error instanceof Refusal && error.kind === 'not_found') throw gone;
      throw error;
    }
  },
});

const maxMails = 20;

/** Consent is of the one who asks, for the mailbox that is proven to be theirs. */
export const mailReport = handle(api.mailReport)(async (context, { every, ...asked }) => {
  const { sql, organisation, caller, now, note } = context;
  const period = { period: `last-${every}`, from: null, to: null, time_zone: null };
  const { title } = await reportOf(inContext(context), { ...asked, ...period });
  const own = caller.user === null ? undefined : await ownMailbox(sql, caller.user);
  if (caller.user === null || own?.verified !== true)
    throw new Refusal(
      'report_mail_invalid',
      'Confirm the e-mail address of your account in your profile first.',
    );
  if (!context.with.door.mail)
    throw new Refusal('mail_missing', 'Mail is not set up on this installation.');
  const report = withoutNulls(asked);
  const before = await reportMails(sql, organisation.id, caller.user);
  const known = before.find((row) => isDeepStrictEqual(row.report, report));
  if (known === undefined && before.length >= maxMails)
    throw new Refusal(
      'report_mail_limit',
      `${maxMails} reports are mailed to you; end one of them first.`,
    );
  const next_at = mailDue(every, organisation.time_zone, now);
  const row = { id: known?.id ?? newId(), every, report, title, next_at };
  await writeReportMail(sql, organisation.id, { ...row, user: caller.user, at: now });
  note({ after: { name: title, every } });
  return mailJson(row);
});

function mailJson({ id, title, every, next_at, report }: ReportMailRow) {
  const read = api.getUptimeReport.parse({ query: isRecord(report) ? report : {} });
  if (!read.ok) throw new TypeError(`the report of mail ${id} cannot be read`);
  const { period: _, from: __, to: ___, time_zone: ____, ...asked } = read.value;
  return { id, title, every, next_at, ...asked };
}

export const listReportMails = handle(api.listReportMails)(
  async ({ sql, organisation, caller }) => ({
    items: (await reportMails(sql, organisation.id, caller.user)).map(mailJson),
    next_cursor: null,
  }),
);

export const endReportMail = handle(api.endReportMail)(
  async ({ sql, organisation, caller, note }, { mail_id: id }) => {
    const of = { organisation: organisation.id, user: caller.user, id };
    const name = orNotFound(await removeReportMail(sql, of), 'report_mail_not_found');
    note({ before: { name } });
  },
);

/** @throws Refusal where we did not sign the link. */
async function linkedMail({ sql, with: { accountSecrets } }: ByAnonymous, secret: string) {
  const id = await subscriberOf(accountSecrets, secret, 'report leaving');
  if (id === undefined) throw deadLink();
  const of = await reportMailOf(sql, id);
  return of && { ...of, id };
}

export const showReportMail = handle(contract.showReportMail)(async (context, { secret }) => ({
  title: (await linkedMail(context, secret))?.title ?? null,
}));

export const leaveReportMail = handle(contract.leaveReportMail)(async (context, { secret }) => {
  const of = await linkedMail(context, secret);
  if (!of) return { title: null };
  const { user, organisation, title } = of;
  await removeReportMail(context.sql, of);
  context.note({ user, organisation, before: { name: title } });
  return { title };
});
