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
import { exampleIds, nullableString, operation, page, pageQuery } from './operation.ts';
import { sides } from './sides.ts';

const ProbeRef = object('ProbeRef', {
  name: string({ example: 'fra-1' }),
  continent: string({ example: 'Europe' }),
  region: grown(
    nullableString('Where on its continent a public probe is now; null when it does not say.', {
      example: 'eu-central',
    }),
    null,
  ),
  place: grown(
    nullableString('The private place, where a monitor chooses its places.', { example: null }),
    null,
  ),
  origin_as: grown(
    nullable(integer(), {
      description: 'The autonomous system of its network now, if it is known.',
      example: 64500,
    }),
    null,
  ),
});

export const IncidentOut = object('IncidentOut', {
  id: uuid({ example: exampleIds.incident }),
  monitor: uuid({ example: exampleIds.monitor }),
  monitor_name: string({ meaning: 'What the monitor is called.', example: 'Shop' }),
  cause: nullableString('One plain sentence of our own; never text that the target sent.', {
    example: 'Status 503, expected 2xx',
  }),
  started_at: dateTime({
    meaning: 'When the first failing check began.',
    example: '2026-11-18T04:03:35.000Z',
  }),
  confirmed_at: nullable(
    dateTime({
      meaning: 'When a probe of another continent had seen it; null before.',
      example: '2026-11-18T04:03:36.410Z',
    }),
  ),
  resolved_at: nullable(
    dateTime({ meaning: 'When it was over; null before.', example: '2026-11-18T04:12:09.000Z' }),
  ),
  open: boolean({ meaning: 'Whether it goes on.', example: false }),
  seen_from: nullable(ProbeRef, { description: 'The probe that first saw the outage.' }),
  confirmed_from: nullable(ProbeRef, {
    description: 'The probe that confirmed it, from another continent.',
    example: { name: 'syd-1', continent: 'Oceania', region: null, place: null, origin_as: null },
  }),
  note: nullable(
    string({ meaning: 'What is to be said of how it ended; null when nothing is.', example: null }),
  ),
  scope: maybe(string(), {
    description:
      'Where the outage is seen: `everywhere`, `some_continents` or `one_continent`; null while that is not known.',
    example: 'everywhere',
  }),
  layer: maybe(string(), {
    description:
      'How deep the cause lies: `dns`, `tcp`, `tls`, `http`, `assertion`, `timeout`, `heartbeat` or `probe`.',
    example: 'http',
  }),
  acknowledged_at: maybe(
    dateTime({
      meaning: 'When it was acknowledged; null before.',
      example: '2026-11-18T04:05:12.200Z',
    }),
  ),
  acknowledged_by: maybe(string(), {
    description:
      'Who acknowledged it, as messages and the event feed say it: a member, or the channel whose link was followed; null when no one has.',
    example: 'Ada',
  }),
  continents: grown(
    nullable(
      object('ContinentsOut', {
        failed: array(string({ example: 'Europe' }), { meaning: 'From where it fails.' }),
        passed: array(string({ example: 'Asia' }), { meaning: 'From where it passes.' }),
        asked: array(string({ example: 'Africa' }), {
          meaning: 'All that were asked; those in neither of the others are still checking.',
        }),
      }),
      {
        description: 'What `scope` was judged from; null when it is not known, or resolved.',
        example: null,
      },
    ),
    null,
  ),
  sides,
  cause_id: grown(
    nullable(uuid(), {
      description: 'What it has in common with others that began with it, once that is found.',
      example: null,
    }),
    null,
  ),
  duration_s: grown(
    number({
      description: 'Seconds from `started_at` to `resolved_at`, or to now while it is open.',
      example: 514,
    }),
    0,
  ),
});

const IncidentPage = page('IncidentPage', IncidentOut);

/** What a list of incidents of all monitors can be filtered by. */
export const incidentFilter = {
  layer: maybe(
    literal(['dns', 'tcp', 'tls', 'http', 'assertion', 'timeout', 'heartbeat', 'probe'], {
      meaning: 'Only incidents whose cause lies there.',
    }),
  ),
  acknowledged: maybe(boolean(), {
    description: 'Only incidents that someone has acknowledged, or that no one has.',
  }),
  acknowledged_by: maybe(string({ minLength: 1, limits: { maxLength: 500 } }), {
    description: 'Only incidents that this member has, named as in `acknowledged_by`.',
  }),
  days: optional(integer(daysBounds, { description: 'How many days back the list goes.' }), 30),
};

