import type { Operation } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/refusal.ts';
import type { Caller, Person } from '../access/caller.ts';
import { mayManage, mayWrite } from '../domain/organisation.ts';
import { isProven } from '../domain/session.ts';

/** Whether somebody proved lately to be who signed in, so that what is dangerous is done without asking. */
export const isProvenNow = ({ proven_at }: Person, now: number): boolean => isProven(proven_at, now);

/** Before what is dangerous, whoever sits at the browser proves anew to be who signed in. @throws Refusal. */
export const refuseUnlessProven = ({ dangerous }: Operation, person: Person | undefined, now: number): void => {
  if (dangerous !== true || person === undefined || isProven(person.proven_at, now)) return;
  throw new Refusal('proof_needed', 'It is a while since you signed in; give your password once more.');
};

const roleRefusal = (caller: Caller, { access }: Pick<Operation, 'access'>): Refusal | undefined => {
  if (caller.is === 'operator' || access === 'read') return undefined;
  if (caller.is === 'connector' && caller.scope !== 'read_write' && mayWrite(caller.role))
    return new Refusal(
      'scope_insufficient',
      'This assistant was connected to look only; disconnect it, and connect it anew to look and change.',
    );
  if (caller.is !== 'connector' && caller.scope !== 'read_write')
    return new Refusal('scope_insufficient', 'This token may only read; make one with the scope read_write to change something.');
  if (!mayWrite(caller.role)) return new Refusal('role_insufficient', 'Your role in this organisation, viewer, may only look.');
  if (access === 'manage' && !mayManage(caller.role))
    return new Refusal('role_insufficient', 'Only an owner or an admin of this organisation may do this.');
  return undefined;
};

/** For a page that leaves out what its reader may not do. */
export const isAllowed = (caller: Caller, operation: Pick<Operation, 'access'>): boolean => roleRefusal(caller, operation) === undefined;

/** Scope is what the user granted the program, role what the user was allowed to grant: a write needs both. @throws Refusal. */
export const refuseUnlessAllowed = (caller: Caller, operation: Operation, now: number): void => {
  const refusal = roleRefusal(caller, operation);
  if (refusal) throw refusal;
  if (caller.is !== 'operator') refuseUnlessProven(operation, caller.person, now);
};
