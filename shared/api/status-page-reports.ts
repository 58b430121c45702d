import {
  array,
  dateTime,
  grown,
  literal,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
} from './fields.ts';
import { moment, written } from './moment.ts';
import { exampleIds, nullableString, operation, page, pageQuery, patched } from './operation.ts';
import { postKinds } from './status-pages.ts';

/** What people report on a status page themselves, beside the incidents that checks confirm. */

/** How much a report affects a monitor of the page, from the least. */
export const impacts = ['degraded', 'partial_outage', 'major_outage'] as const;
/** The kinds of updates, in their usual order; an announcement needs no other. */
export const updateKinds = ['announcement', ...postKinds] as const;

const title = string({
  minLength: 1,
  meaning: 'What happens, in a few words.',
  limits: { maxLength: 200 },
  example: 'Slow checkout',
});

const text = string({
  minLength: 1,
  meaning: 'What visitors read.',
  limits: { maxLength: 2_000 },
  example: 'Payments take up to a minute. We are working on it.',
});

const kind = literal(updateKinds, { meaning: 'Which kind it is.', example: 'investigating' });

const Affected = object('StatusPageAffected', {
  monitor: uuid({ example: exampleIds.monitor }),
  impact: literal(impacts, {
    description: '`degraded`, `partial_outage` or `major_outage`.',
    example: 'degraded',
  }),
});

const affectedMore = {
  description: 'Monitors of the page. Without any, it is an announcement.',
  maxItems: 500,
};

const UpdateOut = object('StatusPageReportUpdateOut', {
  id: uuid({ example: exampleIds.post }),
  kind: string({
    description: '`announcement`, `investigating`, `identified`, `monitoring` or `resolved`.',
    example: 'investigating',
  }),
  text,
  written_by: nullableString('Who wrote it; the page does not show it.', {
    example: 'ada@harbour.example.com',
  }),
  written_at: dateTime({ meaning: 'When it was written.', example: '2026-11-18T04:06:40.000Z' }),
});

export const StatusPageReportOut = object('StatusPageReportOut', {
  id: uuid({ example: exampleIds.report }),
  title,
  started_at: dateTime({ meaning: 'When it started.', example: '2026-11-18T04:05:00.000Z' }),
  ends_at: nullable(dateTime(), {
    description: 'When it ended, or will end by itself; null when nobody has said so.',
    example: null,
  }),
  affected: array(Affected, affectedMore),
  cause: grown(
    nullable(uuid({ meaning: 'The cause it is about; null: about none.', example: null })),
    null,
  ),
  updates: array(UpdateOut, { description: 'Newest first.' }),
});

const ReportPage = page('StatusPageReportPage', StatusPageReportOut);

const startedAt = {
  ...written,
  description: 'In the past; now when not given.',
  example: '2026-11-18T04:05:00Z',
};

const ReportIn = object('StatusPageReportIn', {
  title,
  kind,
  text,
  affected: optional(array(Affected, affectedMore), []),
  started_at: maybe(moment(startedAt)),
  ends_at: maybe(
    moment({ ...written, description: 'When it ends by itself.', example: '2026-11-20T08:00:00Z' }),
  ),
  cause: maybe(uuid(), {
    description:
      'The cause it is about; a page has one report of each. Services stay as their checks find them, and `started_at` is that of their first outage when not given. Visitors do not see what the cause is.',
  }),
});

const ReportPatch = object(
  'StatusPageReportPatch',
  {
    title: maybe(title),
    affected: maybe(array(Affected, affectedMore)),
    started_at: maybe(
      moment({ ...written, description: 'In the past.', example: '2026-11-18T04:05:00Z' }),
    ),
    ends_at: maybe(
      moment({
        ...written,
        description: 'When it ends, or ended.',
        example: '2026-11-20T08:00:00Z',
      }),
    ),
  },
  patched,
);

const UpdateIn = object('StatusPageReportUpdateIn', {
  kind,
  text,
  affected: maybe(array(Affected, affectedMore), {
    description: 'What it affects from now on; unchanged when not given.',
  }),
});

const tag = 'Status page reports';
const pageId = { page_id: uuid() };
const reportId = { ...pageId, report_id: uuid() };
const path = '/api/v1/status-pages/{page_id}/reports';

export const listStatusPageReports = operation({
  id: 'listStatusPageReports',
  method: 'GET',
  path,
  tag,
  access: 'read',
  summary: 'List the reports of a status page',
  description:
    'Newest first, with their updates. Incidents that checks confirm are not among them.',
  params: pageId,
  query: pageQuery,
  response: ReportPage,
  refusals: ['status_page_not_found'],
});

export const createStatusPageReport = operation({
  id: 'createStatusPageReport',
  method: 'POST',
  path,
  tag,
  access: 'write',
  summary: 'Report an incident or an announcement on a status page',
  description:
    'It needs no incident that checks confirmed, and never counts into uptime: uptime is measured. Subscribers are notified.',
  params: pageId,
  body: ReportIn,
  response: StatusPageReportOut,
  success: 201,
  refusals: [
    'status_page_not_found',
    'status_page_monitor_not_found',
    'cause_not_found',
    'name_invalid',
    'post_invalid',
    'report_invalid',
  ],
});

export const getStatusPageReport = operation({
  id: 'getStatusPageReport',
  method: 'GET',
  path: `${path}/{report_id}`,
  tag,
  access: 'read',
  summary: 'Get a report of a status page',
  params: reportId,
  response: StatusPageReportOut,
  refusals: ['status_page_not_found', 'status_page_report_not_found'],
});

export const updateStatusPageReport = operation({
  id: 'updateStatusPageReport',
  method: 'PATCH',
  path: `${path}/{report_id}`,
  tag,
  access: 'write',
  summary: 'Change a report of a status page',
  description: 'Nobody is notified of that; post an update instead.',
  params: reportId,
  body: ReportPatch,
  response: StatusPageReportOut,
  refusals: [
    'status_page_not_found',
    'status_page_report_not_found',
    'status_page_monitor_not_found',
    'name_invalid',
    'report_invalid',
  ],
});

export const addStatusPageReportUpdate = operation({
  id: 'addStatusPageReportUpdate',
  method: 'POST',
  path: `${path}/{report_id}/updates`,
  tag,
  access: 'write',
  summary: 'Post an update to a report of a status page',
  description:
    'One that says `resolved` ends the report; one after its end opens it again. Subscribers are notified.',
  params: reportId,
  body: UpdateIn,
  response: StatusPageReportOut,
  success: 201,
  refusals: [
    'status_page_not_found',
    'status_page_report_not_found',
    'status_page_monitor_not_found',
    'post_invalid',
    'report_invalid',
  ],
});

export const deleteStatusPageReport = operation({
  id: 'deleteStatusPageReport',
  method: 'DELETE',
  path: `${path}/{report_id}`,
  tag,
  access: 'write',
  summary: 'Delete a report of a status page',
  description: 'With its updates. What was sent to subscribers stays with them.',
  params: reportId,
  refusals: ['status_page_not_found', 'status_page_report_not_found'],
});
