import { isReadOnly, type Operation } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { type Caller, mayManage, mayWrite, type Organisation, type Person } from './caller.ts';

/** The same refusal for a link that never existed, was used, or expired. */
export function deadLink(): Refusal {
  return new Refusal('link_invalid', 'This link was used already, or has ended.');
}

/**
 * The part of an operation that decides who may call it, and when. An operation declares it in
 * `shared/api/`, or in its subject's `contract.ts` where only pages and operators call it.
 */
export type AccessRule = Pick<Operation, 'access' | 'does' | 'body' | 'whileEnding'>;

/** How long a password (or its replacement) counts for dangerous operations. */
const provenMs = 15 * 60_000;

/** Whether the user proved their identity recently enough for a dangerous operation. */
export function isRecentlyProven({ proven_at }: Person, now: number): boolean {
  return now - proven_at < provenMs;
}

/** Before a dangerous operation, the user must prove their identity again. @throws Refusal. */
export function refuseUnlessProven(
  { dangerous }: Operation,
  person: Person | undefined,
  now: number,
): void {
  if (dangerous !== true || person === undefined || isRecentlyProven(person, now)) return;
  throw new Refusal('proof_needed', 'Confirm your password to continue.');
}

/**
 * An organisation's provider speaks for its members there. If it could change how they sign in, it
 * would enter their other organisations. @throws Refusal `provider_insufficient`.
 */
export function refuseWithin({ dangerous }: Operation, { within }: Person): void {
  if (within === undefined || dangerous !== true) return;
  throw new Refusal(
    'provider_insufficient',
    'The provider of your organisation signed you in, which does not reach how your account signs in. Sign out, and sign in with a password or a passkey.',
  );
}

/**
 * An organisation awaiting deletion is read-only, so that it can be restored. @throws Refusal
 * `organisation_ending`.
 */
export function refuseWhileEnding(
  organisation: Pick<Organisation, 'name' | 'ends_at'>,
  asked: AccessRule,
): void {
  const refusal = endingRefusal(organisation, asked);
  if (refusal) throw refusal;
}

function endingRefusal(
  { name, ends_at }: Pick<Organisation, 'name' | 'ends_at'>,
  asked: AccessRule,
): Refusal | undefined {
  if (ends_at === null || asked.whileEnding === true || isReadOnly(asked)) return undefined;
  const when = new Date(ends_at).toISOString().slice(0, 16).replace('T', ' ');
  return new Refusal(
    'organisation_ending',
    `${name} is going to be deleted on ${when} UTC, so nothing in it can be changed. An owner can still keep it, on its page.`,
  );
}

/** For a page that hides what its reader may not do. */
export function isAllowed(caller: Caller, asked: AccessRule): boolean {
  return (
    roleRefusal(caller, asked) === undefined &&
    endingRefusal(caller.organisation, asked) === undefined
  );
}

function roleRefusal(caller: Caller, { access }: Pick<Operation, 'access'>): Refusal | undefined {
  if (caller.is === 'operator' || access === 'read') return undefined;
  if (
    caller.is === 'connector' &&
    caller.scope !== 'read_write' &&
    (access === 'self' || mayWrite(caller.role))
  )
    return new Refusal(
      'scope_insufficient',
      'This assistant can only read. To let it write, disconnect it and connect it again.',
    );
  if (caller.is !== 'connector' && caller.scope !== 'read_write')
    return new Refusal(
      'scope_insufficient',
      'This token can only read. To write, create one with the scope read_write.',
    );
  if (access === 'self') return undefined;
  if (!mayWrite(caller.role))
    return new Refusal(
      'role_insufficient',
      'You are a viewer of this organisation, so you can only read.',
    );
  if (access !== 'write' && !mayManage(caller.role))
    return new Refusal(
      'role_insufficient',
      'Only owners and admins can open or change it. Ask one of them.',
    );
  if (access === 'members' && !mayManageMembers(caller))
    return new Refusal(
      'scope_insufficient',
      caller.is === 'connector'
        ? 'An assistant cannot decide who belongs to the organisation. A person can, on the page Members.'
        : 'This token cannot manage members. An owner can make one that can, on the page API & assistants.',
    );
  if (access === 'own' && caller.role !== 'owner')
    return new Refusal('role_insufficient', 'Only owners can open or change it. Ask one of them.');
  return undefined;
}

/** In person; or by a token that an owner made for it. */
function mayManageMembers({ is, role, token }: Caller): boolean {
  return is === 'session' || (role === 'owner' && token?.managesMembers === true);
}

/**
 * The scope is what the user granted the program; the role is what the user may do. A write needs
 * both. @throws Refusal.
 */
export function refuseUnlessAllowed(caller: Caller, operation: Operation, now: number): void {
  const refusal = roleRefusal(caller, operation);
  if (refusal) throw refusal;
  refuseWhileEnding(caller.organisation, operation);
  if (caller.is !== 'operator') refuseUnlessProven(operation, caller.person, now);
}
