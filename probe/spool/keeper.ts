import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import { atSharedTick } from '../presence/shared-tick.ts';
import type { Spool } from './spool.ts';

/**
 * When the spool goes to the disk: what came is written in the same turn of the loop, and synced once a second.
 *
 * Modes of the writing: `idle` → `asked` (more goes along) → `idle`.
 */
export type SpoolKeeper = {
  /** On disk at once and not when it is sent: a probe that is killed in between has seen it all the same. */
  readonly saveSoon: () => void;
  /** Settles when no sync is under way. */
  readonly stop: () => Promise<void>;
};

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
  const syncer = atSharedTick(syncEveryMs, sync, { clock, phase });

  return {
    saveSoon: () => {
      if (isSaveAsked) return;
      isSaveAsked = true;
      // Results that come in one turn of the loop go in one write.
      setImmediate(() => {
        isSaveAsked = false;
        void spool.save();
      });
    },
    stop: async () => {
      syncer.stop();
      await syncing;
    },
  };
};