export const listIncidents = operation({
  id: 'listIncidents',
  method: 'GET',
  path: '/api/v1/incidents',
  tag: 'Incidents',
  access: 'read',
  summary: 'List incidents',
  description: 'Newest first. An open incident is listed whatever `days` says.',
  query: {
    state: optional(
      literal(['all', 'open', 'resolved'], {
        meaning: 'Which of them: all, those that go on, or those that are over.',
      }),
      'all',
    ),
    monitor: maybe(uuid(), { description: 'Only incidents of this monitor.' }),
    cause: maybe(uuid(), { description: 'Only incidents of this cause.' }),
    ...incidentFilter,
    ...pageQuery,
  },
  response: IncidentPage,
  refusals: ['monitor_not_found', 'cause_not_found'],
  columns: [
    'state',
    'monitor_name',
    'cause',
    'acknowledged_by',
    'started_at',
    'resolved_at',
    'seen_from',
    'confirmed_from',
    'id',
  ],
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
  refusals: ['incident_not_found'],
});

const AcknowledgementOut = object('AcknowledgementOut', {
  incident: uuid({ meaning: 'The id of the incident.', example: exampleIds.incident }),
  acknowledged_at: dateTime({
    meaning: 'When it was acknowledged; null before.',
    example: '2026-11-18T04:05:12.200Z',
  }),
  acknowledged_by: string({
    meaning: 'Who acknowledged it; null when no one has.',
    example: 'Ada',
  }),
});

export const acknowledgeIncident = operation({
  id: 'acknowledgeIncident',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/acknowledge',
  tag: 'Channels',
  access: 'write',
  summary: 'Acknowledge an incident',
  description:
    'Stops repeats and later channels, and notifies everyone who was notified of the outage. A second call changes nothing.',
  params: { incident_id: uuid() },
  response: AcknowledgementOut,
  refusals: ['incident_not_found', 'incident_over'],
});

export const unacknowledgeIncident = operation({
  id: 'unacknowledgeIncident',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/unacknowledge',
  tag: 'Channels',
  access: 'write',
  summary: 'Hand an incident back',
  description:
    'Removes the acknowledgement: everyone who was notified gets a reminder at once, and reminders and channels with a delay go on. Nothing changes if nobody has acknowledged it.',
  params: { incident_id: uuid() },
  response: IncidentOut,
  refusals: ['incident_not_found', 'incident_over'],
});

export const assignIncident = operation({
  id: 'assignIncident',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/assign',
  tag: 'Channels',
  access: 'write',
  summary: 'Assign an incident to a member',
  description:
    'Acknowledges it in the name of the member, in place of anyone who had it. Everyone who was notified of the outage gets a message.',
  params: { incident_id: uuid() },
  body: object('AssignIn', {
    email: string({
      meaning: 'The e-mail address of the member.',
      minLength: 1,
      limits: { maxLength: 254 },
      example: 'ada@harbour.example.com',
    }),
  }),
  response: AcknowledgementOut,
  refusals: ['incident_not_found', 'member_not_found', 'incident_over'],
});

const NoteOut = object('NoteOut', {
  id: uuid({ example: exampleIds.post }),
  by: nullable(string({ meaning: 'Who did it.', example: 'ada@harbour.example.com' })),
  at: dateTime({ meaning: 'When it was.', example: '2026-11-18T04:20:00.000Z' }),
  text: string({ meaning: 'What is written there.', example: 'A disk was full.' }),
});

/** Longer ones are refused. */
export const longestNote = 5_000;

