import type { JsonSchema } from '../../shared/api/fields.ts';
import { type OutputOf, statusOf } from '../../shared/api/operation.ts';
import { type RefusalCode, refusalCodes } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { commands } from '../../shared/client/commands.ts';
import { exampleOf } from '../../shared/client/help.ts';
import type { listMonitorFigures } from '../monitors/contract.ts';

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (mark) => entities[mark] ?? mark);

/** Text of the document as HTML: text in backticks is code. */
export const prose = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** Examples of a call to copy: with curl, and with the client. */

type Call = {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  /** The names of its required query parameters. */
  readonly query: readonly string[];
  /** Absent where the operation takes none. */
  readonly body?: unknown;
};

const exampleId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const valuesOfQuery: Readonly<Record<string, string>> = { starts_at: '2027-01-01T02:00', ends_at: '2027-01-01T03:00' };

const queryText = (names: readonly string[]): string => {
  const pairs = names.map((name) => `${name}=${valuesOfQuery[name] ?? name.toUpperCase()}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
};

const curl = ({ method, path, query, body }: Call): string =>
  [
    `curl -sS --fail-with-body${method === 'GET' ? '' : ` -X ${method}`} "$ANTIPODE_URL${path.replaceAll(/\{\w+\}/g, exampleId)}${queryText(query)}"`,
    `-H "Authorization: Bearer $ANTIPODE_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ');

const examples: ReadonlyMap<string, string> = new Map(commands.map((command) => [command.operation.id, exampleOf(command)]));

/** Text to copy: one click selects all of it, and where scripts run a button copies it. */
export const copyable = (label: string, text: string, level: 3 | 4 = 3): string =>
  `<h${level}>${escapeHtml(label)}</h${level}><pre class="copy" tabindex="0"><code>${escapeHtml(text)}</code></pre>`;

export const callExamples = (call: Call): string => {
  const client = examples.get(call.operationId);
  return copyable('With curl', curl(call), 4) + (client === undefined ? '' : copyable('With the client', client, 4));
};

/**
 * Descriptions of members and parameters that mean the same everywhere, and the limits that the
 * models enforce.
 */

const words: Readonly<Record<string, string>> = {
  id: 'The id of this object.',
  name: 'What it is called.',
  description: 'A longer text about it; null when there is none.',
  items: 'What this page holds.',
  enabled: 'Whether it is at work; false means paused or hidden.',
  created_at: 'When it was made.',
  monitor: 'The id of the monitor.',
  monitors: 'Monitors, by their ids or as rows.',
  group: 'The id of the group; null for none.',
  groups: 'Groups, by their ids or as rows.',
  incident: 'The id of the incident.',
  channel: 'The channel that it went to.',
  domain: 'The domain under which the page answers.',
  type: 'The type of the monitor, or of the fault.',
  target: 'What is watched.',
  interval_s: 'Seconds between two checks: 10 to 86,400, heartbeats 30 to 31,536,000, and no shorter than the plan allows.',
  config: 'Settings of the type.',
  affects_group_status: 'Whether it counts for the status of its group.',
  tags: 'Words by which monitors are found.',
  monitor_name: 'What the monitor is called.',
  continent: 'The continent of the probe.',
  probe: 'The probe.',
  at: 'When it was.',
  from: 'Where the stretch or the window begins.',
  to: 'Where the stretch or the window ends.',
  starts_at: 'When the first occurrence begins.',
  ends_at: 'When the first occurrence ends.',
  started_at: 'When the first failing check began.',
  confirmed_at: 'When a probe of another continent had seen it; null before.',
  resolved_at: 'When it was over; null before.',
  open: 'Whether it goes on.',
  cause: 'Why it failed, in one sentence.',
  cause_class: 'The class of the cause, from a closed list; null when the check succeeded.',
  note: 'What is to be said of how it ended; null when nothing is.',
  notes: 'What is to be said of it, in words.',
  days: 'So many days back from now.',
  percent: 'Percent of the time, rounded down to four decimals; null when nothing is known.',
  percent_without: 'The same without what is named.',
  up_seconds: 'Seconds up.',
  down_seconds: 'Seconds down.',
  maintenance_seconds: 'Seconds under maintenance.',
  unknown_seconds: 'Seconds of which nothing is known.',
  paused_seconds: 'Seconds paused.',
  outcome: 'How the check ended.',
  took_ms: 'How long the check took, in milliseconds.',
  least_ms: 'The quickest, in milliseconds.',
  most_ms: 'The slowest, in milliseconds.',
  p95_ms: 'Of twenty, the slowest but one, in milliseconds.',
  phases: 'How long each phase of the check took.',
  position: 'Its place among the rows, from 0.',
  display_name: 'The name by which the page shows it.',
  text: 'What is written there.',
  kind: 'Which kind it is.',
  slug: 'The last part of the address: small letters, digits and dashes.',
  language: 'The language of the page.',
  access: 'Who may see the page.',
  has_password: 'Whether the page has a password.',
  has_link: 'Whether the page has a secret link.',
  link: 'The secret link.',
  proved: 'Whether the domain was proved.',
  written_at: 'When it was written.',
  since: 'When this status began.',
  last_checked_at: 'When the newest check that counts began; null before there is one.',
  last_taken_at: 'When it last took a message; null before.',
  expires_at: 'When it ends; null for never.',
  due_at: 'When it was due.',
  settled_at: 'When it was taken, or given up; null before.',
  delay_s: 'Told only when the outage lasts so many seconds and nobody has acknowledged it.',
  reminder_s: 'Reminded after so many seconds, then at doubling distances; null for never.',
  hours: 'When it may be told; null for always.',
  spans: 'The hours, each on some days.',
  covers: 'Whether it is told of all monitors or of chosen ones.',
  told: 'Who was told.',
  window_name: 'What the maintenance window is called; null where it is none, or has no name.',
  stretches: 'The stretches that the time is made of.',
  series: 'One row of points for each continent.',
  points: 'The points, in their order.',
  samples: 'What the continents saw meanwhile.',
  step_s: 'Seconds between two points.',
  checks: 'How many checks there were.',
  ok: 'How many succeeded.',
  failed: 'How many failed.',
  evidence: 'What the failing check itself saw.',
  by: 'Who did it.',
  acknowledged_by: 'Who acknowledged it; null when nobody has.',
  acknowledged_at: 'When it was acknowledged; null before.',
  up: 'How many are up.',
  verifying: 'How many are being verified.',
  pending: 'How many have no result yet.',
  paused: 'How many are paused.',
  unknown: 'How many of which nothing is known.',
  loc: 'Where the fault is, from `body`, `query` or `path` on.',
  msg: 'What is wrong.',
  input: 'What was sent there; never a secret.',
  ctx: 'What the words of the fault are made of.',
  detail: 'Every fault.',
  window: 'The id of the maintenance window; null where it is about none.',
  code: 'What it is, to branch on.',
  message: 'What it is, to read.',
  mode: 'Whether all are made or none, or each by itself.',
  created: 'How many were made.',
  changed: 'How many were changed.',
  refused: 'How many were refused.',
  state: 'Which of them: all, those that go on, or those that are over.',
  sort: 'The order of the list.',
};

const idWords = (name: string): string => `The id of the ${name.replace(/_id$/, '').replaceAll('_', ' ')}.`;

/** A newer name without a description describes itself. */
const nameWords = (name: string): string => `The ${name.replaceAll('_', ' ')}.`;

const documentedMeaningOf = (name: string): string =>
  (Object.hasOwn(words, name) ? words[name] : undefined) ?? (name.endsWith('_id') ? idWords(name) : nameWords(name));

/** The maximum of characters or items. */
const most: Readonly<Record<string, JsonSchema>> = {
  name: { maxLength: 200 },
  display_name: { maxLength: 200 },
  description: { maxLength: 2_000 },
  target: { maxLength: 2_048 },
  rrule: { maxLength: 1_000 },
  password: { maxLength: 200 },
  domain: { maxLength: 240 },
  slug: { maxLength: 60, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' },
  external_id: { maxLength: 200 },
  tag: { maxLength: 50 },
  interval_s: { minimum: 10, maximum: 31_536_000 },
  cursor: { maxLength: 1_000 },
  after: { maxLength: 1_000 },
};

/** Limits apply to a value, not to null. */
const bounded = (schema: JsonSchema, bounds: JsonSchema): JsonSchema => {
  if (Array.isArray(schema.anyOf))
    return { ...schema, anyOf: schema.anyOf.map((one) => (isRecord(one) && one.type !== 'null' ? bounded(one, bounds) : one)) };
  if (schema.type === 'string' && schema.format === undefined && 'maxLength' in bounds) return { ...bounds, ...schema };
  return schema.type === 'integer' && 'minimum' in bounds ? { ...bounds, ...schema } : schema;
};

/**
 * Adds the description of a member or parameter where it has none of its own, and its limits where
 * callers send it.
 */
export const told = (name: string, schema: JsonSchema, isSent: boolean): JsonSchema => {
  const meaning = schema.description === undefined && schema.$ref === undefined ? documentedMeaningOf(name) : undefined;
  const bounds = isSent && Object.hasOwn(most, name) ? most[name] : undefined;
  return { ...(bounds === undefined ? schema : bounded(schema, bounds)), ...(meaning === undefined ? {} : { description: meaning }) };
};

/** An object with descriptions of all its members. */
export const toldObject = (name: string, schema: JsonSchema): JsonSchema => {
  const { properties } = schema;
  if (!isRecord(properties)) return schema;
  const isSent = /(?:In|Patch)$/.test(name);
  const members = Object.entries(properties).map(([member, of]) => [member, isRecord(of) ? told(member, of, isSent) : of] as const);
  return { ...schema, properties: Object.fromEntries(members) };
};

export const figuresType = 'text/plain; version=0.0.4; charset=utf-8';

/** A name may contain anything; in a label, these three characters have a meaning. */
const label = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/**
 * An organisation's monitors for its own Prometheus. Unknown values have no row, so that no one
 * takes them for zero.
 */
export const figuresText = ({ items, left_out }: OutputOf<typeof listMonitorFigures>): string => {
  const labels = ({ id, name, type }: (typeof items)[number]) => `monitor="${label(id)}",name="${label(name)}",type="${label(type)}"`;
  const up = items.flatMap((item) => (item.is_up === null ? [] : [`antipode_monitor_up{${labels(item)}} ${Number(item.is_up)}`]));
  const state = items.map((item) => `antipode_monitor_status{${labels(item)},status="${label(item.status)}"} 1`);
  const response = items.flatMap((item) =>
    item.response_ms === null ? [] : [`antipode_monitor_response_seconds{${labels(item)}} ${item.response_ms / 1_000}`],
  );
  return [
    '# HELP antipode_monitor_up 1 while no outage is confirmed, 0 while one is; no row while paused or not yet seen',
    '# TYPE antipode_monitor_up gauge',
    ...up,
    '# HELP antipode_monitor_status The state as the pages call it',
    '# TYPE antipode_monitor_status gauge',
    ...state,
    '# HELP antipode_monitor_response_seconds Response time of the newest check; no row where that did not pass',
    '# TYPE antipode_monitor_response_seconds gauge',
    ...response,
    '# HELP antipode_monitors_left_out Monitors beyond those shown here',
    '# TYPE antipode_monitors_left_out gauge',
    `antipode_monitors_left_out ${left_out}`,
    '',
  ].join('\n');
};

/** The meaning of each code of the API, for the document; an answer's own message says more. */
const refusalWords: Partial<Record<RefusalCode, string>> = {
  token_missing: 'No bearer token was sent.',
  token_invalid: 'The token is unknown, revoked or expired.',
  scope_insufficient: 'The token may only read.',
  role_insufficient: 'Your role in the organisation may not do this.',
  plan_limit_monitors: 'The plan allows no more monitors.',
  plan_limit_interval: 'The plan does not allow checks this often.',
  plan_limit_private_probes: 'The plan allows no more private probes; open invitations count.',
  continent_unknown: 'There is no such continent.',
  invitation_not_found: 'There is no such invitation, or it was used.',
  plan_limit_channels: 'The plan allows no more channels.',
  plan_limit_groups: 'The plan allows no more groups.',
  plan_limit_windows: 'The plan allows no more maintenance windows that are not over.',
  plan_limit_occurrences: 'The window would occur too often within 90 days.',
  channel_not_found: 'There is no such channel.',
  channel_kind_unknown: 'There is no such kind of channel.',
  channel_invalid: 'The config is not what the kind asks for, or a time to wait is out of range; the message names each field.',
  hours_invalid: 'The hours are not days and times of a week.',
  time_zone_invalid: 'The time zone is none of IANA.',
  channel_test_limit: 'An organisation asks mailboxes and tests channels ten times an hour, and one mailbox three times a day.',
  channel_test_failed:
    'The test message was not taken, and nothing is saved; the message says why, and `try: false` saves it all the same.',
  mail_missing: 'Mail is not set up on this installation.',
  incident_over: 'The incident is over, or was never confirmed.',
  monitor_not_found: 'There is no such monitor.',
  external_id_invalid: 'The external id is not one line of at most 200 characters.',
  external_id_taken: 'Another one has this external id.',
  type_differs: 'The monitor of this external id has another type, which never changes.',
  tags_invalid: 'The tags are too many, or one is too long or has blanks or commas.',
  incident_not_found: 'There is no such incident.',
  probe_not_found: 'The organisation has no such private probe, or it was ended.',
  organisation_ending: 'The organisation is about to be deleted: until then it may only be looked at, and an owner may keep it.',
  maintenance_window_not_found: 'There is no such maintenance window.',
  group_not_found: 'There is no such group.',
  status_page_not_found: 'There is no such status page.',
  status_page_monitor_not_found: 'The monitor is not on this page.',
  status_page_group_not_found: 'The group is not on this page.',
  status_page_post_not_found: 'There is no such post on this page.',
  plan_limit_status_pages: 'The plan allows no more status pages.',
  slug_invalid: 'The last part of the address is not of small letters, digits and dashes.',
  slug_taken: 'Another page has this address.',
  accent_invalid: 'The colour is none, or is hard to read on white; the message names one that would do.',
  password_invalid: 'The password is too short or too long.',
  domain_invalid: 'The domain is no name of a host, or is that of the service itself.',
  domain_taken: 'Another page proved this domain.',
  domain_missing: 'The page has no domain to look for.',
  order_invalid: 'The rows are not those of the page, each once.',
  incident_not_published: 'The page does not show this incident: its monitor is not on it, or it is not confirmed.',
  post_invalid: 'The text is empty or too long.',
  route_not_found: 'There is no such route.',
  method_not_allowed: 'This route answers to other methods; `Allow` names them.',
  monitor_type_unknown: 'The type is none of `https`, `dns` and `heartbeat`.',
  target_invalid: 'The target is not one that the type can watch.',
  target_forbidden: 'The target is an address that no probe may reach.',
  config_invalid: 'A key of the config has a value that it cannot have.',
  interval_out_of_range: 'The interval is too short or too long.',
  name_invalid: 'The name is empty or too long.',
  description_invalid: 'The description is too long.',
  rrule_invalid: 'The recurrence rule cannot be used.',
  window_invalid: 'The window covers nothing, or ends before it starts.',
  nobody_can_check: 'No probe that exists could perform this check.',
  position_invalid: 'The position is out of range.',
  already_published: 'It is published on this page already.',
  name_taken: 'Another one has this name.',
  idempotency_key_in_use: 'A call with this `Idempotency-Key` is being worked on; send it again in a moment.',
  idempotency_answer_too_large:
    'The call under this `Idempotency-Key` was answered before; its answer was too large to keep, alone or with those that came since.',
  idempotency_key_reused: 'This `Idempotency-Key` was sent with another request; give each request a key of its own.',
  request_malformed: 'The request could not be read.',
  body_too_large: 'The body is larger than 64 KiB, or than 2 MiB where many things may be named.',
  headers_too_large: 'The headers are larger than 16 KiB.',
  rate_limited: 'Too many calls; wait as long as `Retry-After` says.',
  unavailable: 'The database or the bus does not answer; wait as long as `Retry-After` says.',
  internal: 'Something went wrong on our side.',
};

export const meaningOf = (code: RefusalCode): string => {
  const meaning = refusalWords[code];
  if (meaning === undefined) throw new Error(`the code ${code} stands in the API and has no meaning in its document`);
  return meaning;
};

/** Oversized headers are refused before a route is found, with the HTTP status for them. */
export const statusOfCode = (code: RefusalCode): number => (code === 'headers_too_large' ? 431 : statusOf[refusalCodes[code]]);
