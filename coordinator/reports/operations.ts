import type { Moment } from '../../shared/api/moment.ts';
import * as api from '../../shared/api/reports.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { isoText } from '../../shared/base/time.ts';
import { hostOf } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound } from '../gate/context.ts';
import { epochOf } from '../maintenance/zones.ts';
import { openShare, removeShare, reportShares, writeShare } from '../shares/links.ts';
import * as contract from './contract.ts';
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
  const all = { ...rest, from: text(from), to: text(to) };
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
    const { organisation: id, time_zone } = share;
    try {
      return await reportOf({ sql, results, organisation: { id, time_zone }, now }, asked.value);
    } catch (error) {
      // What it is of was deleted.
      if (error instanceof Refusal && error.kind === 'not_found') throw gone;
      throw error;
    }
  },
});