export const addIncidentNote = operation({
  id: 'addIncidentNote',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/notes',
  tag: 'Incident evidence',
  access: 'write',
  summary: 'Add a note to an incident',
  description:
    'For the members of the organisation, in its timeline; getIncidentEvidence lists them.',
  params: { incident_id: uuid() },
  body: object('NoteIn', {
    text: string({
      meaning: 'What is to be said.',
      limits: { minLength: 1, maxLength: longestNote },
      example: 'A disk was full.',
    }),
  }),
  response: NoteOut,
  success: 201,
  refusals: ['incident_not_found', 'note_invalid'],
});

export const shareIncident = operation({
  id: 'shareIncident',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/share',
  tag: 'Incident evidence',
  access: 'write',
  summary: 'Create a link that shows an incident to anyone who has it',
  description:
    'An earlier one is revoked. It shows verdict, times, causes and continents, and nothing that the target sent.',
  params: { incident_id: uuid() },
  response: object('ShareLinkOut', {
    link: string({
      description: 'Shown once.',
      example: 'https://antipode.example.com/shared/incidents/9yQm0000000000000000000000',
    }),
  }),
  success: 201,
  refusals: ['incident_not_found'],
});

export const withdrawIncidentShare = operation({
  id: 'withdrawIncidentShare',
  method: 'DELETE',
  path: '/api/v1/incidents/{incident_id}/share',
  tag: 'Incident evidence',
  access: 'write',
  summary: 'Revoke the link that shows an incident',
  params: { incident_id: uuid() },
  refusals: ['share_not_found'],
});

const EvidenceOut = object('EvidenceOut', {
  part: string({ description: '`seen`, `confirmed` or `matrix`.', example: 'seen' }),
  continent: nullable(string(), { description: 'null: a job said so itself.', example: 'Europe' }),
  place: grown(
    nullableString('The private place that saw it; null for a public probe.', { example: null }),
    null,
  ),
  probe: string({ description: 'Who saw it, or took what a job said.', example: 'fra-1' }),
  at: dateTime({ meaning: 'When it was.', example: '2026-11-18T04:03:35.000Z' }),
  outcome: string({ meaning: 'How the check ended.', example: 'fail' }),
  took_ms: number({ meaning: 'How long the check took, in milliseconds.', example: 212.4 }),
  cause: nullable(
    string({ meaning: 'Why it failed, in one sentence.', example: 'Status 503, expected 2xx' }),
  ),
  cause_class: nullable(
    string({
      meaning: 'The class of the cause, from a closed list; null when the check succeeded.',
      example: 'http_status',
    }),
  ),
  phases: nullable(
    dict({
      meaning: 'How long each phase of the check took.',
      example: { dns: 3.1, tcp: 11.8, tls: 24.5, first_byte: 172.6, total: 212.4 },
    }),
  ),
  evidence: nullable(
    dict({
      meaning: 'What the failing check itself saw.',
      example: { status: 503, address: '203.0.113.7' },
    }),
  ),
});

const SampleOut = object('SampleOut', {
  at: dateTime({ meaning: 'When it was.', example: '2026-11-18T04:03:35.000Z' }),
  continent: string({ example: 'Europe' }),
  probe: string({ meaning: 'The probe.', example: 'fra-1' }),
  outcome: string({ meaning: 'How the check ended.', example: 'fail' }),
  took_ms: number({ meaning: 'How long the check took, in milliseconds.', example: 212.4 }),
  cause_class: nullable(
    string({
      meaning: 'The class of the cause, from a closed list; null when the check succeeded.',
      example: 'http_status',
    }),
  ),
});

const NotificationOut = object('NotificationOut', {
  event: string({
    description: '`down`, `up`, `closed`, or `was_down` of what became known late.',
    example: 'down',
  }),
  channel: string({ meaning: 'The channel that it went to.', example: 'ada@harbour.example.com' }),
  state: string({ description: '`held`, `due`, `sent` or `dropped`.', example: 'sent' }),
  due_at: nullable(dateTime({ meaning: 'When it was due.', example: '2026-11-18T04:03:36.410Z' })),
  settled_at: nullable(
    dateTime({
      meaning: 'When it was delivered, or failed permanently; null before.',
      example: '2026-11-18T04:03:36.410Z',
    }),
  ),
});

