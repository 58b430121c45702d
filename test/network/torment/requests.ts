/** Whether no target gets more than its turns, its samples and the looks of rule 13, whatever fails. Pure. */

export type Request = { readonly at: number; readonly place: string };
/** A time in which partitions may have changed hands: whoever takes one over may ask again, and has a budget of his own. */
export type Upheaval = { readonly from: number; readonly until: number };

/** Each second, and so long that what comes back is seen: a flood may be a burst or go on. */
const windowsMs = [1_000, 15_000];
/** Twelve looks at once, and a sample. */
const atOnce = 13;
/** One comes back every 2 s, and a sample every 4 s. */
const budgetOf = (windowMs: number): number => atOnce + windowMs / 2_000 + Math.ceil(windowMs / 4_000);
/** So long after an upheaval leases are still moving. */
const settlesMs = 10_000;

const placesOf = (requests: readonly Request[]): ReadonlyMap<string, readonly number[]> => {
  const byPlace = new Map<string, number[]>();
  for (const { place, at } of requests) {
    const known = byPlace.get(place);
    if (known) known.push(at);
    else byPlace.set(place, [at]);
  }
  return new Map([...byPlace].map(([place, times]) => [place, times.toSorted((a, b) => a - b)]));
};

export const floods = (requests: readonly Request[], upheavals: readonly Upheaval[], intervalMs: number): string[] => {
  const byPlace = placesOf(requests);
  return windowsMs.flatMap((windowMs) => {
    // A probe that begins again, or hears of others, places its turns anew.
    const turns = windowMs / intervalMs + 4;
    const found: string[] = [];
    for (const [place, times] of byPlace) {
      let first = 0;
      let silentUntil = 0;
      for (const [index, at] of times.entries()) {
        while ((times[first] ?? at) <= at - windowMs) first += 1;
        const count = index - first + 1;
        const owners = 1 + upheavals.filter(({ from, until }) => from <= at && until + settlesMs >= at - windowMs).length;
        if (at < silentUntil || count <= turns + owners * budgetOf(windowMs)) continue;
        found.push(`${place} got ${count} requests in the ${windowMs / 1_000} s before ${new Date(at).toISOString()}`);
        silentUntil = at + windowMs;
      }
    }
    return found;
  });
};
