import type { Queryable } from '../database/connect.ts';
import { shownNames as shownGroupNames } from '../groups/queries.ts';
import { shownNames } from '../monitors/row.ts';
import { shownNames as shownChannelNames } from '../notifications/queries.ts';
import { shownNames as shownObjectiveNames } from '../objectives/queries.ts';
import { type HourFigures, hourlyFigures } from '../results/days.ts';
import type { Results } from '../results/reading.ts';
import { shownNames as shownPageNames } from '../status-pages/row.ts';

/**
 * The export of an organisation, by parts. Every column is named here; a column added later is not
 * exported by itself, so no new secret leaves. `key`: the key that pages go by; `where`: `$1` is
 * the organisation.
 */
type Part = {
  readonly columns: string;
  readonly from: string;
  readonly key: string;
  readonly where: string;
};

/** Of a deleted monitor, without fingerprints of what lets in. */
const restorable = [
  'monitors',
  'ledger',
  'group_memberships',
  'beats',
  'incidents',
  'incident_evidence',
  'incident_notes',
  'incident_owners',
  'post_mortems',
  'objectives',
  'warnings',
]
  .map((source) => `'${source}'`)
  .join(', ');

const parts = {
  members: {
    columns: 'u.id, u.email, u.name, m.role, m.created_at as joined_at',
    from:
      '(select *, row_number() over (order by created_at, user_id) as key from memberships where ' +
      'organisation_id = $1) m join users u on u.id = m.user_id',
    key: 'm.key',
    where: of('m'),
  },
  tokens: {
    columns:
      't.id, t.user_id, t.name, t.scope, t.shown, t.created_at, t.expires_at, t.last_used_at',
    from: 'tokens t',
    key: 't.key',
    where: of('t'),
  },
  connected_assistants: {
    columns:
      'c.id, c.user_id, c.client_name, c.redirect_host, c.scope, c.created_at, c.last_used_at',
    from: 'connections c',
    key: 'c.key',
    where: of('c'),
  },
  groups: {
    columns: `${shownGroupNames}, g.created_at`,
    from: 'groups g',
    key: 'g.key',
    where: of('g'),
  },
  monitors: {
    columns: `${shownNames}, m.created_at, m.paused_at,
      ${many('l.kind, l.began_at, l.ended_at, l.interval_s', 'ledger l where l.monitor_id = m.id', 'began_at')} as ledger,
      ${many('g.group_id, g.began_at, g.ended_at', 'group_memberships g where g.monitor_id = m.id', 'began_at')} as groups,
      ${many('b.kind, b.exit_code, b.at, b.rid, b.run_ms, b.method, b.body, b.ear', 'beats b where b.monitor_id = m.id', 'at')} as beats`,
    from: 'monitors m',
    key: 'm.key',
    where: of('m'),
  },
  deleted_monitors: {
    columns: `d.monitor_id as id, d.name, d.type, d.target, d.deleted_at, d.deleted_by,
      ${many('r.source, r.row', `deleted_rows r where r.monitor_id = d.monitor_id and r.source in (${restorable})`, 'source')} as rows`,
    from: 'deleted_monitors d',
    key: 'd.key',
    where: of('d'),
  },
  response_times: {
    columns: 'm.id as monitor, m.partition',
    from: 'monitors m',
    key: 'm.key',
    where: of('m'),
  },
  response_percentiles: {
    columns: 'm.id as monitor, m.partition',
    from: 'monitors m',
    key: 'm.key',
    where: of('m'),
  },
  incidents: {
    columns: `i.id, i.monitor_id, i.cause, i.started_at, i.confirmed_at, i.resolved_at, i.seen_probe, i.seen_continent, i.confirmed_probe,
      i.confirmed_continent, i.note, i.scope, i.layer, i.acknowledged_at, i.acknowledged_as,
      ${many('e.part, e.continent, e.probe, e.at, e.outcome, e.took_ms, e.cause, e.phases, e.evidence', 'incident_evidence e where e.incident_id = i.id', 'at')} as evidence,
      ${many('n.written_by, n.written_at, n.text', 'incident_notes n where n.incident_id = i.id', 'written_at')} as notes,
      ${many('o.at, o.event, o.owner, o.by_name', 'incident_owners o where o.incident_id = i.id', 'at')} as owners,
      ${many('p.text, p.written_by, p.written_at, p.published_at', 'post_mortems p where p.incident_id = i.id', 'written_at')} as post_mortems`,
    from: 'incidents i',
    key: 'i.key',
    where: of('i'),
  },
  objectives: {
    columns: shownObjectiveNames,
    from: 'objectives o',
    key: 'o.key',
    where: of('o'),
  },
  warnings: {
    columns:
      'w.id, w.monitor_id, w.objective_id, w.code, w.details, w.began_at, w.confirmed_at, w.ended_at',
    from: 'warnings w',
    key: 'w.key',
    where: of('w'),
  },
  maintenance: {
    columns: `w.id, w.name, w.starts_at, w.ends_at, w.rrule, w.time_zone, w.created_at, w.deleted_at,
      array(select monitor_id from maintenance_choices where window_id = w.id and monitor_id is not null) as monitors,
      array(select group_id from maintenance_choices where window_id = w.id and group_id is not null) as groups`,
    from: 'maintenance_windows w',
    key: 'w.key',
    where: of('w'),
  },
  channels: {
    columns: `${shownChannelNames}, c.created_at,
      array(select monitor_id from channel_choices where channel_id = c.id and monitor_id is not null) as monitors,
      array(select group_id from channel_choices where channel_id = c.id and group_id is not null) as groups`,
    from: 'channels c',
    key: 'c.key',
    where: `${of('c')} and c.deleted_at is null`,
  },
  webhooks: {
    columns: `w.id, w.description, w.host, w.event_types, w.enabled, w.created_at,
      w.last_delivered_at, w.failing_since, w.disabled_because`,
    from: 'webhooks w',
    key: 'w.key',
    where: of('w'),
  },
  messages: {
    columns:
      'm.id, m.channel_id, m.event, m.thread_id, m.told, m.state, m.due_at, m.attempts, m.settled_at, m.words',
    from: 'deliveries m',
    key: 'm.key',
    where: `m.kind = 'alert' and ${of('m')}`,
  },
  status_pages: {
    columns: `p.id, ${shownPageNames}, p.created_at,
      ${many('s.monitor_id, s.display_name, s.group_id, s.position', 'status_page_monitors s where s.page_id = p.id', 'position')} as monitors,
      ${many('s.group_id, s.display_name, s.position', 'status_page_groups s where s.page_id = p.id', 'position')} as groups,
      ${many('s.incident_id, s.kind, s.text, s.written_by, s.written_at', 'status_page_posts s where s.page_id = p.id', 'written_at')} as posts,
      ${many(
        `s.id, s.title, s.started_at, s.ends_at, s.cause_id,
        ${many('m.monitor_id, m.impact', 'status_page_report_monitors m where m.report_id = s.id', 'monitor_id')} as affected,
        ${many('u.kind, u.text, u.written_by, u.written_at', 'status_page_report_updates u where u.report_id = s.id', 'written_at')} as updates`,
        'status_page_reports s where s.page_id = p.id',
        'started_at',
      )} as reports`,
    from: 'status_pages p',
    key: 'p.key',
    where: of('p'),
  },
  private_probes: {
    columns: 'p.id, p.name, p.continent, p.version, p.created_at, p.revoked_at, p.last_seen_at',
    from: 'probes p',
    key: 'p.key',
    where: of('p'),
  },
  audit_log: {
    columns: 'a.at, a.who, a.through, a.token_name, a.operation, a.changed, a.address',
    from: 'audit_log a',
    key: 'a.key',
    where: of('a'),
  },
} as const satisfies Record<string, Part>;

