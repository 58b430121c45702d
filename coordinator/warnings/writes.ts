import { isoText } from '../../shared/base/time.ts';
import type { CauseParams, CertificateNote } from '../../shared/checks/result.ts';
import { isWarningCode } from '../../shared/checks/warnings.ts';
import type { Effect, HeldWarning } from '../core/types.ts';
import { maxTold, toldAs } from '../core/warnings.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';

/** The engine's side of warnings (rule 44): rows as the core decided them. */

export type WarningWrite = Omit<Extract<Effect, { is: 'warning' }>, 'is'> & {
  readonly monitor: string;
};

/**
 * Ended warnings first, so that there is never more than one of a code open. Those of deleted
 * monitors are left out.
 */
export function writeWarnings(sql: Queryable, writes: readonly WarningWrite[]): Statement[] {
  if (writes.length === 0) return [];
  const rows = writes.map(({ monitor, change, warning, ended_at }) => ({
    id: warning.id,
    monitor_id: monitor,
    code: warning.code,
    details: warning.details,
    began_at: isoText(warning.since),
    confirmed_at: isoText(warning.begun_at),
    ended_at: isoText(ended_at),
    told: told[change],
  }));
  // One statement may change a row only once. Each write is the whole row, so the last one counts.
  const last = new Map(rows.map((row) => [row.id, row]));
  return [
    sql`
      insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at,
        ended_at)
      select w.id, m.organisation_id, m.id, w.code, w.details, w.began_at, w.confirmed_at,
        w.ended_at
      from json_to_recordset(${jsonText([...last.values()])}::text::json) as w (id uuid,
        monitor_id uuid, code text, details jsonb, began_at timestamptz, confirmed_at timestamptz,
        ended_at timestamptz)
      join monitors m on m.id = w.monitor_id
      order by w.ended_at is null, w.began_at
      on conflict (id) do update set details = excluded.details, ended_at = excluded.ended_at`,
    sql`
      insert into alerts (organisation_id, monitor_id, warning_id, event, details, state)
      select m.organisation_id, m.id, w.id, w.told, w.details, 'due'
      from json_to_recordset(${jsonText(rows.filter((row) => row.told !== null))}::text::json)
        as w (id uuid, monitor_id uuid, told text, details jsonb)
      join monitors m on m.id = w.monitor_id
      where exists (select 1 from warnings where id = w.id)`,
  ];
}

/** Which changes of a warning are notified. */
const told = {
  begun: 'warning',
  deepened: 'warning',
  changed: null,
  ended: 'warning_over',
} as const satisfies Record<WarningWrite['change'], string | null>;

export type CertificateWrite = CertificateNote & { readonly monitor: string; readonly at: number };

export function writeCertificates(
  sql: Queryable,
  writes: readonly CertificateWrite[],
): Statement[] {
  if (writes.length === 0) return [];
  const last = new Map(
    writes
      .toSorted((a, b) => a.at - b.at)
      .map(({ starts_at, ends_at, at, ...rest }) => [
        rest.monitor,
        { ...rest, starts_at: isoText(starts_at), ends_at: isoText(ends_at), seen_at: isoText(at) },
      ]),
  );
  return [
    sql`
      insert into certificates (monitor_id, organisation_id, fingerprint, issuer, starts_at,
        ends_at, seen_at)
      select m.id, m.organisation_id, c.fingerprint, c.issuer, c.starts_at, c.ends_at, c.seen_at
      from json_to_recordset(${jsonText([...last.values()])}::text::json) as c (monitor uuid,
        fingerprint text, issuer text, starts_at timestamptz, ends_at timestamptz,
        seen_at timestamptz)
      join monitors m on m.id = c.monitor
      order by m.id
      on conflict (monitor_id) do update
      set fingerprint = excluded.fingerprint, issuer = excluded.issuer,
        starts_at = excluded.starts_at, ends_at = excluded.ends_at, seen_at = excluded.seen_at
      where certificates.seen_at < excluded.seen_at`,
  ];
}

type OpenRow = {
  readonly id: string;
  readonly monitor_id: string;
  readonly code: string;
  readonly details: CauseParams;
  readonly began_at: number;
  readonly confirmed_at: number;
  readonly told: readonly CauseParams[];
};

/** The warnings of a partition's monitors that it began and has not ended, by monitor. */
export async function openWarnings(
  sql: Queryable,
  partition: number,
): Promise<ReadonlyMap<string, readonly HeldWarning[]>> {
  const rows = await sql<OpenRow[]>`
    select w.id, w.monitor_id, w.code, w.details, w.began_at, w.confirmed_at, (
      select coalesce(jsonb_agg(a.details order by a.id), '[]') from alerts a
      where a.warning_id = w.id and a.organisation_id = w.organisation_id and a.event = 'warning'
    ) as told
    from warnings w join monitors m on m.id = w.monitor_id
    where w.ended_at is null and w.objective_id is null and m.partition = ${partition}
    order by w.key`;
  const held = rows.flatMap(({ id, monitor_id, code, details, began_at, confirmed_at, told }) =>
    isWarningCode(code)
      ? [
          {
            monitor: monitor_id,
            warning: {
              id,
              code,
              details,
              since: began_at,
              begun_at: confirmed_at,
              below_since: null,
              told: told.slice(-maxTold).map(toldAs),
              views: [],
            },
          },
        ]
      : [],
  );
  return new Map(
    [...Map.groupBy(held, ({ monitor }) => monitor)].map(([monitor, own]) => [
      monitor,
      own.map(({ warning }) => warning),
    ]),
  );
}
