import type { z } from 'zod';
import type { Log } from '../../shared/base/log.ts';
import type { Delivered } from '../../shared/bus/bus-nats.ts';
import { openJournal } from './disk-journal.ts';

/**
 * A set that the bus tells entry by entry: each change is in force at once, and on disk before it is acknowledged (rule 6).
 *
 * Modes: `from disk` (as the last run left it) → `following` (changes as they come) ↔ `taking stock` (the coordinator had our consumer made
 * anew, so everything comes once more: what has not come by the end of it is gone).
 */
export type FollowedSet = {
  /** For the pulls of the set's consumers. */
  readonly onMessages: (messages: readonly Delivered[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** `Line`: one change, as it stands on disk. */
export const openFollowedSet = async <Line>(options: {
  readonly folder: string;
  /** What an entry is called in the log. */
  readonly noun: string;
  readonly line: z.ZodType<Line>;
  /** Puts a change in force. */
  readonly apply: (change: Line) => void;
  /** The revision of a message, if a coordinator said it; what is refused is passed over. */
  readonly announced: (message: Delivered) => { readonly revision: number | undefined } | undefined;
  /** The line that a message stands for. @throws when there is no reading it. */
  readonly lineOf: (message: Delivered, revision: number | undefined) => unknown;
  /** Whether a message is an older one that came late and is passed over. */
  readonly isLate: (change: Line, message: Delivered) => boolean;
  /** The entry that a change is about; undefined for what is no entry of the set. */
  readonly entryOf: (change: Line) => string | undefined;
  readonly entries: () => Iterable<string>;
  /** The change that takes an entry away. */
  readonly gone: (entry: string) => Line;
  /** Lines that say all there is now. */
  readonly snapshot: () => Iterable<object>;
  readonly log: Log;
}): Promise<FollowedSet> => {
  const { folder, noun, line, apply, announced, lineOf, isLate, entryOf, entries, gone, snapshot, log } = options;
  /** The entries that came since everything began to come once more; undefined when it does not. */
  let stock: Set<string> | undefined;

  const journal = await openJournal({
    folder,
    replay: (text) => {
      try {
        apply(line.parse(JSON.parse(text)));
      } catch (error) {
        log.warn({ err: error }, `a stored ${noun} cannot be read; it comes again from the bus`);
      }
    },
    snapshot: function* () {
      for (const each of snapshot()) yield JSON.stringify(each);
    },
  });

  /** What a message says; undefined for what a newer coordinator may say and we do not understand. */
  const read = (message: Delivered): Line | undefined => {
    const believed = announced(message);
    if (!believed) return undefined;
    try {
      return line.parse(lineOf(message, believed.revision));
    } catch (error) {
      log.error({ err: error, subject: message.subject }, `a message about ${noun}s cannot be read and is passed over`);
      return undefined;
    }
  };

  /** What this message, if it ends the taking of stock, shows to be gone. */
  const takeStock = (change: Line, { delivery, pending }: Delivered): Line[] => {
    const entry = entryOf(change);
    if (entry === undefined) return [];
    if (delivery === 1) stock = new Set();
    if (!stock) return [];
    stock.add(entry);
    if (pending > 0) return [];
    const came = stock;
    stock = undefined;
    return [...entries()].filter((each) => !came.has(each)).map(gone);
  };

  return {
    onMessages: async (messages) => {
      const changes: Line[] = [];
      for (const message of messages) {
        const change = read(message);
        if (change === undefined || isLate(change, message)) continue;
        for (const one of [change, ...takeStock(change, message)]) {
          apply(one);
          changes.push(one);
        }
      }
      await journal.append(changes.map((change) => JSON.stringify(change)));
      for (const message of messages) message.ack();
    },
    close: journal.close,
  };
};
