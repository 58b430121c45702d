import {
  array,
  boolean,
  dateTime,
  integer,
  literal,
  maybe,
  nullable,
  number,
  object,
  optional,
  string,
  uuid,
} from './fields.ts';
import { moment, written } from './moment.ts';
import { UptimeOut } from './monitors.ts';
import { exampleIds, operation, page } from './operation.ts';

const { percent, down_seconds, up_seconds, maintenance_seconds, unknown_seconds, paused_seconds } =
  UptimeOut.shape;
const ms = (share: string, example: number) =>
  number({ meaning: `What ${share} of the passing checks did not exceed.`, example });

const sums = {
  percent,
  up_seconds,
  down_seconds,
  maintenance_seconds,
  unknown_seconds,
  paused_seconds,
  counted_up_seconds: number({
    description: 'What `percent` counts as up, by `maintenance` and `unknown`.',
    example: 1_560_085.8,
  }),
  counted_down_seconds: number({ meaning: 'What it counts as down.', example: 514.2 }),
  kept: nullable(boolean({ example: true }), {
    description: 'Whether the promise was kept so far; null without one, and where nothing counts.',
  }),
  budget_left_seconds: nullable(number({ example: 1_045.8 }), {
    description:
      'How much more may be down for the promise to be kept; negative where it is missed.',
  }),
  incidents: integer({}, { meaning: 'How many confirmed incidents are in it.', example: 2 }),
  response: nullable(
    object('ReportResponseOut', {
      p50_ms: ms('half', 182),
      p95_ms: ms('95 %', 341.5),
      p99_ms: ms('99 %', 612),
    }),
    {
      description:
        'Of days that are over; where monitors times days are more than 40,000, of months of UTC that are over and whose 15th begins in the period. Null where none has a passing check.',
    },
  ),
};

const maintenance = literal(['apart', 'counts'], {
  description:
    '`apart`: time in maintenance is neither up nor down. `counts`: it is what the checks say, as if no window had been.',
  example: 'apart',
});
const unknown = literal(['apart', 'up', 'down'], {
  description:
    'Time of which nothing is known: `apart` is neither up nor down, `up` counts for you, and `down` for your customer.',
  example: 'apart',
});
const name = string({ example: 'Shop' });

export const UptimeReportOut = object('UptimeReportOut', {
  title: string({ meaning: 'What it is of.', example: 'All monitors' }),
  period: nullable(string({ meaning: 'The period by name.', example: '2026-10' })),
  from: dateTime({ meaning: 'Where it begins.', example: '2026-09-30T22:00:00.000Z' }),
  to: dateTime({
    meaning: 'Where it ends; of a period that is not over, now.',
    example: '2026-10-31T23:00:00.000Z',
  }),
  time_zone: string({ meaning: 'By whose clock.', example: 'Europe/Berlin' }),
  maintenance,
  unknown,
  promised: nullable(number({ meaning: 'The promise, in percent.', example: 99.9 })),
  total: object('ReportTotalOut', sums, { description: 'All monitors together.' }),
  monitors: array(
    object('ReportMonitorOut', { monitor: uuid({ example: exampleIds.monitor }), name, ...sums }),
    { meaning: 'Each monitor, by name.' },
  ),
  worst: array(uuid({ example: exampleIds.monitor }), {
    description: 'Up to ten monitors with the most time that counts as down, worst first.',
  }),
  incidents: array(
    object('ReportIncidentOut', {
      incident: uuid({ example: exampleIds.incident }),
      monitor: uuid({ example: exampleIds.monitor }),
      name,
      cause: nullable(string({ example: 'Connection refused' })),
      started_at: dateTime({ meaning: 'When it began.', example: '2026-10-18T04:03:35.000Z' }),
      resolved_at: nullable(
        dateTime({
          meaning: 'When it was over; null while it lasts.',
          example: '2026-10-18T04:12:09.000Z',
        }),
      ),
      down_seconds: number({
        description: 'Its part of `counted_down_seconds`.',
        example: 514,
      }),
    }),
    { meaning: 'Confirmed incidents that touch the period, newest first.' },
  ),
  left_out: integer(
    {},
    { description: 'How many older incidents are not listed; the sums count them.', example: 0 },
  ),
});

const only = (what: string) => maybe(uuid(), { description: `Only ${what}.` });

/** What a report is of, and what counts. */
const mailedQuery = {
  monitor: maybe(string({ minLength: 1 }), {
    description: 'Only this monitor, or these: up to 100 ids, with commas between.',
    limits: { maxLength: 3_699 },
    example: exampleIds.monitor,
  }),
  group: only('monitors of this group'),
  tag: maybe(string({ minLength: 1 }), {
    description: 'Only monitors with this tag.',
    limits: { maxLength: 50 },
  }),
  status_page: only('monitors on this status page, by their names there'),
  maintenance: optional(maintenance, 'apart'),
  unknown: optional(unknown, 'apart'),
  promised: maybe(number(), {
    description: 'The uptime that was promised, in percent, such as 99.9: was it kept?',
    limits: { minimum: 0, maximum: 100 },
    example: 99.9,
  }),
};

