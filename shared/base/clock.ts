/** Where the time comes from: milliseconds since the epoch, given to whoever needs it so that tests move it by hand. */
export type Clock = { readonly now: () => number };

export const systemClock: Clock = { now: () => Date.now() };
