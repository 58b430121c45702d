import type { Role, Scope } from '../organisations/model.ts';
import type { PlanName } from '../organisations/plans.ts';

/** The organisation that a call acts in, as it is at this moment. */
export type Organisation = {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly time_zone: string;
  /** When it is deleted, in milliseconds; null: nobody asked for that. Until then it is only looked at. */
  readonly ends_at: number | null;
};

/** Somebody at a browser of whom nothing is known yet but where the request came from. */
export type AnonymousCaller = {
  readonly address: string;
  /** What the browser says that it is. */
  readonly device: string;
  /** What the session's cookie holds, if there is one: signing in ends that session. */
  readonly cookie?: string | undefined;
};

/** Somebody who is signed in, whatever organisations they belong to. */
export type Person = {
  readonly user: string;
  readonly email: string;
  readonly name: string;
  readonly email_verified: boolean;
  /** May see the operator's page; the gate looks again by itself. */
  readonly is_operator: boolean;
  /** The session's id. */
  readonly session: string;
  /** When they last proved to be who they are. */
  readonly proven_at: number;
  readonly from: AnonymousCaller;
};

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
  /** For a connector: which connection, and what the assistant calls itself. */
  readonly connection?: { readonly id: string; readonly client: string };
  /** Who it is, for a session. */
  readonly person?: Person;
  /** The address that the call came from, where a network lies between. */
  readonly address?: string | undefined;
};

/** The operator acting in an organisation. */
export const operatorIn = (organisation: Organisation): Caller => ({
  is: 'operator',
  organisation,
  user: null,
  role: 'owner',
  scope: 'read_write',
});
