import { Refusal } from '../../../shared/base/errors.ts';

/** One, or null for all; all of them has to be said. @throws Refusal `request_malformed`. */
export const whichSetAside = ({ set_aside_id, all }: { readonly set_aside_id: number | null; readonly all: boolean }): number | null => {
  if ((set_aside_id !== null) === all) throw new Refusal('request_malformed', 'Say which message: give its id, or say all of them.');
  return set_aside_id;
};
