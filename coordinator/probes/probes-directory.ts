import type { Log } from '../../shared/base/log.ts';
import type { Sql } from '../store/store-database.ts';
import { allProbes, type ProbeRow } from '../store/store-probes.ts';

/**
 * The probes as the database has them, in memory. Read anew when the outbox says that one changed, from time to time, and when a
 * stranger speaks up who may just have been made.
 */
export type Directory = {
  readonly all: () => readonly ProbeRow[];
  readonly byId: (id: string) => ProbeRow | undefined;
  readonly byKey: (key: number) => ProbeRow | undefined;
  readonly refresh: () => Promise<void>;
  /** The probe, also when it was made a moment ago; looks at most ten times a second. */
  readonly find: (id: string) => Promise<ProbeRow | undefined>;
  readonly onChange: (listener: () => void) => void;
};

const patienceMs = 100;

export const createDirectory = async ({ sql, log }: { readonly sql: Sql; readonly log: Log }): Promise<Directory> => {
  let rows: readonly ProbeRow[] = [];
  let ids = new Map<string, ProbeRow>();
  let keys = new Map<number, ProbeRow>();
  /** When somebody unknown last had it read anew. */
  let askedAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> = Promise.resolve();
  const listeners: (() => void)[] = [];

  const read = async () => {
    rows = await allProbes(sql);
    ids = new Map(rows.map((row) => [row.id, row]));
    keys = new Map(rows.map((row) => [row.key, row]));
    for (const listener of listeners) listener();
  };
  const refresh = (): Promise<void> => {
    // One that is under way may have begun before the change: it is waited for, and another follows.
    const next = reading.catch(() => undefined).then(read);
    reading = next;
    return next;
  };
  await refresh();

  return {
    all: () => rows,
    byId: (id) => ids.get(id),
    byKey: (key) => keys.get(key),
    refresh,
    find: async (id) => {
      if (ids.has(id)) return ids.get(id);
      // A second word of the same stranger waits for the reading that the first one asked for.
      const isAsked = performance.now() - askedAt <= patienceMs;
      if (!isAsked) askedAt = performance.now();
      await (isAsked ? reading : refresh()).catch((error: unknown) => log.warn({ err: error }, 'the probes could not be read anew'));
      return ids.get(id);
    },
    onChange: (listener) => void listeners.push(listener),
  };
};
