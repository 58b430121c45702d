import { tokenOverlapMs } from '../../checks/heartbeat/config.ts';
import { array, dateTime, integer, nullable, object, optional, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** The address of a heartbeat monitor, and what came to it. */

export const getBeatAddress = innerOperation({
  id: 'getBeatAddress',
  access: 'read',
  summary: 'Tell the address that a heartbeat monitor is pinged at',
  params: { monitor_id: uuid() },
  response: object('BeatAddressOut', { id: uuid(), address: string() }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const PingOut = object('BeatOut', {
  id: uuid(),
  kind: string({ description: '`success`, `start`, `fail` or `log`.' }),
  at: dateTime(),
  exit_code: nullable(integer()),
  rid: nullable(uuid()),
  run_ms: nullable(integer(), { description: 'How long the run took that it ended.' }),
  method: string(),
  body: string(),
  taken_by: string({ description: 'The probe whose ear took it, or `coordinator`.' }),
});

export const listBeats = innerOperation({
  id: 'listBeats',
  access: 'read',
  summary: 'List the last beats of a heartbeat monitor, newest first',
  params: { monitor_id: uuid() },
  response: object('BeatListOut', { items: array(PingOut) }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const longestOverlap_s = tokenOverlapMs / 1_000;

export const rotateBeatAddress = innerOperation({
  id: 'rotateBeatAddress',
  access: 'write',
  summary: 'Give a heartbeat monitor a new address; the old one goes on working for a day, or for less',
  description: 'Older addresses go on working for `overlap_s` at most; 0 ends them at once, as one that has leaked.',
  params: { monitor_id: uuid() },
  body: object('RotateBeatAddressIn', { overlap_s: optional(integer({ ge: 0, le: longestOverlap_s }), longestOverlap_s) }),
  response: object('RotatedBeatAddressOut', { id: uuid(), address: string(), old_until: dateTime() }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});
