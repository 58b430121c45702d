import type { Queryable } from './store-database.ts';

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

export type AuditRow = Omit<AuditEntry, 'organisation' | 'user'> & { readonly key: number };

export type AuditFilter = {
  readonly who: string | null;
  readonly operation: string | null;
  readonly from: number | null;
  readonly until: number | null;
};

/** What was done in an organisation, the newest first. */
export const auditPage = (
  sql: Queryable,
  organisation: string,
  { who, operation, from, until }: AuditFilter,
  before: number,
  most: number,
): Promise<AuditRow[]> =>
  sql<AuditRow[]>`
    select key, at, who, through, token_name, operation, changed, address from audit_log
    where organisation_id = ${organisation} and key < ${before}
      ${who === null ? sql`` : sql`and who = ${who}`} ${operation === null ? sql`` : sql`and operation = ${operation}`}
      ${from === null ? sql`` : sql`and at >= ${new Date(from)}`} ${until === null ? sql`` : sql`and at < ${new Date(until)}`}
    order by key desc limit ${most}`;

/** Who did anything in it, and which operations were done. */
export const auditChoices = async (
  sql: Queryable,
  organisation: string,
): Promise<{ readonly who: readonly string[]; readonly operations: readonly string[] }> => {
  const [row] = await sql<{ who: string[] | null; operations: string[] | null }[]>`
    select array_agg(distinct who order by who) as who, array_agg(distinct operation order by operation) as operations
    from audit_log where organisation_id = ${organisation}`;
  return { who: row?.who ?? [], operations: row?.operations ?? [] };
};

export const forgetAudit = async (sql: Queryable, before: Date): Promise<void> => {
  await sql`delete from audit_log where at < ${before}`;
};
