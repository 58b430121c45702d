import type { Queryable } from './database.ts';

export type AuditEntry = {
  readonly at: Date;
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

/** The address of the user is that of this moment: what they are called later changes nothing here. */
export const insertAudit = async (sql: Queryable, entry: AuditEntry): Promise<void> => {
  const { at, organisation, user, who, through, token_name, operation, changed, address } = entry;
  await sql`insert into audit_log (at, organisation_id, user_id, who, through, token_name, operation, changed, address)
    values (${at}, ${organisation}, ${user}, coalesce((select email from users where id = ${user}), ${who}), ${through}, ${token_name},
      ${operation}, ${JSON.stringify(changed)}::text::jsonb, ${address})`;
};

export const forgetAudit = async (sql: Queryable, before: Date): Promise<void> => {
  await sql`delete from audit_log where at < ${before}`;
};
