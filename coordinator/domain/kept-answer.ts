import { type RefusalCode, type RefusalKind, refusalCodes } from '../../shared/base/errors.ts';

/** What becomes of a call that names a key, so that the same call sent again does nothing again. Pure. */

export const keptForMs = 86_400_000;

/** The answer to a batch of 500 monitors has a fifth of it. */
export const mostKeptBytes = 512 * 1024;

/**
 * Of one organisation the newest answers are kept whole, up to so many bytes. Of an older one only stays that there was one: whoever sends its call
 * again then learns no more what it was answered, but nothing is done twice. So the bound breaks the smaller of two promises, and that for those who
 * are least likely to ask.
 */
export const mostKeptOfOrganisation = 64 * 1024 * 1024;

/** What is known of the call under this key: whose request it was, and when it was answered. */
export type Known = { readonly request: string; readonly answered_at: number };

/** `new`: nothing is known of it; `same`: the answer that is kept is the answer; `other`: the key belongs to another request. */
export type Fate = 'new' | 'same' | 'other';

export const fateOf = (known: Known | undefined, request: string, now: number): Fate => {
  if (known === undefined || known.answered_at + keptForMs <= now) return 'new';
  return known.request === request ? 'same' : 'other';
};

/** Words of no that were decided about what was asked. Everything else is about the moment: sent again, it may succeed. */
const decided: ReadonlySet<RefusalKind> = new Set(['forbidden', 'not_found', 'invalid', 'conflict']);

/** Of these kinds, what is about who asks, or about the key itself. */
const ofTheMoment: ReadonlySet<RefusalCode> = new Set([
  ...(['scope_insufficient', 'role_insufficient', 'session_missing', 'proof_needed', 'origin_foreign'] as const),
  ...(['organisation_ending', 'organisation_not_found', 'route_not_found', 'request_malformed'] as const),
  ...(['idempotency_key_in_use', 'idempotency_answer_too_large'] as const),
]);

/** Whether a refusal is kept, so that sending the call again gets it again. */
export const isKept = (code: RefusalCode): boolean => decided.has(refusalCodes[code]) && !ofTheMoment.has(code);
