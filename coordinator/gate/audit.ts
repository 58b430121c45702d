import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';

export type AuditEntry = {
  readonly at: number;
  readonly organisation: string | null;
  readonly user: string | null;
  /** Used where there is no user. */
  readonly who: string;
  readonly through: 'page' | 'api' | 'assistant' | 'operator';
  readonly token_name: string | null;
  readonly operation: string;
  readonly changed: Readonly<Record<string, unknown>>;
  readonly address: string | null;
};

/** Stores the users' addresses of this moment: a later change of one changes nothing here. */
export async function insertAudit(
  sql: Queryable,
  ...entries: readonly AuditEntry[]
): Promise<void> {
  const rows = entries.map(({ at, ...entry }) => ({ ...entry, at: isoText(at) }));
  await sql`insert into audit_log (at, organisation_id, user_id, who, through, token_name,
    operation, changed, address)
    select e.at, e.organisation, e."user", coalesce(u.email, e.who), e.through, e.token_name,
      e.operation, e.changed, e.address
    from json_to_recordset(${jsonText(rows)}::text::json) as e (at timestamptz, organisation uuid,
      "user" uuid, who text, through text, token_name text, operation text, changed jsonb,
      address text)
    left join users u on u.id = e."user"`;
}
