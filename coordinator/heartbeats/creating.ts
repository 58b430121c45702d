import { createRecentCache } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { PingMessage } from '../../shared/bus/messages.ts';
import type { Bus, Delivered, Pull } from '../../shared/bus/nats.ts';
import type { PingBus } from '../../shared/bus/pings.ts';
import { creatingPingsConsumer, streams } from '../../shared/bus/subjects.ts';
import { isTransient, type Sql } from '../database/connect.ts';
import { setAside } from '../engine/queries.ts';
import { longestTurnMs } from '../engine/timing.ts';
import type { Refusals } from '../health/refusals.ts';
import type { CreateNamed } from './naming.ts';
import { readPing } from './ping-relay.ts';

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly pingBus: PingBus;
  readonly create: CreateNamed;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly isLeader: () => boolean;
};

type Creating = PingMessage & { readonly create: NonNullable<PingMessage['create']> };

const atOnce = 50;
const perSecond = 3;
const hopelessAfter = 20;
const maxRemembered = 10_000;

/**
 * Creates the monitors that pings of a ping key name for the first time. These pings wait in a
 * queue apart, because each costs a whole operation: in the turn of a partition they would hold up
 * the pings of others. Afterwards a ping goes to the partition of the monitor that there is now.
 *
 * Only the coordinator that leads does so.
 */
export function startCreating(dependencies: Dependencies): Pull {
  const { sql, bus, pingBus, create, log, refusals, isLeader } = dependencies;
  const delayOf = createTurns(() => performance.now());
  /** How often a ping failed. Its deliveries also count the times it had to wait. */
  const failures = createRecentCache<string, number>(maxRemembered);

  const make = async ({ create: named, ...ping }: Creating): Promise<void> => {
    const owner = await create(ping, named);
    if (owner === undefined) return; // The log of the organisation says why.
    await pingBus.handOver({ ...owner, ping }, 'created');
  };

  const onFailure = async (error: unknown, delivered: Delivered, id: string): Promise<void> => {
    const failed = (failures.find(id) ?? 0) + 1;
    if (!isTransient(error)) failures.keep(id, failed);
    if (failed < hopelessAfter) {
      log.warn({ err: error }, 'a ping could not create its monitor yet');
      return delivered.nak(1_000);
    }
    log.error({ err: error }, 'a ping cannot be processed; it is set aside');
    const { subject, data } = delivered;
    await setAside(sql, { subject, reason: String(error), data });
    delivered.ack();
  };

  const take = async (delivered: Delivered): Promise<void> => {
    const ping = readPing(delivered);
    if (!isCreating(ping)) {
      refusals.count('beat', 'malformed');
      return delivered.ack();
    }
    const delay = delayOf(ping.create.ping_key);
    if (delay > 0) return delivered.nak(delay);
    try {
      await make(ping);
      delivered.ack();
    } catch (error) {
      await onFailure(error, delivered, ping.id);
    }
  };

  return bus.pull({
    stream: streams.pings.name,
    consumer: creatingPingsConsumer.name,
    batch: atOnce,
    mayAsk: isLeader,
    // A leader before us pulls for half a minute more.
    onBegin: () => bus.renewConsumer(streams.pings.name, creatingPingsConsumer),
    onMissing: async () => {
      await bus.ensureStream(streams.pings);
      await bus.ensureConsumer(streams.pings.name, creatingPingsConsumer);
    },
    onMessages: async (deliveries) => {
      for (const delivered of deliveries)
        if (isLeader()) await take(delivered);
        else delivered.nak(200);
    },
  });
}

/**
 * How long a ping of a ping key must wait for its turn; 0: it is now. A burst is spread over the
 * seconds that follow.
 */
export function createTurns(now: () => number): (pingKey: string) => number {
  const used = new Map<string, number>();
  let since = Number.NEGATIVE_INFINITY;
  return (pingKey) => {
    if (now() - since >= 1_000) {
      since = now();
      used.clear();
    }
    const before = used.get(pingKey) ?? 0;
    used.set(pingKey, before + 1);
    return Math.min(longestTurnMs, Math.floor(before / perSecond) * 1_000);
  };
}

function isCreating(ping: PingMessage | undefined): ping is Creating {
  return ping?.create !== undefined;
}
