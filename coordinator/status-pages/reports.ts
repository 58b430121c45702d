import type { Moment } from '../../shared/api/moment.ts';
import * as api from '../../shared/api/status-page-reports.ts';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { isoText } from '../../shared/base/time.ts';
import { handle } from '../gate/bind.ts';
import { type InOrganisation, notFound, orNotFound } from '../gate/context.ts';
import { afterAll, pageOf } from '../gate/cursors.ts';
import { epochOf } from '../maintenance/zones.ts';
import { causeOnPage } from './cause-queries.ts';
import { endAfterUpdate, postTextFrom, refuseReportTimes } from './model.ts';
import { requirePage } from './queries.ts';
import {
  type Affected,
  deleteReport,
  insertReport,
  insertUpdate,
  type ReportRow,
  reportById,
  reportPage,
  writeAffected,
  writeReport,
} from './report-queries.ts';

/**
 * Reports: incidents and announcements that people write on a status page themselves. They change
 * what visitors read and never what was measured.
 */

const maxUpdates = 100;

export const listStatusPageReports = handle(api.listStatusPageReports)(async (context, input) => {
  const {
    sql,
    with: { cursors },
  } = context;
  const of = await pageOfReport(context, input.page_id);
  return pageOf(
    cursors,
    ['reports', of.organisation, of.page],
    input,
    (from, limit) => reportPage(sql, of, from ?? afterAll, limit),
    (row) => row,
  );
});

type OfPage = { readonly organisation: string; readonly page: string };

async function pageOfReport({ sql, organisation }: InOrganisation, page: string): Promise<OfPage> {
  await requirePage(sql, organisation.id, page);
  return { organisation: organisation.id, page };
}

export const createStatusPageReport = handle(api.createStatusPageReport)(async (context, input) => {
  const { sql, caller, now } = context;
  const of = await pageOfReport(context, input.page_id);
  const about =
    input.cause === null
      ? undefined
      : orNotFound(
          await causeOnPage(sql, of.organisation, of.page, input.cause),
          'cause_not_found',
        );
  const row = {
    id: newId(),
    title: nameFrom(input.title, 'title'),
    started_at: epochFrom(input.started_at, context) ?? about?.started_at ?? now,
    cause: input.cause,
    // A report of something that is over ends with its only update.
    ends_at: epochFrom(input.ends_at, context) ?? (input.kind === 'resolved' ? now : null),
  };
  refuseReportTimes(row, now);
  const text = postTextFrom(input.text);
  await insertReport(sql, of, row);
  await affect(context, of.page, row.id, input.affected);
  await insertUpdate(sql, row.id, {
    id: newId(),
    kind: input.kind,
    text,
    user: caller.user,
    at: now,
  });
  return reportFrom(context, of, row.id);
});

function epochFrom(
  moment: Moment | null,
  { organisation: { time_zone } }: InOrganisation,
): number | null {
  return moment === null ? null : epochOf(moment, time_zone);
}

/** A monitor that is named twice has the last impact. */
async function affect(
  { sql }: InOrganisation,
  page: string,
  report: string,
  given: readonly Affected[],
): Promise<void> {
  const affected = [...new Map(given.map((each) => [each.monitor, each])).values()];
  if ((await writeAffected(sql, page, report, affected)) < affected.length)
    throw notFound('status_page_monitor_not_found');
}

async function reportFrom({ sql }: InOrganisation, of: OfPage, id: string): Promise<ReportRow> {
  return orNotFound(await reportById(sql, of, id), 'status_page_report_not_found');
}

export const getStatusPageReport = handle(api.getStatusPageReport)(
  async (context, { page_id, report_id }) =>
    reportFrom(context, await pageOfReport(context, page_id), report_id),
);

export const updateStatusPageReport = handle(api.updateStatusPageReport)(async (context, input) => {
  const { sql, now, note } = context;
  const of = await pageOfReport(context, input.page_id);
  const before = await reportFrom(context, of, input.report_id);
  const row = {
    id: before.id,
    title: input.title === null ? before.title : nameFrom(input.title, 'title'),
    started_at: epochFrom(input.started_at, context) ?? before.started_at,
    ends_at: epochFrom(input.ends_at, context) ?? before.ends_at,
  };
  refuseReportTimes(row, now);
  await writeReport(sql, of.organisation, row);
  if (input.affected !== null) await affect(context, of.page, row.id, input.affected);
  const after = await reportFrom(context, of, row.id);
  const noted = ({ key: _key, updates: _updates, ...rest }: ReportRow) => ({
    ...rest,
    started_at: isoText(rest.started_at),
    ends_at: isoText(rest.ends_at),
  });
  note({ before: noted(before), after: noted(after) });
  return after;
});

export const addStatusPageReportUpdate = handle(api.addStatusPageReportUpdate)(
  async (context, { page_id, report_id, kind, text, affected }) => {
    const { sql, caller, now } = context;
    const of = await pageOfReport(context, page_id);
    const report = await reportFrom(context, of, report_id);
    if (report.updates.length >= maxUpdates)
      throw new Refusal(
        'report_invalid',
        `A report has at most ${maxUpdates} updates; write another report.`,
      );
    const said = postTextFrom(text);
    await writeReport(sql, of.organisation, {
      ...report,
      ends_at: endAfterUpdate(report.ends_at, kind, now),
    });
    if (affected !== null) await affect(context, of.page, report.id, affected);
    await insertUpdate(sql, report.id, {
      id: newId(),
      kind,
      text: said,
      user: caller.user,
      at: now,
    });
    return reportFrom(context, of, report.id);
  },
);

export const deleteStatusPageReport = handle(api.deleteStatusPageReport)(
  async (context, { page_id, report_id }) => {
    const of = await pageOfReport(context, page_id);
    const { title } = await reportFrom(context, of, report_id);
    await deleteReport(context.sql, of, report_id);
    context.note({ before: { title } });
  },
);