const PostMortemOut = object('PostMortemOut', {
  text: string({ meaning: 'What is written there.', example: 'A disk was full.' }),
  by: nullable(string({ meaning: 'Who wrote it.', example: 'ada@harbour.example.com' })),
  at: dateTime({ meaning: 'When it was written.', example: '2026-11-19T09:00:00.000Z' }),
  published_at: nullable(
    dateTime({
      meaning: 'Since when status pages show it; null while it is a draft.',
      example: null,
    }),
  ),
});

/** Longer ones are refused. */
export const longestPostMortem = 20_000;

export const writePostMortem = operation({
  id: 'writePostMortem',
  method: 'POST',
  path: '/api/v1/incidents/{incident_id}/post-mortem',
  tag: 'Incident evidence',
  access: 'write',
  summary: 'Write the post-mortem of an incident',
  description:
    'In place of the one before. Published, every status page that shows the incident shows it, in its feeds too. An empty text deletes it.',
  params: { incident_id: uuid() },
  body: object('PostMortemIn', {
    text: string({
      meaning: 'What was wrong, and what you do about it.',
      limits: { maxLength: longestPostMortem },
      example: 'A disk was full.',
    }),
    published: optional(
      boolean({ meaning: 'Whether status pages show it.', example: true }),
      false,
    ),
  }),
  response: object('WrittenPostMortemOut', {
    post_mortem: nullable(PostMortemOut, {
      description: 'As it is stored now; null when it was deleted.',
    }),
  }),
  refusals: ['incident_not_found', 'note_invalid'],
});

export const getIncidentEvidence = operation({
  id: 'getIncidentEvidence',
  method: 'GET',
  path: '/api/v1/incidents/{incident_id}/evidence',
  tag: 'Incident evidence',
  access: 'read',
  summary: 'Get an incident with its evidence',
  description:
    'What the failing checks themselves saw, what every continent saw during the incident, who was notified, the notes of members, and what it did to the uptime. Parts of it came from the target: show them as text, never as markup.',
  params: { incident_id: uuid() },
  response: object('IncidentEvidenceOut', {
    ...IncidentOut.shape,
    checks: array(EvidenceOut, { meaning: 'How many checks there were.' }),
    samples: array(SampleOut, { meaning: 'What the continents saw meanwhile.' }),
    samples_complete: boolean({
      description: 'False when every so many of the samples in the middle stand for all of them.',
      example: true,
    }),
    notifications: array(NotificationOut, { meaning: 'Who was notified.' }),
    notes: array(NoteOut, { meaning: 'What is to be said of it, in words.' }),
    post_mortem: maybe(PostMortemOut, {
      description: 'The post-mortem; null when there is none.',
      example: null,
    }),
    owners: grown(
      array(
        object('OwnerChangeOut', {
          at: dateTime({ meaning: 'When it changed.', example: '2026-11-18T04:05:12.200Z' }),
          event: string({
            description: '`acknowledged`, `assigned` or `handed_back`.',
            example: 'acknowledged',
          }),
          owner: string({ meaning: 'Who got it, or gave it back.', example: 'Ada' }),
          by: nullable(string({ meaning: 'Who assigned it or handed it back.', example: null })),
        }),
        { description: 'Who has had the incident, oldest first.' },
      ),
      [],
    ),
    share: nullable(
      object('ShareOut', {
        by: nullable(string({ meaning: 'Who did it.' })),
        at: dateTime({ meaning: 'When it was.' }),
      }),
      {
        description: 'The link that shows it to others, while there is one.',
        example: null,
      },
    ),
    effect: object('EffectOut', {
      days: number({
        meaning: 'How many days it covers, back from the end of the incident, or from now.',
        example: 30,
      }),
      window_s: grown(
        number({
          meaning: 'How many seconds of these days the monitor existed.',
          example: 2_592_000,
        }),
        0,
      ),
      down_seconds: number({
        description: 'The downtime of this incident alone in these days, in seconds.',
        example: 514,
      }),
      percent: nullable(
        number({
          meaning:
            'Percent of the time, rounded down to four decimals; null when nothing is known.',
          example: 99.967,
        }),
      ),
      percent_without: nullable(
        number({ meaning: 'The same without what is named.', example: 100 }),
      ),
    }),
  }),
  refusals: ['incident_not_found'],
});
