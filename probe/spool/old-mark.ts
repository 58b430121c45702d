/**
 * The highest number that had been given three seconds ago: what a probe must have handed over to say that it keeps nothing (rule 4). Remembers a
 * few of the latest.
 */
export type OldMark = {
  /** This is the highest number given now. */
  readonly note: (at: number, seq: number) => void;
  readonly seq: () => number;
};

/** A second more than what is no news may wait for its turn. */
const oldAfterMs = 3_000;
const noteEveryMs = 500;

export const createOldMark = (at: number, seq: number): OldMark => {
  const marks = [{ at, seq }];
  return {
    note: (now, highest) => {
      if (now - (marks.at(-1)?.at ?? 0) >= noteEveryMs) marks.push({ at: now, seq: highest });
      while (marks.length > 1 && now - (marks[1]?.at ?? now) >= oldAfterMs) marks.shift();
    },
    seq: () => marks[0]?.seq ?? 0,
  };
};
