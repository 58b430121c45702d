import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import { atSharedBeat } from './shared-beat.ts';
import type { Spool } from './spool.ts';

/**
 * When the spool goes to the disk: what came is written within a moment, and synced once a second.
 *
 * Modes of the writing: `idle` → `asked` (more goes along) → `idle`.
 */
export type SpoolKeeper = {
  /** On disk within a moment and not when it is sent: a probe that is killed in between has seen it all the same. */
  readonly saveSoon: () => void;
  /** Settles when no sync is under way. */
  readonly stop: () => Promise<void>;
};

/** Results of one slot of the schedule go to the disk in one write; a failure takes what waits with it at once. */
const saveAfterMs = 50;
const syncEveryMs = 1_000;

export const createSpoolKeeper = (parts: {
  readonly spool: Spool;
  readonly clock: Clock | undefined;
  /** When in the second it syncs: probes have moments of their own. */
  readonly phase: number;
  readonly log: Log;
}): SpoolKeeper => {
  const { spool, clock, phase, log } = parts;
  let isSaveAsked = false;
  let syncing: Promise<void> | undefined;

  const sync = (): void => {
    syncing ??= spool
      .tick()
      .catch((error: unknown) => log.error({ err: error }, 'the spool could not be synced'))
      .finally(() => {
        syncing = undefined;
      });
  };
  const syncer = atSharedBeat(syncEveryMs, sync, { clock, phase });

  return {
    saveSoon: () => {
      if (isSaveAsked) return;
      isSaveAsked = true;
      setTimeout(() => {
        isSaveAsked = false;
        void spool.save();
      }, saveAfterMs);
    },
    stop: async () => {
      syncer.stop();
      await syncing;
    },
  };
};
