import type { Kind } from '../../shared/checks/kinds.ts';
import type { Check } from './check.ts';
import { createHttpsCheck, type HttpsParts } from './https.ts';

/** What each kind of check needs of the probe beyond its context. */
export type CheckParts = { readonly https: HttpsParts };

/** How each kind is checked: the one table of rows to add to. */
export const createChecks = (parts: CheckParts): Readonly<Pick<Record<Kind, Check>, 'https'>> => ({
  https: createHttpsCheck(parts.https),
});
