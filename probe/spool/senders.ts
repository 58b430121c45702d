import { createPump, type Pump } from '../../shared/actor/pump.ts';
import type { Continent } from '../../shared/base/continents.ts';
import type { Log } from '../../shared/base/log.ts';
import { batchText } from '../../shared/bus/batch-text.ts';
import type { Key } from '../../shared/bus/identity.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionCount, subjects } from '../../shared/bus/subjects.ts';
import type { ReporterGate } from './bus-gate.ts';
import { createDepartures } from './departures.ts';
import {
  afterLoss,
  came,
  committedUpTo,
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
  stranded,
  taken,
} from './route.ts';
import type { Spool } from './spool.ts';
import type { Taken } from './take.ts';

/** One partition on its way. */
export type ReporterLane = { readonly partition: number; route: Route; readonly pump: Pump };

/** The partitions, and what sends what waits of them. Modes: those of their pumps. */
export type ReporterLanes = {
  readonly lanes: readonly ReporterLane[];
  /** Puts back what must go again: what a gap was reported of, and what was never committed although a coordinator is there. */
  readonly look: (at: number, isHeard: boolean) => void;
  /** There is a new connection. */
  readonly resend: () => void;
  readonly commit: (committed: Readonly<Record<string, number>>) => void;
  /** Sends what can be sent now, and settles when it has landed, or could not in a while. */
  readonly close: () => Promise<void>;
};

export type LanesOptions = {
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

export const createReporterLanes = (
  { probe, continent, key, spool, patienceMs = defaultPatienceMs, log }: LanesOptions,
  gate: ReporterGate,
): ReporterLanes => {
  const departures = createDepartures(key);

  const rewind = (lane: ReporterLane): void => {
    const back = rewound(lane.route, spool.committedOf(lane.partition), now());
    if (!back) return;
    lane.route = back;
    void lane.pump.run();
  };

  const onLanded = (lane: ReporterLane, flight: Flight): void => {
    lane.route = landed(lane.route, flight);
    gate.accepted();
    void lane.pump.resume();
  };

  const onFailed = (lane: ReporterLane, flight: Flight, error: unknown): void => {
    const back = failed(lane.route, flight);
    if (!back) return;
    lane.route = back;
    gate.refused(error, lane.partition);
  };

  const send = (through: Bus, lane: ReporterLane, { after, last, texts }: Taken): void => {
    const { partition } = lane;
    const body = Buffer.from(batchText(lane.route.form, { probe, generation: spool.generation, partition, after }, texts));
    const { route, flight } = left(lane.route, last, now());
    lane.route = route;
    departures
      .store(through, subjects.result(continent, partition, probe), body)
      .then(() => onLanded(lane, flight))
      .catch((error: unknown) => onFailed(lane, flight, error));
  };

  /** Sends all that waits of a partition, as far as it may. */
  const pumpOnce = async (lane: ReporterLane): Promise<void> => {
    lane.route = taken(lane.route);
    await spool.save();
    for (;;) {
      if (!mayLeave(lane.route)) return lane.pump.askAgain();
      const from = lane.route.sent;
      const next = await spool.take(lane.partition, from);
      if (!next) return;
      const through = gate.open();
      if (!through) {
        lane.route = stranded(lane.route);
        return;
      }
      // Put back while we read: what we have is not what comes next.
      if (lane.route.sent === from) send(through, lane, next);
    }
  };

  const lanes: readonly ReporterLane[] = Array.from({ length: partitionCount }, (_, partition) => {
    const lane: ReporterLane = {
      partition,
      route: newRoute(patienceMs),
      pump: createPump({
        once: () => pumpOnce(lane),
        may: () => mayLeave(lane.route),
        onFailure: (error) => {
          lane.route = came(lane.route, now());
          log.error({ err: error, partition }, 'results could not be taken from the spool');
        },
      }),
    };
    return lane;
  });

  return {
    lanes,
    look: (at, isHeard) => {
      for (const lane of lanes) {
        if (isRewindDue(lane.route, at)) {
          lane.route = { ...lane.route, rewindAsked: false };
          rewind(lane);
        }
        if (!isHeard || !isLost(lane.route, at)) continue;
        const { partition } = lane;
        const { sent } = lane.route;
        log.warn({ partition, committed: spool.committedOf(partition), sent }, 'sent results were never committed; they go again');
        lane.route = afterLoss(lane.route);
        rewind(lane);
      }
    },
    resend: () => {
      for (const lane of lanes) {
        lane.route = reconnected(lane.route, now());
        if (spool.nextAfter(lane.partition, lane.route.sent) !== undefined) void lane.pump.run();
      }
    },
    commit: (committed) => {
      const before = lanes.map(({ partition }) => spool.committedOf(partition));
      spool.commit(committed);
      for (const lane of lanes) {
        const mark = spool.committedOf(lane.partition);
        if (mark !== before[lane.partition]) lane.route = committedUpTo(lane.route, mark, now(), patienceMs);
      }
    },
    close: async () => {
      if (gate.open()) {
        await Promise.all(lanes.map(({ pump }) => pump.run()));
        const patience = now() + closingMs;
        while (lanes.some(({ route }) => route.flights.length > 0) && now() < patience)
          await new Promise((resolve) => setTimeout(resolve, 20));
      }
      for (const { pump } of lanes) pump.stop();
    },
  };
};
