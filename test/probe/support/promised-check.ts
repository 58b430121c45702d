import type { CallbackCheck, Check } from '../../../probe/checks/types.ts';

/** A check for a test to wait for. */
export const promised =
  (check: CallbackCheck): Check =>
  (context) =>
    new Promise((resolve, reject) => check(context, resolve, reject));
