import {
  type KnownRegistration,
  registrationShape,
} from '../../shared/checks/domain/registration.ts';
import type { Queryable } from '../database/connect.ts';

/** What registries said is public, and kept once for all organisations. */

export async function registrationsOf(
  sql: Queryable,
  domains: readonly string[],
): Promise<ReadonlyMap<string, KnownRegistration>> {
  if (domains.length === 0) return new Map();
  const rows = await sql<{ domain: string; answer: unknown }[]>`
    select domain, answer from registrations where domain = any(${domains})
  `;
  return new Map(
    rows.flatMap(({ domain, answer }) => {
      const read = registrationShape.safeParse(answer);
      return read.success && read.data.is !== 'unknown' ? [[domain, read.data] as const] : [];
    }),
  );
}

/** The domain monitors of an organisation, or one of them. */
export function domainMonitors(
  sql: Queryable,
  organisation: string,
  monitor: string | null,
): Promise<{ id: string; name: string; target: string }[]> {
  return sql<{ id: string; name: string; target: string }[]>`
  select id, name, target from monitors
  where organisation_id = ${organisation} and type = 'domain'
    ${monitor === null ? sql`` : sql`and id = ${monitor}`}
`;
}

/** The newer answer stays, whoever writes last. */
export async function keepRegistration(
  sql: Queryable,
  domain: string,
  answer: KnownRegistration,
): Promise<void> {
  const asked = new Date(answer.asked_at);
  await sql`
    insert into registrations (domain, answer, asked_at)
    values (${domain}, ${JSON.stringify(answer)}::text::jsonb, ${asked})
    on conflict (domain) do update set answer = excluded.answer, asked_at = excluded.asked_at
    where registrations.asked_at <= excluded.asked_at
  `;
}

/** Domains that nobody watches any more are not asked about, so that their answers get old. */
export async function forgetRegistrations(sql: Queryable, before: number): Promise<void> {
  await sql`delete from registrations where asked_at < ${new Date(before)}`;
}

export async function readRegistries(
  sql: Queryable,
): Promise<{ readonly list: unknown; readonly read_at: number } | undefined> {
  const [row] = await sql<{ list: unknown; read_at: number }[]>`
    select list, read_at from registries
  `;
  return row;
}

export async function keepRegistries(sql: Queryable, list: unknown, now: number): Promise<void> {
  await sql`
    insert into registries (list, read_at) values (${JSON.stringify(list)}::text::jsonb, ${new Date(now)})
    on conflict (single) do update set list = excluded.list, read_at = excluded.read_at
  `;
}
