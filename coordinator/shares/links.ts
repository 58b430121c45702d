import { createHash, randomBytes } from 'node:crypto';
import { newId } from '../../shared/base/crypto.ts';
import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';

/** Links that show an incident or a report to whoever has them, until they are revoked or expire. */

type Shared = {
  readonly organisation: string;
  /** An incident has one link: a new one revokes that before it. */
  readonly incident?: string;
  /** What the report is asked, as its operation takes it. */
  readonly report?: { readonly title: string; readonly asked: object };
  readonly user: string | null;
  readonly at: number;
  readonly expires_at?: number | null;
};

/** The secret is so long that its plain hash reveals nothing. */
export async function writeShare(
  sql: Queryable,
  { organisation, incident, report, user, at, expires_at = null }: Shared,
): Promise<{ readonly id: string; readonly secret: string }> {
  const [id, secret] = [newId(), randomBytes(24).toString('base64url')];
  await sql`insert into shares (id, organisation_id, incident_id, report, title, fingerprint,
      shared_by, shared_at, expires_at)
    values (${id}, ${organisation}, ${incident ?? null},
      ${report === undefined ? null : JSON.stringify(report.asked)}::text::jsonb,
      ${report?.title ?? null}, ${fingerprintOf(secret)}, ${user}, ${isoText(at)},
      ${isoText(expires_at)})
    on conflict (incident_id) do update
    set fingerprint = excluded.fingerprint, shared_by = excluded.shared_by,
      shared_at = excluded.shared_at`;
  return { id, secret };
}

function fingerprintOf(secret: string): Buffer {
  return createHash('sha256').update(`share ${secret}`).digest();
}

/** Of an incident, or of a report by its id. True when there was one. */
export async function removeShare(
  sql: Queryable,
  organisation: string,
  { incident, report }: { readonly incident?: string; readonly report?: string },
): Promise<boolean> {
  const { count } = await sql`delete from shares where organisation_id = ${organisation}
    and (incident_id = ${incident ?? null} or (id = ${report ?? null} and report is not null))`;
  return count > 0;
}

type ShareRow = { readonly by: string | null; readonly at: number };

export async function shareOf(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<ShareRow | undefined> {
  const [row] = await sql<ShareRow[]>`
    select u.email as by, s.shared_at as at from shares s left join users u on u.id = s.shared_by
    where s.organisation_id = ${organisation} and s.incident_id = ${incident}`;
  return row;
}

type ReportShareRow = ShareRow & {
  readonly id: string;
  readonly title: string;
  readonly report: unknown;
  readonly expires_at: number | null;
};

/** Links to reports that have not expired, newest first. */
export function reportShares(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<ReportShareRow[]> {
  return sql<ReportShareRow[]>`
    select s.id, s.title, s.report, u.email as by, s.shared_at as at, s.expires_at
    from shares s left join users u on u.id = s.shared_by
    where s.organisation_id = ${organisation} and s.report is not null
      and (s.expires_at is null or s.expires_at > ${isoText(now)})
    order by s.shared_at desc, s.id desc`;
}

type OpenedShare = {
  readonly organisation: string;
  readonly name: string;
  readonly time_zone: string;
  readonly incident: string | null;
  readonly report: unknown;
};

const shape = /^[A-Za-z0-9_-]{32}$/;

/** What a link shows now; nothing of an organisation that is about to end. */
export async function openShare(
  sql: Queryable,
  secret: string,
  now: number,
): Promise<OpenedShare | undefined> {
  if (!shape.test(secret)) return undefined;
  const [row] = await sql<OpenedShare[]>`
    select s.organisation_id as organisation, o.name, o.time_zone, s.incident_id as incident, s.report
    from shares s join organisations o on o.id = s.organisation_id and o.ends_at is null
    where s.fingerprint = ${fingerprintOf(secret)}
      and (s.expires_at is null or s.expires_at > ${isoText(now)})`;
  return row;
}

export async function forgetExpiredShares(sql: Queryable, now: number): Promise<void> {
  await sql`delete from shares where expires_at <= ${isoText(now)}`;
}
