import type { Field, JsonSchema, NamedSchema } from '../../shared/api/fields.ts';
import { type OutputOf, statusOf } from '../../shared/api/operation.ts';
import { type RefusalCode, refusalCodes } from '../../shared/base/errors.ts';
import { isRecord } from '../../shared/base/json.ts';
import { commands } from '../../shared/client/commands.ts';
import { exampleOf } from '../../shared/client/help.ts';
import type { listMonitorFigures } from '../monitors/contract.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (mark) => entities[mark] ?? mark);
}

/** Text of the document as HTML: text in backticks is code. */
export function prose(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

type Call = {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  /** The names of its required query parameters. */
  readonly query: readonly string[];
  /** Absent where the operation takes none. */
  readonly body?: unknown;
};

const examples: ReadonlyMap<string, string> = new Map(
  commands.map((command) => [command.operation.id, exampleOf(command)]),
);

/** Text to copy: one click selects all of it, and where scripts run a button copies it. */
export function copyable(label: string, text: string, level: 2 | 3 = 3): string {
  return `<h${level}>${escapeHtml(label)}</h${level}><pre class="copy" tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
}

export function callExamples(call: Call): string {
  const client = examples.get(call.operationId);
  return (
    copyable('With curl', curl(call), 2) +
    (client === undefined ? '' : copyable('With the client', client, 2))
  );
}

const exampleId = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';

function curl({ method, path, query, body }: Call): string {
  return [
    `curl -sS --fail-with-body${method === 'GET' ? '' : ` -X ${method}`} "$ANTIPODE_URL${path.replaceAll(/\{\w+\}/g, exampleId)}${queryText(query)}"`,
    `-H "Authorization: Bearer $ANTIPODE_TOKEN"`,
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ');
}

const valuesOfQuery: Readonly<Record<string, string>> = {
  starts_at: '2027-01-01T02:00',
  ends_at: '2027-01-01T03:00',
};

function queryText(names: readonly string[]): string {
  const pairs = names.map((name) => `${name}=${valuesOfQuery[name] ?? name.toUpperCase()}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** A text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The schema of a member or parameter, with its limits and with a description. */
export function told(
  name: string,
  { schema, documented: { limits, meaning } }: Field<unknown>,
): JsonSchema {
  return {
    ...(limits === undefined ? schema : bounded(schema, limits)),
    ...(schema.description === undefined && schema.$ref === undefined
      ? { description: meaning ?? wordsOf(name) }
      : {}),
  };
}

/** Limits apply to a value, not to null. */
function bounded(schema: JsonSchema, bounds: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf))
    return {
      ...schema,
      anyOf: schema.anyOf.map((one) =>
        isRecord(one) && one.type !== 'null' ? bounded(one, bounds) : one,
      ),
    };
  return { ...bounds, ...schema };
}

/** Members that mean the same everywhere. */
const words: Readonly<Record<string, string>> = {
  id: 'The id of this object.',
  name: 'Its name.',
  description: 'A longer text about it; null when there is none.',
  items: 'The items of this page.',
  enabled: 'Whether it is active; false means paused or hidden.',
  created_at: 'When it was created.',
  monitor: 'The id of the monitor.',
  monitors: 'Monitors, by their ids or as rows.',
  group: 'The id of the group; null for none.',
  groups: 'Groups, by their ids or as rows.',
  continent: 'The continent of the probe.',
};

function wordsOf(name: string): string {
  return (
    (Object.hasOwn(words, name) ? words[name] : undefined) ??
    (name.endsWith('_id') ? idWords(name) : nameWords(name))
  );
}

function idWords(name: string): string {
  return `The id of the ${name.replace(/_id$/, '').replaceAll('_', ' ')}.`;
}

/** A name without a description describes itself. */
function nameWords(name: string): string {
  return `The ${name.replaceAll('_', ' ')}.`;
}

/** An object with descriptions of all its members. */
export function describedObject({ schema, shape }: NamedSchema): JsonSchema {
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(shape).map(([name, field]) => [name, told(name, field)]),
    ),
  };
}

export const figuresType = 'text/plain; version=0.0.4; charset=utf-8';

