import type { Role, Scope } from '../organisations/model.ts';
import type { PlanName } from '../organisations/plans.ts';

/** The organisation that a call acts in, as it is at this moment. */
export type Organisation = {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly time_zone: string;
  /**
   * When it will be deleted, in milliseconds; null: no one asked for deletion. Until then it is
   * read-only.
   */
  readonly ends_at: number | null;
};

/** A browser without a sign-in: only the origin of its request is known. */
export type AnonymousCaller = {
  readonly address: string;
  /** The browser's own description. */
  readonly device: string;
  /** The session cookie, if any: signing in ends that session. */
  readonly cookie?: string | undefined;
};

/** A signed-in user, whatever organisations they belong to. */
export type Person = {
  readonly user: string;
  readonly email: string;
  readonly name: string;
  readonly email_verified: boolean;
  /** May see the operator's page; the gate checks again by itself. */
  readonly is_operator: boolean;
  /** The session's id. */
  readonly session: string;
  /** When they last proved their identity. */
  readonly proven_at: number;
  readonly from: AnonymousCaller;
};

/**
 * The caller, read afresh for every call. A member calls by a token, a session or a connector; the
 * operator calls from the machine itself, and needs no role.
 */
export type Caller = {
  readonly is: 'token' | 'session' | 'connector' | 'operator';
  readonly organisation: Organisation;
  /** Null for the operator. */
  readonly user: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly token?: { readonly id: string; readonly name: string };
  /** For a connector: its connection, and the name that the assistant gave itself. */
  readonly connection?: { readonly id: string; readonly client: string };
  /** For a session: its user. */
  readonly person?: Person;
  /** The address that the call came from, if it came over a network. */
  readonly address?: string | undefined;
  /** Aborts when the caller has gone and nobody waits for the answer any more. */
  readonly gone?: AbortSignal;
};

/** The operator acting in an organisation. */
export function operatorIn(organisation: Organisation): Caller {
  return {
    is: 'operator',
    organisation,
    user: null,
    role: 'owner',
    scope: 'read_write',
  };
}
