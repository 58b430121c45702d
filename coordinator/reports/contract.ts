import { nullable, object, string } from '../../shared/api/fields.ts';
import { anonymousOperation } from '../../shared/api/operation.ts';
import { UptimeReportOut } from '../../shared/api/reports.ts';

/** Operations that only pages call. */

export const showSharedReport = anonymousOperation({
  id: 'showSharedReport',
  access: 'read',
  does: 'looks',
  summary: 'Show the report of a link',
  body: object('SharedReportIn', { secret: string() }),
  response: object('SharedReportOut', { organisation: string(), report: UptimeReportOut }),
  refusals: ['link_invalid'],
});

const secret = object('ReportMailLinkIn', { secret: string() });
/** Null where the mails have ended. */
const ReportMailShownOut = object('ReportMailShownOut', { title: nullable(string()) });

export const showReportMail = anonymousOperation({
  id: 'showReportMail',
  access: 'read',
  does: 'looks',
  summary: 'Show which mails a link would end',
  body: secret,
  response: ReportMailShownOut,
  refusals: ['link_invalid'],
});

export const leaveReportMail = anonymousOperation({
  id: 'leaveReportMail',
  access: 'read',
  summary: 'End the mails of a report by the link in one',
  body: secret,
  response: ReportMailShownOut,
  refusals: ['link_invalid'],
});
