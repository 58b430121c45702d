import { createPump, type Pump } from '../../shared/actor/actor-pump.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import { batchText } from '../../shared/bus/bus-batch-writing.ts';
import type { Bus } from '../../shared/bus/bus-nats.ts';
import type { Key } from '../../shared/bus/bus-nkeys.ts';
import { signaturesOf } from '../../shared/bus/bus-signature.ts';
import { partitionCount, subjects } from '../../shared/bus/bus-subjects.ts';
import type { Spool } from './spool.ts';
import type { ReporterGate } from './spool-bus-gate.ts';
import {
  afterLoss,
  came,
  committedUpTo,
  dueNow,
  type Flight,
  failed,
  isLost,
  isRewindDue,
  landed,
  left,
  mayLeave,
  newRoute,
  type Route,
  reconnected,
  rewound,
  taken,
} from './spool-route.ts';
import type { Taken } from './spool-texts-to-take.ts';

/**
 * Batches on their way out: what leaves in the same moment is signed together.
 *
 * Modes: `empty` → `gathering` (something came; all else that comes in this turn of the loop goes along) → `empty`.
 */
type Departures = {
  /** Settles when the stream has it. */
  readonly store: (through: Bus, subject: string, body: Uint8Array) => Promise<unknown>;
};

type Waiting = { readonly body: Uint8Array; readonly go: (headers: Parameters<Bus['publish']>[2]) => void };

const createDepartures = (key: Key): Departures => {
  let gathered: Waiting[] = [];

  const leave = (): void => {
    const leaving = gathered;
    gathered = [];
    const signed = signaturesOf(
      [key],
      leaving.map(({ body }) => body),
    );
    for (const [nth, { go }] of leaving.entries()) go(signed[nth]);
  };

  return {
    store: (through, subject, body) =>
      new Promise((resolve) => {
        if (gathered.length === 0) setImmediate(leave);
        gathered.push({ body, go: (headers) => resolve(through.store(subject, body, headers === undefined ? {} : { headers })) });
      }),
  };
};

/** One partition on its way. */
export type PartitionSender = { readonly partition: number; route: Route; readonly pump: Pump };

/** The partitions, and what sends what waits of them. Modes: those of their pumps. */
export type Senders = {
  readonly senders: readonly PartitionSender[];
  /** Puts back what must go again: what a gap was reported of, and what was never committed although a coordinator is there. */
  readonly look: (at: number, isHeard: boolean) => void;
  /** There is a new connection. */
  readonly resend: () => void;
  readonly commit: (committed: Readonly<Record<string, number>>) => void;
  /** Sends what can be sent now, and settles when it has landed, or could not in a while. */
  readonly close: () => Promise<void>;
};

export type SendersOptions = {
  readonly probe: string;
  readonly continent: Continent;
  readonly key: Key;
  readonly spool: Spool;
  /** How long a result that was sent may stay uncommitted while a coordinator is there, before it goes again. */
  readonly patienceMs?: number;
  readonly log: Log;
};

/** A coordinator holds back what it stores for up to 30 s after an absence (rule 4): longer than that, and the bus must have lost it. */
const defaultPatienceMs = 40_000;
const closingMs = 2_000;

const now = (): number => performance.now();

export const createSenders = (
  { probe, continent, key, spool, patienceMs = defaultPatienceMs, log }: SendersOptions,
  gate: ReporterGate,
): Senders => {
  const departures = createDepartures(key);

  const rewind = (sender: PartitionSender): void => {
    const back = rewound(sender.route, spool.committedOf(sender.partition), now());
    if (!back) return;
    sender.route = back;
    void sender.pump.run();
  };

  const onLanded = (sender: PartitionSender, flight: Flight): void => {
    sender.route = landed(sender.route, flight);
    gate.accepted();
    void sender.pump.resume();
  };

  const onFailed = (sender: PartitionSender, flight: Flight, error: unknown): void => {
    const back = failed(sender.route, flight);
    if (!back) return;
    sender.route = back;
    gate.refused(error, sender.partition);
  };

  const send = (through: Bus, sender: PartitionSender, { after, last, texts }: Taken): void => {
    const { partition } = sender;
    const body = Buffer.from(batchText(sender.route.form, { probe, generation: spool.generation, partition, after }, texts));
    const { route, flight } = left(sender.route, last, now());
    sender.route = route;
    departures
      .store(through, subjects.result(continent, partition, probe), body)
      .then(() => onLanded(sender, flight))
      .catch((error: unknown) => onFailed(sender, flight, error));
  };

  /** Sends all that waits of a partition, as far as it may. */
  const pumpOnce = async (sender: PartitionSender): Promise<void> => {
    sender.route = taken(sender.route);
    await spool.save();
    for (;;) {
      if (!mayLeave(sender.route)) return sender.pump.askAgain();
      const from = sender.route.sent;
      const next = await spool.take(sender.partition, from);
      if (!next) return;
      const through = gate.open();
      if (!through) {
        sender.route = dueNow(sender.route);
        return;
      }
      // Put back while we read: what we have is not what comes next.
      if (sender.route.sent === from) send(through, sender, next);
    }
  };

  const senders: readonly PartitionSender[] = Array.from({ length: partitionCount }, (_, partition) => {
    const sender: PartitionSender = {
      partition,
      route: newRoute(patienceMs),
      pump: createPump({
        once: () => pumpOnce(sender),
        may: () => mayLeave(sender.route),
        onFailure: (error) => {
          sender.route = came(sender.route, now());
          log.error({ err: error, partition }, 'results could not be taken from the spool');
        },
      }),
    };
    return sender;
  });

  return {
    senders,
    look: (at, isHeard) => {
      for (const sender of senders) {
        if (isRewindDue(sender.route, at)) {
          sender.route = { ...sender.route, rewindAsked: false };
          rewind(sender);
        }
        if (!isHeard || !isLost(sender.route, at)) continue;
        const { partition } = sender;
        const { sent } = sender.route;
        log.warn({ partition, committed: spool.committedOf(partition), sent }, 'sent results were never committed; they go again');
        sender.route = afterLoss(sender.route);
        rewind(sender);
      }
    },
    resend: () => {
      for (const sender of senders) {
        sender.route = reconnected(sender.route, now());
        if (spool.nextAfter(sender.partition, sender.route.sent) !== undefined) void sender.pump.run();
      }
    },
    commit: (committed) => {
      const before = senders.map(({ partition }) => spool.committedOf(partition));
      spool.commit(committed);
      for (const sender of senders) {
        const mark = spool.committedOf(sender.partition);
        if (mark !== before[sender.partition]) sender.route = committedUpTo(sender.route, mark, now(), patienceMs);
      }
    },
    close: async () => {
      if (gate.open()) {
        await Promise.all(senders.map(({ pump }) => pump.run()));
        const patience = now() + closingMs;
        while (senders.some(({ route }) => route.flights.length > 0) && now() < patience)
          await new Promise((resolve) => setTimeout(resolve, 20));
      }
      for (const { pump } of senders) pump.stop();
    },
  };
};
