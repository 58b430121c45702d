import { redact } from '../../shared/api/operation.ts';
import { isRecord } from '../../shared/base/json.ts';
import type { Queryable } from '../database/connect.ts';
import { type AuditEntry, insertAudit } from '../organisations/queries.ts';
import type { Answered } from './bind.ts';
import type { AuditDetails } from './context.ts';

/** Who acts, as the audit log tells it. */
export type Actor = Pick<AuditEntry, 'organisation' | 'user' | 'who' | 'through' | 'token_name' | 'address'>;

type Values = Readonly<Record<string, unknown>>;

/** Of two states of a thing what differs; of a new or a gone one all. */
const differences = (before: Values | undefined, after: Values | undefined): Values => {
  const differs = ([key, value]: [string, unknown]): boolean =>
    before === undefined || after === undefined || JSON.stringify(before[key]) !== JSON.stringify(after[key]) || value === undefined;
  const part = (of: Values | undefined) => (of === undefined ? undefined : Object.fromEntries(Object.entries(of).filter(differs)));
  return { before: part(before), after: part(after) };
};

const idIn = (body: unknown): Values => (isRecord(body) && typeof body.id === 'string' ? { id: body.id } : {});

/** The trace of one operation. What its handler noted of before and after goes before what was sent; secrets go into neither. */
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
