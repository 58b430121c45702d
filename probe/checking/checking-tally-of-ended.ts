import type { Kind } from '../../shared/checks/checks-kinds.ts';
import type { Outcome } from '../../shared/checks/checks-result.ts';

export type Counted = { readonly kind: Kind; readonly outcome: Outcome; readonly count: number };

/** Checks that ended since the start, by kind and outcome. */
export const createTally = (): { readonly count: (kind: Kind, outcome: Outcome) => void; readonly all: () => readonly Counted[] } => {
  const counts = new Map<string, { readonly kind: Kind; readonly outcome: Outcome; count: number }>();
  return {
    count: (kind, outcome) => {
      const name = `${kind} ${outcome}`;
      const counted = counts.get(name);
      if (counted) counted.count += 1;
      else counts.set(name, { kind, outcome, count: 1 });
    },
    all: () => [...counts.values()].map((counted) => ({ ...counted })),
  };
};
