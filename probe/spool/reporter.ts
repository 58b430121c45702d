import { atSharedTick } from '../../shared/base/shared-tick.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { PresenceReply, ReceiptMessage } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import type { Result } from '../../shared/checks/result.ts';
import {
  askedToRewind,
  came,
  createReporterGate,
  createSenders,
  landedUpTo,
  type PartitionSender,
  type SendersOptions,
} from './senders.ts';
import { createSpoolFolder } from './store.ts';

/**
 * Sends the spool to the bus: signed batches of one partition, in order. spool/senders.ts tracks
 * how far each partition is.
 *
 * While there is no bus, or it refused lately, results wait in the spool.
 */
export type Reporter = {
  /**
   * Takes a result. Urgent ones leave at once, with the waiting results of their partition, or
   * while there are many of them within half a second; others within two seconds.
   */
  readonly report: (result: Omit<Result, 'seq'>, urgent: boolean) => void;
  readonly attach: (bus: Bus) => void;
  /** The owner of a partition says how far it has committed. */
  readonly receive: (receipt: Omit<ReceiptMessage, 'v'>) => void;
  /** Any coordinator says the same of all partitions. */
  readonly onReply: (reply: Pick<PresenceReply, 'committed'>) => void;
  /** Whether everything observed until three seconds ago has landed (rule 4). */
  readonly handedOver: () => boolean;
  readonly close: () => Promise<void>;
};

/**
 * All partitions send what waits at the same moment, once in two seconds. A message that wakes
 * every process alone costs several times as much as one of many, here, on the bus and in the
 * coordinator; and at 100 checks a second, sending every second would carry no more than two
 * results each. No decision depends on waiting results: news is urgent. Each probe has a different
 * moment.
 */
const sendEveryMs = 2_000;
const tickMs = 500;
const slotMs = 50;
const hearingMs = 15_000;
/**
 * When more urgent results than this come within a tick, those of the next leave together. Where
 * everything fails at once, a message for each result costs probes, bus and coordinator more than
 * the checks, and then the news of all of them is late.
 */
const mostAtOnce = 20;

export function createReporter(options: SendersOptions & { readonly clock?: Clock }): Reporter {
  const { probe, spool, clock, log } = options;
  const gate = createReporterGate(log);
  const { senders, look, resend, commit, close } = createSenders(options, gate);
  const old = createOldMark(now(), spool.lastSeq());
  const phase = (Number.parseInt(probe.slice(-4), 16) * slotMs) % sendEveryMs;
  let repliedAt = Number.NEGATIVE_INFINITY;
  let sentAt = now();
  /** Since the last tick. */
  let urgent = 0;
  let isCrowded = false;
  /** What leaves with the next tick, because it is crowded. */
  const pressing = new Set<PartitionSender>();

  const isDue = (sender: PartitionSender, at: number, isTurn: boolean): boolean => {
    const { waitingSince } = sender.route;
    if (waitingSince === undefined) return false;
    return isTurn || pressing.has(sender) || at - waitingSince >= sendEveryMs;
  };

  const tick = (): void => {
    const at = now();
    isCrowded = urgent > mostAtOnce;
    urgent = 0;
    const isTurn = at - sentAt >= sendEveryMs - tickMs / 2;
    if (isTurn) sentAt = at;
    if (gate.open())
      for (const sender of senders) if (isDue(sender, at, isTurn)) void sender.pump.run();
    pressing.clear();
    look(at, at - repliedAt <= hearingMs);
    old.note(at, spool.lastSeq());
  };
  const ticker = atSharedTick(tickMs, tick, { clock, phase });
  const keeper = createSpoolFolder({ spool, clock, phase, log });

  return {
    report: (result, isUrgent) => {
      const taken = spool.append(result);
      const sender = taken && senders[taken.partition];
      if (!sender) return;
      sender.route = came(sender.route, now());
      keeper.saveSoon();
      if (!isUrgent) return;
      urgent += 1;
      if (isCrowded) pressing.add(sender);
      // Once for all of a turn.
      else setImmediate(sender.pump.run);
    },
    attach: (to) => {
      gate.attach(to);
      const begin = (): void => {
        gate.opened();
        resend();
      };
      to.onStatus((status) => {
        if (status === 'connected') begin();
      });
      begin();
    },
    receive: ({ generation, committed, again }) => {
      if (generation !== spool.generation) return;
      repliedAt = now();
      commit(committed);
      for (const sender of senders)
        if (again.includes(sender.partition)) sender.route = askedToRewind(sender.route);
      if (again.length > 0) tick();
    },
    onReply: ({ committed }) => {
      repliedAt = now();
      commit(committed);
    },
    handedOver: () =>
      senders.every(
        ({ route, partition }) =>
          (spool.nextAfter(partition, landedUpTo(route)) ?? Number.POSITIVE_INFINITY) > old.seq(),
      ),
    close: async () => {
      ticker.stop();
      const synced = keeper.stop();
      await close();
      await synced;
      await spool.close();
    },
  };
}

/**
 * The highest number that had been given three seconds ago: what a probe must have sent to say that
 * it keeps nothing (rule 4). Remembers a few of the latest.
 */
type OldMark = {
  /** The highest number given now. */
  readonly note: (at: number, seq: number) => void;
  readonly seq: () => number;
};

/** A second more than a result that is not urgent may wait for its turn. */
const oldAfterMs = 3_000;
const noteEveryMs = 500;

export function createOldMark(at: number, seq: number): OldMark {
  const marks = [{ at, seq }];
  return {
    note: (now, highest) => {
      if (now - (marks.at(-1)?.at ?? 0) >= noteEveryMs) marks.push({ at: now, seq: highest });
      while (marks.length > 1 && now - (marks[1]?.at ?? now) >= oldAfterMs) marks.shift();
    },
    seq: () => marks[0]?.seq ?? 0,
  };
}

function now(): number {
  return performance.now();
}
