import { Refusal } from '../../../../shared/base/errors.ts';
import { type Asked, refuseWhileEnding } from '../../../operations/operation-who-may.ts';
import type { MembersRequest } from '../web-page.ts';

/** Before a form whose work this reader may not do: who comes to its address is told so before anything is filled in. @throws Refusal. */
export const refuseUnlessMay = ({ may, caller }: MembersRequest, operation: Asked): void => {
  if (may(operation)) return;
  refuseWhileEnding(caller.organisation, operation);
  throw new Refusal(
    'role_insufficient',
    `Your role in ${caller.organisation.name}, ${caller.role}, may only look. Ask a member to do it, or an owner for another role.`,
  );
};
