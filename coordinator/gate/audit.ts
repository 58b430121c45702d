import type { Queryable } from '../database/connect.ts';

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

/** Stores the user's address of this moment: a later change of it changes nothing here. */
export async function insertAudit(sql: Queryable, entry: AuditEntry): Promise<void> {
  const { at, organisation, user, who, through, token_name, operation, changed, address } = entry;
  await sql`insert into audit_log (at, organisation_id, user_id, who, through, token_name,
    operation, changed, address)
    values (${new Date(at)}, ${organisation}, ${user},
      coalesce((select email from users where id = ${user}), ${who}), ${through}, ${token_name},
      ${operation}, ${JSON.stringify(changed)}::text::jsonb, ${address})`;
}