/** A name may contain anything; in a label, these three characters have a meaning. */
function label(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/**
 * An organisation's monitors for its own Prometheus. Unknown values have no row, so that no one
 * takes them for zero.
 */
export function figuresText({ items, left_out }: OutputOf<typeof listMonitorFigures>): string {
  const labels = ({ id, name, type }: (typeof items)[number]) =>
    `monitor="${label(id)}",name="${label(name)}",type="${label(type)}"`;
  const up = items.flatMap((item) =>
    item.is_up === null ? [] : [`antipode_monitor_up{${labels(item)}} ${Number(item.is_up)}`],
  );
  const state = items.map(
    (item) => `antipode_monitor_status{${labels(item)},status="${label(item.status)}"} 1`,
  );
  const response = items.flatMap((item) =>
    item.response_ms === null
      ? []
      : [`antipode_monitor_response_seconds{${labels(item)}} ${item.response_ms / 1_000}`],
  );
  const warned = items.flatMap((item) =>
    item.warnings.map(
      (code) => `antipode_monitor_warning{${labels(item)},code="${label(code)}"} 1`,
    ),
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
    '# HELP antipode_response_seconds Response times of the newest checks of all monitors by place; of now, so without rate()',
    '# TYPE antipode_response_seconds histogram',
    ...responsesByPlace(items),
    '# HELP antipode_monitor_warning What passing checks warn of; no row without a warning',
    '# TYPE antipode_monitor_warning gauge',
    ...warned,
    '# HELP antipode_monitors_left_out Monitors beyond those shown here',
    '# TYPE antipode_monitors_left_out gauge',
    `antipode_monitors_left_out ${left_out}`,
    '',
  ].join('\n');
}

/** In seconds: from a neighbour's answer to the longest timeout. */
const responseBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

function responsesByPlace(items: OutputOf<typeof listMonitorFigures>['items']): readonly string[] {
  const byPlace = Map.groupBy(items, ({ place }) => place);
  return [...byPlace].flatMap(([place, here]) => {
    if (place === null) return [];
    const seconds = here.flatMap(({ response_ms }) =>
      response_ms === null ? [] : [response_ms / 1_000],
    );
    const of = `place="${label(place)}"`;
    const count = (most: number): number => seconds.filter((each) => each <= most).length;
    return [
      ...responseBuckets.map(
        (most) => `antipode_response_seconds_bucket{${of},le="${most}"} ${count(most)}`,
      ),
      `antipode_response_seconds_bucket{${of},le="+Inf"} ${seconds.length}`,
      `antipode_response_seconds_sum{${of}} ${seconds.reduce((sum, each) => sum + each, 0)}`,
      `antipode_response_seconds_count{${of}} ${seconds.length}`,
    ];
  });
}

export function meaningOf(code: RefusalCode): string {
  const [, meaning] = refusalCodes[code];
  if (meaning === undefined)
    throw new Error(`the code ${code} is in the API and not explained in its document`);
  return meaning;
}

/** Oversized headers are refused before a route is found, with the HTTP status for them. */
export function statusOfCode(code: RefusalCode): number {
  return code === 'headers_too_large' ? 431 : statusOf[refusalCodes[code][0]];
}

/** The tags of the specification's operations, and new ones for later operations. */
export const tags = [
  { name: 'Account', description: 'The token in use and its owner.' },
  { name: 'Organisation', description: 'Its plan, and how much of it is used.' },
  { name: 'Members', description: 'Who belongs to the organisation, and who was invited.' },
  { name: 'Tokens', description: 'What programs act by: listed and revoked.' },
  { name: 'Monitors', description: 'What is checked, and its status.' },
  { name: 'Monitor batches', description: 'Many monitors in one call.' },
  { name: 'Monitor mutes', description: 'Alerts of one monitor are held for a while.' },
  { name: 'Monitor trash', description: 'Deleted monitors, for 7 days.' },
  {
    name: 'Monitor history',
    description: 'Measurements and uptime, second by second.',
  },
  {
    name: 'Tests',
    description: 'One check now, from every continent, that leaves nothing behind.',
  },
  { name: 'Expiry', description: 'Certificates and domains, by when they expire.' },
  { name: 'Incidents', description: 'Outages, from detection to resolution.' },
  { name: 'Reports', description: 'Uptime, downtime, incidents and response times of a period.' },
  {
    name: 'Objectives',
    description: 'Targets of uptime, and what is left of their error budgets.',
  },
  { name: 'Incident evidence', description: 'What each probe saw during an outage.' },
  { name: 'Events', description: 'A feed of changes for programs.' },
  { name: 'Webhooks', description: 'The same events, sent to your programs as they come.' },
  {
    name: 'Channels',
    description: 'Where alerts go, how and when.',
  },
  {
    name: 'Notifications',
    description: 'What was sent and why, and alerts that are held.',
  },
  { name: 'Maintenance', description: 'Times in which failures do not alert.' },
  {
    name: 'Maintenance changes',
    description: 'Edits of a window, and a preview of its occurrences.',
  },
  { name: 'Groups', description: 'Monitors that share one status.' },
  { name: 'Status pages', description: 'What is shown to the public.' },
  {
    name: 'Status page editing',
    description: 'Pages themselves, their order, their domain and who may see them.',
  },
  {
    name: 'Status page posts',
    description: 'Updates on incidents, and who subscribed.',
  },
  {
    name: 'Status page reports',
    description: 'Incidents and announcements that you write yourself, without a confirmed outage.',
  },
  { name: 'Probes', description: 'Hosts that check: public ones, and your own.' },
  {
    name: 'Ping keys',
    description: 'Addresses of heartbeats that are known before the monitors exist.',
  },
  {
    name: 'Files',
    description:
      'Monitors, channels and all else as a file says: what `antipode plan` and `antipode apply` call.',
  },
  { name: 'Audit', description: 'Who changed what.' },
  { name: 'Metrics', description: 'Figures for your own Prometheus.' },
] as const;
