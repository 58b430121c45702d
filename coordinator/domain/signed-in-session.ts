/** How long people stay signed in, and for how long a proof of who they are counts. */

const minute = 60_000;
const day = 86_400_000;

/** A session that nobody uses for so long is over. */
export const idleMs = 7 * day;
/** So old none gets, however much it is used. */
export const oldestMs = 30 * day;
/** A password (or what stands for it) counts for so long before dangerous acts. */
const provenMs = 15 * minute;

export const isOver = (session: { readonly created_at: Date; readonly last_used_at: Date }, now: number): boolean =>
  now - session.last_used_at.getTime() >= idleMs || now - session.created_at.getTime() >= oldestMs;

export const isProven = (proven_at: number, now: number): boolean => now - proven_at < provenMs;

/** How long links and half-done acts are good for. */
export const linkLives = {
  operator: 60 * minute,
  passwordReset: 60 * minute,
  email: 2 * day,
  signUp: 2 * day,
  invitation: 7 * day,
  secondStep: 10 * minute,
  passkey: 5 * minute,
} as const;