function of(table: string): string {
  return `${table}.organisation_id = $1`;
}

function many(columns: string, from: string, order: string): string {
  return `(select coalesce(json_agg(to_jsonb(x) order by x.${order}), '[]') from (select ${columns} from ${from}) x)`;
}

export type ExportPart = keyof typeof parts;

export const exportParts: readonly string[] = Object.keys(parts);

export function isExportPart(text: string): text is ExportPart {
  return Object.hasOwn(parts, text);
}

/** Of a monitor's hours, which are read from its checks. */
const hourly: readonly string[] = ['response_times', 'response_percentiles'];

/** Parts whose pages would be too large for one answer are read one by one. */
const heavy: readonly string[] = [...hourly, 'deleted_monitors'];

export function maxRowsOf(part: ExportPart, wanted: number): number {
  return heavy.includes(part) ? 1 : wanted;
}

export type ExportedRow = { readonly key: number; readonly row: Readonly<Record<string, unknown>> };

/**
 * Rows of a part, oldest first. The SQL texts are all from this file; what a caller sends goes as a
 * value.
 */
export async function exportPage(
  sql: Queryable,
  results: Results,
  organisation: string,
  part: ExportPart,
  { after, limit, now }: { readonly after: number; readonly limit: number; readonly now: number },
): Promise<readonly ExportedRow[]> {
  const { columns, from, key, where } = parts[part];
  const rows = await sql.unsafe<ExportedRow[]>(
    `select r.key, to_jsonb(r) - 'key' as row from (select ${key} as key, ${columns} from ` +
      `${from} where ${where} and ${key} > $2 order by ${key} limit $3) r order by r.key`,
    [organisation, after, limit],
  );
  if (!hourly.includes(part)) return rows;
  return Promise.all(
    rows.map(async ({ key: monitor, row }) => {
      const of = { key: monitor, partition: Number(row.partition) };
      const hours = await hourlyFigures(sql, results, of, now);
      const shown = part === 'response_times' ? hours.map(timesOf) : hours;
      return { key: monitor, row: { monitor: row.monitor, hours: shown } };
    }),
  );
}

function timesOf(figures: HourFigures) {
  const { continent, hour, ok, failed, unknown, took_sum, took_min, took_max } = figures;
  const times = { took_sum, took_min, took_max };
  return { continent, hour: hour.replace('.000Z', '+00:00'), ok, failed, unknown, ...times };
}
