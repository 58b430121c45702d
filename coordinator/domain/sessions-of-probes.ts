/**
 * The processes that speak as one probe. There should be one; a second one, started later, is the one that is meant (a probe that moved, or
 * whose machine hung), so the older is told to end. Two that go on taking each other's place are left in peace: somebody starts both
 * again and again, and only people can say which one is meant.
 *
 * Modes of a process: the newest → (a later one speaks) older → told to end; forgotten when it was silent for a while.
 */
export type Sessions = {
  readonly known: readonly Session[];
  /** Who was told to end, and when. */
  readonly told: readonly { readonly id: string; readonly at: number }[];
};

type Session = { readonly id: string; readonly began: number; readonly first_at: number; readonly heard_at: number };

export const noSessions: Sessions = { known: [], told: [] };

/** Silent for so long it is gone. */
const silentMs = 15_000;
/** So many are told to end within so long. */
const mostTold = 3;
const toldWithinMs = 300_000;

/** `up_ms`: for how long the process has run, by its own count, so that no clock has to be right. */
export type Said = { readonly id: string; readonly up_ms: number };

/** `isOlder`: whether a later process speaks as the same probe; `ends`: whether it is to be told so. */
export type Heard = { readonly sessions: Sessions; readonly isOlder: boolean; readonly ends: boolean };

export const hearSession = ({ known, told }: Sessions, { id, up_ms }: Said, now: number): Heard => {
  const alive = known.filter((session) => session.id !== id && now - session.heard_at < silentMs);
  const before = known.find((session) => session.id === id);
  // A message that took its time makes it look younger than it is.
  const began = Math.min(before?.began ?? Number.POSITIVE_INFINITY, now - up_ms);
  const firstAt = before?.first_at ?? now;
  // By our own count: a word that was held up on its way was spoken long before it is heard.
  const spokenAt = began + up_ms;
  // One that has not been heard since this one was may be what this one took over from, whatever our own standstills made of their ages. And
  // one that began only after this word was spoken may have taken over from this one.
  const isOlder = alive.some(
    (other) => other.heard_at > firstAt && spokenAt > other.began && (other.began > began || (other.began === began && other.id > id)),
  );
  const lately = told.filter(({ at }) => now - at < toldWithinMs);
  const ends = isOlder && (lately.some((each) => each.id === id) || lately.length < mostTold);
  return {
    sessions: {
      known: [...alive, { id, began, first_at: firstAt, heard_at: now }],
      told: ends && !lately.some((each) => each.id === id) ? [...lately, { id, at: now }] : lately,
    },
    isOlder,
    ends,
  };
};
