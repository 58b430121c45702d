import { Refusal } from '../../shared/base/errors.ts';
import type { PlanName } from './plans.ts';

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
  /** The provider that vouched for the session, as in addresses. */
  readonly provider?: string;
  /**
   * The only organisation in which it acts: its provider vouches for it there, and has no say over
   * the account.
   */
  readonly within?: string;
  readonly from: AnonymousCaller;
};

/**
 * The caller, read afresh for every call. A member calls by a token, a session or a connector; the
 * operator calls from the machine itself, and needs no role.
 */
export type Caller = {
  readonly is: 'token' | 'session' | 'connector' | 'operator';
  readonly organisation: Organisation;
  /** Null for the operator, and for a ping key. */
  readonly user: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly token?: {
    readonly id: string;
    readonly name: string;
    /** Whether an owner made it to decide who belongs to the organisation. */
    readonly managesMembers?: boolean;
  };
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

/**
 * A signed-in user. `caller` is how they call the gate in the organisation that their session
 * chose; null without any organisation.
 */
export type SignedIn = { readonly person: Person; readonly caller: Caller | null };

/** The highest first. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const;

export type Role = (typeof roles)[number];

const scopes = ['read', 'read_write'] as const;

export type Scope = (typeof scopes)[number];

/** @throws Refusal `role_unknown`. */
export function roleFrom(text: string): Role {
  if (isRole(text)) return text;
  throw new Refusal('role_unknown', { role: `must be one of ${roles.join(', ')}.` });
}

function isRole(text: string): text is Role {
  return roles.some((role) => role === text);
}

/** @throws Refusal `scope_unknown`. */
export function scopeFrom(text: string): Scope {
  if (isScope(text)) return text;
  throw new Refusal('scope_unknown', { scope: `must be one of ${scopes.join(', ')}.` });
}

function isScope(text: string): text is Scope {
  return scopes.some((scope) => scope === text);
}

/** Viewers may only read; all others may change what the organisation monitors. */
export function mayWrite(role: Role): boolean {
  return role !== 'viewer';
}

/** Owners and admins manage members, tokens of others, probes and the plan. */
export function mayManage(role: Role): boolean {
  return role === 'owner' || role === 'admin';
}
