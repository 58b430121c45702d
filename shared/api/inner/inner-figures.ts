import { array, boolean, integer, nullable, number, object, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** What an organisation's own monitoring reads of its monitors. */

const MonitorFigureOut = object('MonitorFigureOut', {
  id: uuid(),
  name: string(),
  type: string(),
  status: string({ description: '`up`, `down`, `verifying`, `pending` or `paused`.' }),
  /** Not confirmed is up; null where nothing is known or nobody looks. */
  is_up: nullable(boolean()),
  response_ms: nullable(number(), { description: 'Of the newest check, if that passed; null for heartbeats.' }),
});

export const listMonitorFigures = innerOperation({
  id: 'listMonitorFigures',
  access: 'read',
  summary: 'List the state and the response of all monitors, as many as the plan lets the organisation have',
  response: object('MonitorFiguresOut', { items: array(MonitorFigureOut), left_out: integer() }),
});