export const reportQuery = {
  period: maybe(string({ minLength: 1 }), {
    description:
      'A year (`2026`), quarter (`2026-Q3`), month (`2026-10`) or ISO week (`2026-W44`), or `this-` or `last-` with `week`, `month`, `quarter` or `year`. Without it and `from`, the last month.',
    limits: { maxLength: 12 },
    example: '2026-10',
  }),
  from: maybe(moment(written), {
    description: 'Instead of `period`; without an offset, local time.',
  }),
  to: maybe(moment(written), {
    description: 'The end of `from`; not given, now. At most 366 days.',
  }),
  time_zone: maybe(string({ minLength: 1 }), {
    description: 'By whose clock periods begin; not given, that of the organisation.',
    limits: { maxLength: 100 },
    example: 'Europe/Berlin',
  }),
  ...mailedQuery,
};

const refusals = [
  'period_invalid',
  'promise_invalid',
  'time_zone_invalid',
  'report_too_large',
  'monitor_not_found',
  'group_not_found',
  'status_page_not_found',
] as const;

export const getUptimeReport = operation({
  id: 'getUptimeReport',
  method: 'GET',
  path: '/api/v1/reports/uptime',
  tag: 'Reports',
  access: 'read',
  summary: 'Get a report of uptime, incidents and response times',
  description: 'Its sums are those of the ledger, to the millisecond. Up to 1,000 monitors.',
  query: reportQuery,
  response: UptimeReportOut,
  refusals,
  csv: 'monitors',
});

const path = '/api/v1/reports/shares';

export const shareReport = operation({
  id: 'shareReport',
  method: 'POST',
  path,
  tag: 'Reports',
  access: 'write',
  summary: 'Create a link that shows a report to anyone who has it',
  description:
    'It is answered anew each time: `last-month` is then the month before. Names, sums and causes are shown, and no targets.',
  body: object('ReportShareIn', {
    ...reportQuery,
    days: maybe(integer({ ge: 1, le: 3_650 }), {
      description: 'After how many days it ends; not given, when it is revoked.',
      example: 90,
    }),
  }),
  response: object('ReportShareLinkOut', {
    id: uuid({ example: exampleIds.share }),
    link: string({
      description: 'Shown once.',
      example: 'https://antipode.example.com/shared/reports/9yQm0000000000000000000000',
    }),
  }),
  success: 201,
  refusals: [...refusals, 'share_limit'],
});

export const listReportShares = operation({
  id: 'listReportShares',
  method: 'GET',
  path,
  tag: 'Reports',
  access: 'read',
  summary: 'List links that show reports',
  description:
    'Newest first, without those that have ended. There are at most 100, all on one page.',
  response: page(
    'ReportSharesOut',
    object('ReportShareOut', {
      id: uuid({ example: exampleIds.share }),
      title: string({ meaning: 'What it is of.', example: 'All monitors' }),
      period: nullable(string({ meaning: 'The period, where it has a name.', example: '2026-10' })),
      by: nullable(string({ meaning: 'Who made it.', example: 'ada@harbour.example.com' })),
      at: dateTime({ meaning: 'When it was made.', example: '2026-11-02T09:00:00.000Z' }),
      expires_at: nullable(
        dateTime({ meaning: 'When it ends.', example: '2027-01-31T09:00:00.000Z' }),
      ),
    }),
  ),
});

export const withdrawReportShare = operation({
  id: 'withdrawReportShare',
  method: 'DELETE',
  path: `${path}/{share_id}`,
  tag: 'Reports',
  access: 'write',
  summary: 'Revoke a link that shows a report',
  params: { share_id: uuid() },
  refusals: ['share_not_found'],
});

const mails = '/api/v1/reports/mails';
const every = literal(['week', 'month'], {
  description:
    '`week`: each Monday, of the week before. `month`: on each first, of the month before.',
  example: 'week',
});
const asked = (what: string) =>
  nullable(string({ example: null }), { description: `Only ${what}.` });

const ReportMailOut = object('ReportMailOut', {
  id: uuid({ example: exampleIds.share }),
  title: string({ meaning: 'What it is of.', example: 'All monitors' }),
  every,
  next_at: dateTime({
    description: 'When the next goes out: at 8:00 by the clock of the organisation.',
    example: '2026-12-07T07:00:00.000Z',
  }),
  monitor: asked('this monitor, or these'),
  group: asked('monitors of this group'),
  tag: asked('monitors with this tag'),
  status_page: asked('monitors on this status page'),
  maintenance,
  unknown,
  promised: nullable(number({ meaning: 'The promise, in percent.', example: 99.9 })),
});

export const mailReport = operation({
  id: 'mailReport',
  method: 'POST',
  path: mails,
  tag: 'Reports',
  access: 'self',
  summary: 'Have a report mailed to yourself each week or month',
  description:
    'To the address of your account, until you end it here or by the link in each mail. The same report asked for again only changes how often it is mailed. Up to 20.',
  body: object('ReportMailIn', { every, ...mailedQuery }),
  response: ReportMailOut,
  success: 201,
  refusals: [
    ...refusals.filter((code) => code !== 'period_invalid' && code !== 'time_zone_invalid'),
    'report_mail_invalid',
    'report_mail_limit',
    'mail_missing',
  ],
});

export const listReportMails = operation({
  id: 'listReportMails',
  method: 'GET',
  path: mails,
  tag: 'Reports',
  access: 'read',
  summary: 'List reports that are mailed to yourself',
  description: 'Oldest first, all on one page.',
  response: page('ReportMailsOut', ReportMailOut),
  columns: ['title', 'every', 'next_at', 'id'],
});

export const endReportMail = operation({
  id: 'endReportMail',
  method: 'DELETE',
  path: `${mails}/{mail_id}`,
  tag: 'Reports',
  access: 'self',
  summary: 'End the mails of a report to yourself',
  params: { mail_id: uuid() },
  refusals: ['report_mail_not_found'],
});
