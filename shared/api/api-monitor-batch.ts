import { isRecord } from '../base/json-record.ts';
import { array, boolean, integer, literal, nullable, object, optional, string, uuid, valueFault } from './api-fields.ts';
import { MonitorIn } from './api-monitors.ts';
import { operation } from './api-operation.ts';

export const mostInBatch = 500;
/** Many small calls would cost us more than one large one, but not nothing. */
const monitorsForACall = 10;

const BatchResultOut = object('MonitorBatchResultOut', {
  result: string({
    description:
      '`created`, `changed` (its `external_id` was known), `refused`, or `left`: nothing was wrong with it, but all were wanted or none.',
  }),
  id: nullable(uuid(), { description: 'Of the monitor, where it was created or changed.' }),
  name: nullable(string()),
  external_id: nullable(string()),
  error: nullable(object('MonitorBatchErrorOut', { code: string(), message: string() }), { description: 'Why it was refused.' }),
});

export const batchMonitors = operation({
  id: 'batchMonitors',
  method: 'POST',
  path: '/api/v1/monitors/batch',
  tag: 'Monitor batches',
  access: 'write',
  summary: 'Create or change up to 500 monitors',
  description:
    'Each item is what createMonitor takes: one whose `external_id` a monitor has changes that one. The results stand in the order of the items. With `mode` `all` one refusal leaves everything as it was and `applied` is false; with `each` the others are done. The body may be up to 2 MiB. Ten monitors, begun, count as one call.',
  body: object(
    'MonitorBatchIn',
    {
      items: array(MonitorIn, { minItems: 1, maxItems: mostInBatch }),
      mode: optional(literal(['all', 'each']), 'all'),
    },
    {},
    ({ items }, place) =>
      items.length > 0 && items.length <= mostInBatch
        ? undefined
        : valueFault([...place, 'items'], `send between one and ${mostInBatch} monitors`, items.length),
  ),
  response: object('MonitorBatchOut', {
    applied: boolean({ description: 'False when nothing was done because one was refused.' }),
    created: integer(),
    changed: integer(),
    refused: integer(),
    items: array(BatchResultOut),
  }),
  success: 200,
  takesMuch: true,
  calls: (body) => Math.ceil((isRecord(body) && Array.isArray(body.items) ? body.items.length : 1) / monitorsForACall),
});
