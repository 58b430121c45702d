import { createTicker } from '../../shared/actor/mailbox.ts';
import type { Log } from '../../shared/base/log.ts';
import { answersWithin, type Sql, wayOf } from '../store/store-database.ts';
import type { TimeSeen } from './house-database-clock.ts';

/**
 * Notices that the database is there, but not at the other end of the connections that are open: it moved to another machine, or something on the
 * way forgot them. Nobody closes such connections, and all that is asked on them would wait for a quarter of an hour.
 *
 * Modes: `sure` → (a question on a connection that is kept for nothing else has no answer in time) `doubtful` → (a new connection is answered: the
 * silent ones are cut) `sure`; while nothing is answered at all the database is away, and nothing is cut.
 */
export type DatabaseWatch = { readonly stop: () => Promise<void> };

const everyMs = 3_000;
const patienceMs = 5_000;
/** A process that stood still finds the answer of meanwhile within this. */
const onceMoreMs = 500;

type Watched = {
  readonly sql: Sql;
  readonly log: Log;
  /** Told what time it is at the database. */
  readonly onTime: (seen: TimeSeen) => void;
};

export const watchDatabase = ({ sql, log, onTime }: Watched): DatabaseWatch => {
  const { sockets, openAnother, openBeside } = wayOf(sql);
  const asked = openBeside();
  let another: Sql | undefined;
  let stopped = false;
  /** An answer for which a connection had to be made first tells no time: of its way, nobody knows how much was there and how much back. */
  let isWarm = false;

  const isThere = async (): Promise<boolean> => {
    if (stopped) return false;
    another = openAnother();
    return answersWithin(another, patienceMs).finally(() => another?.end({ timeout: 0 }));
  };

  const tick = async (): Promise<void> => {
    const before = sockets.heard();
    const wasWarm = isWarm;
    isWarm = await answersWithin(asked, patienceMs, (seen) => {
      if (wasWarm) onTime(seen);
    });
    if (isWarm || !(await isThere())) return;
    if (stopped || (await answersWithin(asked, onceMoreMs))) return;
    const connections = sockets.cutSilent(before);
    log.warn({ connections }, 'the database answers, but not on connections that were open; they are given up');
  };

  const onFailure = (error: unknown) => log.error({ err: error }, 'the database could not be watched');
  const ticker = createTicker({ everyMs, tick, onFailure });
  // Its own connection is to be as old as the pool's: one that was made after the database moved would be answered.
  ticker.hurry();
  return {
    stop: async () => {
      stopped = true;
      // Whatever is waited for ends with its connection.
      await Promise.all([asked.end({ timeout: 0 }), another?.end({ timeout: 0 })]);
      await ticker.stop();
    },
  };
};
