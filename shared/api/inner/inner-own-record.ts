import { boolean, object, optional, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

export const sayOutageFalse = innerOperation({
  id: 'sayOutageFalse',
  access: 'manage',
  summary: 'Say of a confirmed outage that there was none, or take that back; the page about the house counts it',
  params: { incident_id: uuid() },
  body: object('SayOutageFalseIn', { is_false: optional(boolean(), true) }),
  response: object('SaidOutageFalseOut', { incident: uuid(), monitor: string(), is_false: boolean() }),
  refusals: ['incident_not_found'],
});
