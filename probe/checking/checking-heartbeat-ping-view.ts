import type { Log } from '../../shared/base/log.ts';
import type { Bus } from '../../shared/bus/bus-nats.ts';
import type { PingRecords } from '../../shared/bus/bus-ping-records.ts';
import type { PingView } from '../checks/check-heartbeat.ts';

/**
 * What this probe sees of the pings. The record is asked for in the moment of judging, so that a view is never older than its question.
 *
 * Modes: `blind` (no bus) → `settling` (the bus is back, and ping receivers may still be handing over what they kept) → `seeing` → `blind`.
 */
export type LivePingView = PingView & {
  readonly attach: (bus: Bus, records: PingRecords) => void;
  readonly isSeeing: () => boolean;
};

/** A ping receiver that kept pings on its disk hands them over as soon as it is connected; it tries at least every second. */
const usualSettlingMs = 5_000;
/**
 * How long after an absence the view settles: the longer it was, the more pings ping receivers kept meanwhile, and have to hand over before anybody
 * may be called late.
 */
export const settlingAfter = (absence_ms: number, shortest_ms: number): number => shortest_ms + Math.min(mostMore, absence_ms / 10);
const mostMore = 30_000;

/** A view this old is no view (rule 20). */
const oldestMs = 15_000;

export const createPingView = ({
  log,
  settlingMs = usualSettlingMs,
}: {
  readonly log: Log;
  readonly settlingMs?: number;
}): LivePingView => {
  let attached: { readonly bus: Bus; readonly records: PingRecords } | undefined;
  let seeingFrom = Number.POSITIVE_INFINITY;
  let lostAt: number | undefined;

  const isSeeing = (): boolean => attached?.bus.isConnected() === true && performance.now() >= seeingFrom;

  return {
    attach: (bus, records) => {
      attached = { bus, records };
      seeingFrom = performance.now() + settlingMs;
      bus.onStatus((status) => {
        const now = performance.now();
        if (status === 'connected') {
          seeingFrom = now + settlingAfter(lostAt === undefined ? 0 : now - lostAt, settlingMs);
          lostAt = undefined;
        } else {
          lostAt ??= now;
          seeingFrom = Number.POSITIVE_INFINITY;
        }
      });
    },
    isSeeing,
    read: async (organisation, monitor) => {
      if (!isSeeing() || !attached) return undefined;
      const asked = performance.now();
      try {
        const state = await attached.records.read(organisation, monitor);
        return isSeeing() && performance.now() - asked < oldestMs ? state : undefined;
      } catch (error) {
        log.warn({ err: error, monitor }, 'the bus could not be asked for the last beats');
        return undefined;
      }
    },
  };
};
