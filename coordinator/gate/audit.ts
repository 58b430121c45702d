import { redact } from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Queryable } from '../database/connect.ts';
import { type AuditEntry, insertAudit } from '../organisations/queries.ts';
import type { Answered } from './bind.ts';
import type { AuditDetails } from './context.ts';

/** The actor as the audit log records it. */
export type Actor = Pick<AuditEntry, 'organisation' | 'user' | 'who' | 'through' | 'token_name' | 'address'>;

type Values = Readonly<Record<string, unknown>>;

/** The differences between two states of a thing; everything for a created or deleted one. */
const differences = (before: Values | undefined, after: Values | undefined): Values => {
  const differs = ([key, value]: [string, unknown]): boolean =>
    before === undefined || after === undefined || JSON.stringify(before[key]) !== JSON.stringify(after[key]) || value === undefined;
  const part = (of: Values | undefined) => (of === undefined ? undefined : Object.fromEntries(Object.entries(of).filter(differs)));
  return { before: part(before), after: part(after) };
};

const idIn = (body: unknown): Values => (isRecord(body) && typeof body.id === 'string' ? { id: body.id } : {});

/**
 * Writes the audit entry of one operation. The handler's own before and after take precedence over
 * the input. Neither contains secrets.
 */
export const writeAudit = async (
  sql: Queryable,
  done: {
    readonly at: number;
    readonly actor: Actor;
    readonly operation: string;
    readonly about: Values;
    readonly sent: unknown;
    readonly noted: AuditDetails;
    readonly answered: Answered;
  },
): Promise<void> => {
  const { at, actor, operation, about, sent, noted, answered } = done;
  const isNoted = noted.before !== undefined || noted.after !== undefined;
  await insertAudit(sql, {
    ...actor,
    user: noted.user ?? actor.user,
    organisation: noted.organisation ?? actor.organisation,
    at: new Date(at),
    operation,
    changed: {
      about: { ...idIn(answered.body), ...about },
      ...(isNoted ? differences(noted.before, noted.after) : { sent: redact(sent) }),
    },
  });
};
