import {
  array,
  boolean,
  dateTime,
  dict,
  grown,
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
import { daysBounds } from './monitors.ts';
import { nullableString, operation, page, pageQuery } from './operation.ts';

const ProbeRef = object('ProbeRef', { name: string(), continent: string() });

export const IncidentOut = object('IncidentOut', {
  id: uuid(),
  monitor: uuid(),
  monitor_name: string(),
  cause: nullableString('One plain sentence of our own; never text that the target sent.'),
  started_at: dateTime(),
  confirmed_at: nullable(dateTime()),
  resolved_at: nullable(dateTime()),
  open: boolean(),
  seen_from: nullable(ProbeRef, { description: 'The probe that first saw the outage.' }),
  confirmed_from: nullable(ProbeRef, { description: 'The probe that confirmed it, from another continent.' }),
  note: nullable(string()),
  scope: maybe(string(), {
    description: 'How far it is seen: `everywhere`, `some_continents` or `one_continent`; null while that is not known.',
  }),
  layer: maybe(string(), {
    description: 'How deep the cause lies: `dns`, `tcp`, `tls`, `http`, `assertion`, `timeout`, `heartbeat` or `probe`.',
  }),
  acknowledged_at: maybe(dateTime()),
  acknowledged_by: maybe(string(), {
    description:
      'Who acknowledged it, as messages and the event feed say it: a member, or the channel whose link was followed; null when nobody has.',
  }),
  duration_s: grown(number({ description: 'Seconds from `started_at` to `resolved_at`, or to now while it is open.' }), 0),
});

const IncidentPage = page('IncidentPage', IncidentOut);

export const listIncidents = operation({
  id: 'listIncidents',
  method: 'GET',
  path: '/api/v1/incidents',
  tag: 'Incidents',
  access: 'read',
  summary: 'List incidents',
  description: 'Newest first. An open incident is listed whatever `days` says.',
  query: {
    state: optional(literal(['all', 'open', 'resolved']), 'all'),
    monitor: maybe(uuid(), { description: 'Only incidents of this monitor.' }),
    days: optional(integer(daysBounds, { description: 'How many days the list looks back.' }), 30),
    ...pageQuery,
  },
  response: IncidentPage,
  success: 200,
  refusals: ['monitor_not_found'],
});

export const getIncident = operation({
  id: 'getIncident',
  method: 'GET',
  path: '/api/v1/incidents/{incident_id}',
  tag: 'Incidents',
  access: 'read',
  summary: 'Get an incident',
  params: { incident_id: uuid() },
  response: IncidentOut,
  success: 200,
  refusals: ['incident_not_found'],
});

export const acknowledgeIncident = operation({
  id: 'acknowledgeIncident',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/acknowledge',
  tag: 'Channels',
  access: 'write',
  summary: 'Acknowledge an incident',
  description: 'Ends reminders and later channels, and is told to whoever was told of the outage. Asking again changes nothing.',
  params: { incident_id: uuid() },
  response: object('AcknowledgementOut', { incident: uuid(), acknowledged_at: dateTime(), acknowledged_by: string() }),
  success: 200,
  refusals: ['incident_not_found', 'incident_over'],
});

/** An incident with its evidence, which came from the target and is for members only. */

const EvidenceOut = object('EvidenceOut', {
  part: string({ description: '`seen`, `confirmed` or `matrix`.' }),
  continent: nullable(string(), { description: 'null: a job said so itself.' }),
  probe: string({ description: 'Who saw it, or took what a job said.' }),
  at: dateTime(),
  outcome: string(),
  took_ms: number(),
  cause: nullable(string()),
  cause_class: nullable(string()),
  phases: nullable(dict()),
  evidence: nullable(dict()),
});

const SampleOut = object('SampleOut', {
  at: dateTime(),
  continent: string(),
  probe: string(),
  outcome: string(),
  took_ms: number(),
  cause_class: nullable(string()),
});

const ToldOut = object('ToldOut', {
  event: string({ description: '`down`, `up` or `closed`.' }),
  channel: string(),
  state: string({ description: '`held`, `due`, `sent` or `dropped`.' }),
  due_at: nullable(dateTime()),
  settled_at: nullable(dateTime()),
});

export const getIncidentEvidence = operation({
  id: 'getIncidentEvidence',
  method: 'GET',
  path: '/api/v1/incidents/{incident_id}/evidence',
  tag: 'Incident evidence',
  access: 'read',
  summary: 'Get an incident with its evidence',
  description:
    'What the failing checks themselves saw, what every continent saw while it lasted, who was told, the notes of members, and what it did to the uptime. Parts of it came from the target: show them as text, never as markup.',
  params: { incident_id: uuid() },
  response: object('IncidentEvidenceOut', {
    ...IncidentOut.shape,
    checks: array(EvidenceOut),
    samples: array(SampleOut),
    samples_complete: boolean({ description: 'False when every so many of the samples in the middle stand for all of them.' }),
    told: array(ToldOut),
    notes: array(object('NoteOut', { id: uuid(), by: nullable(string()), at: dateTime(), text: string() })),
    share: nullable(object('ShareOut', { by: nullable(string()), at: dateTime() }), {
      description: 'The link that shows it to others, while there is one.',
    }),
    effect: object('EffectOut', {
      days: number(),
      down_seconds: number({ description: 'What this incident alone counts as down in so many days.' }),
      percent: nullable(number()),
      percent_without: nullable(number()),
    }),
  }),
  success: 200,
  refusals: ['incident_not_found'],
});
