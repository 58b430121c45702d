import type { KnownKey } from '../../shared/bus/pings.ts';
import { createDigest, type Digest, elementOf } from '../../shared/checks/assignment.ts';

/**
 * Heartbeat keys by heart, and what a ping receiver should say of those it holds: kept up to date with each change, because ping receivers speak every few
 * seconds and a sum over all keys for each word would cost a core where there are many of both.
 *
 * Modes: idle ↔ `replacing` (all are read anew: what changes meanwhile is newer than what is read).
 */
export type KeyRing = {
  readonly find: (key: string) => KnownKey | undefined;
  readonly put: (key: string, known: KnownKey) => void;
  readonly drop: (key: string) => void;
  /** All there are, as `read` gives them. */
  readonly replace: (read: AsyncIterable<readonly (readonly [string, KnownKey])[]>) => Promise<void>;
  /** Of one organisation, or of all. */
  readonly digestOf: (organisation: string | null) => { readonly count: number; readonly digest: string };
};

export const createKeyRing = (): KeyRing => {
  const keys = new Map<string, KnownKey>();
  const whole = createDigest();
  const digests = new Map<string, Digest>();
  const empty = createDigest();
  let changed: Set<string> | undefined;

  const drop = (key: string): void => {
    const known = keys.get(key);
    if (!known) return;
    keys.delete(key);
    const element = elementOf(`${key}@0`);
    whole.remove(element);
    const own = digests.get(known.organisation);
    own?.remove(element);
    if (own?.count() === 0) digests.delete(known.organisation);
  };

  const put = (key: string, known: KnownKey): void => {
    const before = keys.get(key);
    if (before?.organisation !== known.organisation) {
      drop(key);
      const element = elementOf(`${key}@0`);
      whole.add(element);
      const own = digests.get(known.organisation) ?? createDigest();
      own.add(element);
      digests.set(known.organisation, own);
    }
    keys.set(key, known);
  };

  return {
    find: (key) => keys.get(key),
    put: (key, known) => {
      changed?.add(key);
      put(key, known);
    },
    drop: (key) => {
      changed?.add(key);
      drop(key);
    },
    replace: async (read) => {
      const since = new Set<string>();
      changed = since;
      try {
        const seen = new Set<string>();
        for await (const page of read) {
          for (const [key, known] of page) {
            seen.add(key);
            if (!since.has(key)) put(key, known);
          }
        }
        for (const key of keys.keys()) if (!seen.has(key) && !since.has(key)) drop(key);
      } finally {
        changed = undefined;
      }
    },
    digestOf: (organisation) => {
      const digest = organisation === null ? whole : (digests.get(organisation) ?? empty);
      return { count: digest.count(), digest: digest.text() };
    },
  };
};
