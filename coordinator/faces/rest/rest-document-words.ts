import type { JsonSchema } from '../../../shared/api/fields.ts';
import { isRecord } from '../../../shared/base/json.ts';

/** What the document says of members and parameters that mean the same wherever they stand, and the bounds that the domain holds them to. */

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

/** Of what came since and has no words yet, its name says it. */
const nameWords = (name: string): string => `The ${name.replaceAll('_', ' ')}.`;

const meaningOf = (name: string): string =>
  (Object.hasOwn(words, name) ? words[name] : undefined) ?? (name.endsWith('_id') ? idWords(name) : nameWords(name));

/** As many characters or items as are taken at most. */
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

/** The bounds stand where a value does: not at null. */
const bounded = (schema: JsonSchema, bounds: JsonSchema): JsonSchema => {
  if (Array.isArray(schema.anyOf))
    return { ...schema, anyOf: schema.anyOf.map((one) => (isRecord(one) && one.type !== 'null' ? bounded(one, bounds) : one)) };
  if (schema.type === 'string' && schema.format === undefined && 'maxLength' in bounds) return { ...bounds, ...schema };
  return schema.type === 'integer' && 'minimum' in bounds ? { ...bounds, ...schema } : schema;
};

/** A member or parameter with words, where it has none of its own, and with its bounds where somebody sends it. */
export const told = (name: string, schema: JsonSchema, isSent: boolean): JsonSchema => {
  const meaning = schema.description === undefined && schema.$ref === undefined ? meaningOf(name) : undefined;
  const bounds = isSent && Object.hasOwn(most, name) ? most[name] : undefined;
  return { ...(bounds === undefined ? schema : bounded(schema, bounds)), ...(meaning === undefined ? {} : { description: meaning }) };
};

/** An object with words at all of its members. */
export const toldObject = (name: string, schema: JsonSchema): JsonSchema => {
  const { properties } = schema;
  if (!isRecord(properties)) return schema;
  const isSent = /(?:In|Patch)$/.test(name);
  const members = Object.entries(properties).map(([member, of]) => [member, isRecord(of) ? told(member, of, isSent) : of] as const);
  return { ...schema, properties: Object.fromEntries(members) };
};
