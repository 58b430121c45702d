import type { Role, Scope } from '../domain/organisation.ts';
import type { PlanName } from '../domain/plan.ts';

/** The organisation that a call acts in, as it is at this moment. */
export type Organisation = { readonly id: string; readonly name: string; readonly plan: PlanName; readonly time_zone: string };

/**
 * Who is calling, read afresh for every call. A member calls by a token, a session or a connector; the operator calls from the
 * machine itself and stands above roles.
 */
export type Caller = {
  readonly is: 'token' | 'session' | 'connector' | 'operator';
  readonly organisation: Organisation;
  /** Null for the operator. */
  readonly user: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly token?: { readonly id: string; readonly name: string };
};

/** The operator acting in an organisation. */
export const operatorIn = (organisation: Organisation): Caller => ({
  is: 'operator',
  organisation,
  user: null,
  role: 'owner',
  scope: 'read_write',
});
