import type { Log } from '../../shared/base/log.ts';
import type { Place } from './spool-segments.ts';

/**
 * Results on their way to the disk, in order.
 *
 * Modes: `idle` → `saving` (one write at a time; what comes meanwhile goes with the next) → `idle`. Beside it `failing` since a write failed, until
 * one succeeds: what could not be written stays in line.
 */
export type SpoolSaving = {
  readonly add: (entry: Unsaved) => void;
  /** Settles when all that was added before has been written, or cannot be. Never rejects. */
  readonly save: () => Promise<void>;
  readonly count: () => number;
  /** The number of the oldest in line. */
  readonly first: () => number | undefined;
  readonly isFailing: () => boolean;
  /** Settles when no write is under way. */
  readonly settled: () => Promise<void>;
};

export type Unsaved = { readonly seq: number; readonly partition: number; readonly position: number; readonly line: string };

/** Results in one write. */
const mostWritten = 500;

export const createSpoolSaving = (parts: {
  readonly append: (lines: readonly string[]) => Promise<readonly Place[]>;
  /** What was committed or dropped meanwhile needs no disk. */
  readonly isWanted: (seq: number) => boolean;
  readonly onWritten: (entry: Unsaved, place: Place) => void;
  /** What else belongs to a save. */
  readonly finish: () => Promise<void>;
  readonly log: Log;
}): SpoolSaving => {
  const { append, isWanted, onWritten, finish, log } = parts;
  const unsaved: Unsaved[] = [];
  let fault: string | undefined;
  let saving: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    if (fault !== undefined) unsaved.splice(0, unsaved.length, ...unsaved.filter(({ seq }) => isWanted(seq)));
    while (unsaved.length > 0) {
      const some = unsaved.slice(0, mostWritten);
      const wanted = some.filter(({ seq }) => isWanted(seq));
      if (wanted.length > 0) {
        const places = await append(wanted.map(({ line }) => line));
        for (const [at, entry] of wanted.entries()) {
          const place = places[at];
          if (place) onWritten(entry, place);
        }
      }
      unsaved.splice(0, some.length);
    }
    await finish();
  };

  return {
    add: (entry) => unsaved.push(entry),
    save: () => {
      saving ??= write()
        .then(() => {
          if (fault !== undefined) log.info('the disk takes results again');
          fault = undefined;
        })
        .catch((error: unknown) => {
          const text = error instanceof Error ? error.message : String(error);
          if (fault !== text) log.error({ err: error }, 'the disk does not take results; they wait in memory');
          fault = text;
        })
        .finally(() => {
          saving = undefined;
        });
      return saving;
    },
    count: () => unsaved.length,
    first: () => unsaved[0]?.seq,
    isFailing: () => fault !== undefined,
    settled: async () => {
      if (saving) await saving;
    },
  };
};
