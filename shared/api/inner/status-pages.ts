import { object, string } from '../fields.ts';
import { innerOperation } from '../operation.ts';
import { StatusPageSummaryOut } from '../status-pages.ts';

/** Pages are made where their audience is chosen; the API only fills them. */

export const createStatusPage = innerOperation({
  id: 'createStatusPage',
  access: 'write',
  summary: 'Create a status page',
  body: object('StatusPageIn', { name: string(), slug: string() }),
  response: StatusPageSummaryOut,
  refusals: ['name_invalid', 'slug_invalid', 'slug_taken', 'plan_limit_status_pages'],
});
