import { object, string } from '../../shared/api/fields.ts';
import { anonymousOperation } from '../../shared/api/operation.ts';
import { UptimeReportOut } from '../../shared/api/reports.ts';

/** Operations that only pages call. */

export const showSharedReport = anonymousOperation({
  id: 'showSharedReport',
  access: 'read',
  does: 'looks',
  summary: 'Show the report of a link',
  body: object('SharedReportIn', { secret: string() }),
  response: UptimeReportOut,
  refusals: ['link_invalid'],
});
