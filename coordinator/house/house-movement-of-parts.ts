import type { Log } from '../../shared/base/log.ts';

/**
 * Whether every part goes on: a process that renews its leases and answers may have parts in it that wait for something that never comes.
 * A part is asked again and again whether it moved; one that could not say so for too long stands.
 */
export type Movement = {
  readonly tick: () => Promise<void>;
  /** The names of those that stand. */
  readonly standing: () => readonly string[];
};

/** Something that is to go on: whether it did since it was last asked, or has nothing to do. One that never answers does not move either. */
export type Part = { readonly name: string; readonly mayStandMs: number; readonly moved: () => Promise<boolean> };

type Seen = { movedAt: number; isAsked: boolean; isStanding: boolean };

export const createMovement = (options: { readonly parts: () => readonly Part[]; readonly log: Log }): Movement => {
  const { parts, log } = options;
  const seen = new Map<string, Seen>();

  const ask = async ({ name, moved }: Part, known: Seen): Promise<void> => {
    known.isAsked = true;
    try {
      if (await moved()) known.movedAt = performance.now();
    } catch (error) {
      log.debug({ err: error, part: name }, 'a part could not say whether it goes on');
    } finally {
      known.isAsked = false;
    }
  };

  return {
    tick: async () => {
      const now = performance.now();
      const all = parts();
      const names = new Set(all.map(({ name }) => name));
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name);
      for (const part of all) {
        const known = seen.get(part.name) ?? { movedAt: now, isAsked: false, isStanding: false };
        seen.set(part.name, known);
        // Who does not answer is not waited for: that is what stands.
        if (!known.isAsked) void ask(part, known);
        const stands = now - known.movedAt > part.mayStandMs;
        if (stands && !known.isStanding) log.error({ part: part.name, ms: Math.round(now - known.movedAt) }, 'a part of the engine stands');
        if (!stands && known.isStanding) log.info({ part: part.name }, 'a part of the engine that stood goes on');
        known.isStanding = stands;
      }
    },
    standing: () => [...seen].filter(([, { isStanding }]) => isStanding).map(([name]) => name),
  };
};

/** What waits in a stream for one reader, and how far he has come. */
export type Reading = { readonly waiting: number; readonly acknowledged: number };

/** Somebody who reads from a stream moves when he came further, or nothing waits for him. */
export const readerOf = (read: () => Promise<Reading | undefined>): (() => Promise<boolean>) => {
  let last: number | undefined;
  return async () => {
    const reading = await read();
    if (!reading) return false;
    const before = last;
    last = reading.acknowledged;
    return reading.waiting === 0 || before !== reading.acknowledged;
  };
};
