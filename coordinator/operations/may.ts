import type { Access } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/refusal.ts';
import type { Caller } from '../access/caller.ts';
import { mayManage, mayWrite } from '../domain/organisation.ts';

/** Scope is what the user granted the program, role what the user was allowed to grant: a write needs both. @throws Refusal. */
export const refuseUnlessAllowed = (caller: Caller, access: Access): void => {
  if (access === 'read' || caller.is === 'operator') return;
  if (caller.scope !== 'read_write')
    throw new Refusal('scope_insufficient', 'This token may only read; make one with the scope read_write to change something.');
  if (!mayWrite(caller.role)) throw new Refusal('role_insufficient', 'Your role in this organisation, viewer, may only look.');
  if (access === 'manage' && !mayManage(caller.role))
    throw new Refusal('role_insufficient', 'Only an owner or an admin of this organisation may do this.');
};
