import { createRecentCache } from '../../shared/base/async.ts';

/** What was read, and whether newer could not be. */
export type Kept<Value> = { readonly value: Value; readonly readAt: number; readonly isStale: boolean };

type Entry<Value> = {
  value: Value;
  readAt: number;
  /** When it was last tried in vain since. */
  failedAt: number | undefined;
  /** Reading failed, or took long: nobody waits for it until it has succeeded again. */
  isSlow: boolean;
  reading: Promise<void> | undefined;
};

export type Memory<Value> = {
  /** @throws what reading threw, when nothing was read before. */
  readonly get: (key: string) => Promise<Kept<Value>>;
};

/** Younger, it is given as it is; older, it is read again meanwhile; older than `mostMs`, it is waited for. */
const freshMs = 4_000;
const mostMs = 8_000;
/** So long a reader waits for what is newer, where there is something older. */
const patienceMs = 1_500;
/** After a failure it is not tried again for so long. */
const restMs = 1_000;

/**
 * Values that are read by one reader at a time, kept for ten seconds at most while reading succeeds, and for as long as needed while it does not.
 * `isWorth`: what is kept when memory is short; the others go first.
 */
export const createMemory = <Value>(parts: {
  readonly read: (key: string) => Promise<Value>;
  readonly now: () => number;
  readonly most: number;
  readonly isWorth: (value: Value) => boolean;
  readonly onFailure: (error: unknown) => void;
}): Memory<Value> => {
  const { read, now, most, isWorth, onFailure } = parts;
  const [kept, lesser] = [createRecentCache<string, Entry<Value>>(most), createRecentCache<string, Entry<Value>>(most)];
  const first = new Map<string, Promise<Kept<Value>>>();

  const keep = (key: string, entry: Entry<Value>): void => (isWorth(entry.value) ? kept : lesser).keep(key, entry);

  const readAgain = (key: string, entry: Entry<Value>): Promise<void> => {
    entry.reading ??= (async () => {
      const began = now();
      try {
        const value = await read(key);
        Object.assign(entry, { value, readAt: began, failedAt: undefined, isSlow: false });
        // What was nothing may have become something.
        keep(key, entry);
      } catch (error) {
        Object.assign(entry, { failedAt: now(), isSlow: true });
        onFailure(error);
      } finally {
        entry.reading = undefined;
      }
    })();
    return entry.reading;
  };

  const readFirst = (key: string): Promise<Kept<Value>> => {
    const known = first.get(key);
    if (known) return known;
    const readAt = now();
    const reading = read(key)
      .then((value) => {
        keep(key, { value, readAt, failedAt: undefined, isSlow: false, reading: undefined });
        return { value, readAt, isStale: false };
      })
      .finally(() => first.delete(key));
    first.set(key, reading);
    return reading;
  };

  const isOld = (entry: Entry<Value>, ms: number): boolean => now() - entry.readAt >= ms;
  const rests = ({ failedAt }: Entry<Value>): boolean => failedAt !== undefined && now() - failedAt < restMs;

  return {
    get: async (key) => {
      const entry = kept.find(key) ?? lesser.find(key);
      if (entry === undefined) return readFirst(key);
      if (isOld(entry, freshMs) && !rests(entry)) {
        const reading = readAgain(key, entry);
        if (isOld(entry, mostMs) && !entry.isSlow) {
          const waiting = Promise.withResolvers<void>();
          const timer = setTimeout(() => {
            entry.isSlow = true;
            waiting.resolve();
          }, patienceMs);
          await Promise.race([reading, waiting.promise]);
          clearTimeout(timer);
        }
      }
      return { value: entry.value, readAt: entry.readAt, isStale: isOld(entry, mostMs) };
    },
  };
};
