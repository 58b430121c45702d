import type { Operation } from '../../../../shared/api/operation.ts';
import { Refusal } from '../../../../shared/base/refusal.ts';
import type { MembersRequest } from '../page.ts';

/** Before a form whose work this reader may not do: who comes to its address is told so before anything is filled in. @throws Refusal. */
export const refuseUnlessMay = ({ may, caller }: MembersRequest, operation: Pick<Operation, 'access'>): void => {
  if (may(operation)) return;
  throw new Refusal(
    'role_insufficient',
    `Your role in ${caller.organisation.name}, ${caller.role}, may only look. Ask a member to do it, or an owner for another role.`,
  );
};
