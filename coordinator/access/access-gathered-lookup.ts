/**
 * Lookups that come while one is under way wait for the next, which takes all of them: each call is answered from a query that
 * began after it came in, and fifty callers at once cost one round trip.
 */
export const createGatheredLookup = <Holder extends { readonly fingerprint: string }>(
  holdersOf: (fingerprints: readonly string[]) => Promise<readonly Holder[]>,
): ((fingerprint: string) => Promise<Holder | undefined>) => {
  type Waiting = { readonly resolve: (holder: Holder | undefined) => void; readonly reject: (error: unknown) => void };
  let waiting = new Map<string, Waiting[]>();
  let underWay = false;
  const run = async (): Promise<void> => {
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        const holders = new Map((await holdersOf([...batch.keys()])).map((holder) => [holder.fingerprint, holder]));
        for (const [fingerprint, all] of batch) for (const { resolve } of all) resolve(holders.get(fingerprint));
      } catch (error) {
        for (const all of batch.values()) for (const { reject } of all) reject(error);
      }
    }
    underWay = false;
  };
  return (fingerprint) =>
    new Promise((resolve, reject) => {
      const same = waiting.get(fingerprint);
      if (same) same.push({ resolve, reject });
      else waiting.set(fingerprint, [{ resolve, reject }]);
      if (underWay) return;
      underWay = true;
      // Calls that arrive in the same turn of the event loop go together.
      setImmediate(() => void run());
    });
};
