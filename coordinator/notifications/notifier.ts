import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import { createCauseFinder } from '../causes/finder.ts';
import type { Queryable } from '../database/connect.ts';
import { createSending, type SendingDependencies } from '../deliveries/sending.ts';
import type { Results } from '../results/reading.ts';
import { type AlertDependencies, alertKind } from './alert-sending.ts';
import { wakeSteps } from './causes.ts';
import { createComposer } from './compose.ts';
import { createOwnerFallback } from './last-resort.ts';
import { createPlanner } from './plan.ts';
import type { GatheringTimes } from './warnings.ts';

/**
 * Notifies people of an incident, from the decision to the answer of the receiver:
 *
 *   1 release    a held "down" is due, and no maintenance holds it (rule 25)      release.ts
 *   2 plan       a step for each channel that includes the monitor (rule 30)      plan.ts
 *                outages with one cause are told as one (rule 51)                 causes.ts
 *   3 compose    one message for each channel, as its bucket allows (rule 32)     compose.ts
 *   4 deliver    an attempt, and another until one is answered for good (rule 31) ../deliveries
 *   5 fall back  the owners are mailed when no channel took a "down" (rule 38)    last-resort.ts
 *
 * The owner of a monitor's partition releases; any coordinator does the rest. Each step takes the
 * rows of one table, locks them, which others then skip, and writes those of the next:
 *
 *   row                      state     is
 *   alerts, of an event of   held      waits for its delay and for the end of maintenance
 *   an incident or warning   due       may leave; `planned_at`: its steps are made
 *                            sent      made before there were steps
 *                            dropped   the incident ended before it was due
 *   alert_steps, of an       held      waits for delay, hours, mute, bucket (policy.ts)
 *   alert and a channel      told      is part of a message
 *                            dropped   `because` says why it never is
 *                            merged    its end leaves in its place, as "was down"
 *   deliveries, of a channel           a message: deliveries/sending.ts has its states
 *
 * What happens when a step fails, or its process crashes:
 *   1, 2, 3, 5  it was one transaction and wrote nothing: the next tick, here or elsewhere, does it
 *   4           the message stays claimed for a minute, and is sent again with the same key
 *
 * A commit that makes work wakes it; while anything waits it also polls twice a second for what
 * became due by time alone. Alerts of warnings gather before they are planned, and leave by themselves (warnings.ts).
 */
export function createNotifier(deps: NotifierDependencies): Notifier {
  const { sql, clock, log } = deps;
  const causes = createCauseFinder({ ...deps, onReviewed: wakeSteps });
  const planner = createPlanner({ ...deps, judge: causes.judge });
  const composer = createComposer(deps);
  const deliverer = createSending(alertKind(deps), deps);
  const fallback = createOwnerFallback({ sql, clock, log, hasMail: deps.hasMail });

  let [isWaiting, isTold] = [true, false];
  let restsUntil = 0;

  /** Steps 2 to 4. The events that are planned first leave first, and wait for no others. */
  async function tick(): Promise<void> {
    if (!isTold && !isWaiting && !(await isAnythingWaiting(sql))) return;
    // Also when it fails, until all was looked at.
    [isWaiting, isTold] = [true, false];
    for (let isMore = true; isMore && performance.now() >= restsUntil; ) {
      const began = performance.now();
      const done = (await planner.plan()) + (await composer.compose());
      await deliverer.hurry();
      isMore = done > 0;
      if (done >= many) restsUntil = restAfter(began, performance.now());
    }
    isWaiting = await isAnythingWaiting(sql);
  }

  const notifying = deps.supervisor.ticker('notifier', {
    everyMs: () => (isWaiting ? deps.everyMs : deps.fallbackMs),
    tick,
  });
  const findingCauses = deps.supervisor.ticker('causes', {
    everyMs: deps.everyMs,
    tick: causes.tick,
  });
  const fallingBack = deps.supervisor.ticker('fallback', {
    everyMs: deps.fallbackMs,
    tick: fallback.tick,
  });
  return {
    hurry: () => {
      isTold = true;
      notifying.hurry();
    },
    close: async () => {
      await notifying.stop();
      await findingCauses.stop();
      await fallingBack.stop();
      await deliverer.close();
    },
  };
}

/**
 * Rounds about so many events and steps do not follow each other at once: without a rest, telling of
 * an outage of thousands keeps the database from deciding on the others.
 */
const many = 100;
const restPart = 3;
const mostRestMs = 2_000;

function restAfter(began: number, ended: number): number {
  return ended + Math.min(mostRestMs, restPart * (ended - began));
}

/** Whether an event, a step or a message may become due by time alone. */
async function isAnythingWaiting(sql: Queryable): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`
    select exists (select from alerts where state = 'due' and planned_at is null)
      or exists (select from alert_steps where state = 'held')
      or exists (select from deliveries where kind = 'alert' and state = 'waiting') as waits`;
  return row?.waits ?? true;
}

export type Notifier = {
  /** Call when something became due. */
  readonly hurry: () => void;
  readonly close: () => Promise<void>;
};

export type NotifierDependencies = AlertDependencies &
  SendingDependencies & {
    readonly supervisor: Starts<'notifier' | 'fallback' | 'causes'>;
    readonly isLeader: () => boolean;
    /** Has monitors checked now that may fail by one cause (rule 51). */
    readonly ask: (monitors: readonly string[]) => void;
    readonly log: Log;
    readonly everyMs: number;
    /** How often it checks for undelivered alerts, and for channels that do not deliver. */
    readonly fallbackMs: number;
    /** Whether owners can be mailed. */
    readonly hasMail: boolean;
    readonly warningTimes?: GatheringTimes;
    readonly results: Pick<Results, 'within'>;
  };
