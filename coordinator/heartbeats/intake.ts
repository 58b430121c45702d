import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { jsonOf, receiverKeysMessage } from '../../shared/bus/messages.ts';
import type { Bus, Message } from '../../shared/bus/nats.ts';
import { openPingSpool } from '../../shared/bus/ping-spool.ts';
import {
  createPingBus,
  createPingIntake,
  type PingIntake,
  type PingRecords,
} from '../../shared/bus/pings.ts';
import { lastTokenOf, probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import type { Sql } from '../database/connect.ts';
import type { Partitions } from '../engine/ownership.ts';
import type { Refusals } from '../health/refusals.ts';
import type { Announcements } from '../probes/announcements.ts';
import { type Directory, senderOf } from '../probes/directory.ts';
import { startCreating } from './creating.ts';
import { createForwardedPings, type ForwardedPings } from './forwarded.ts';
import { openPingBook } from './keys.ts';
import { type CreateHeartbeat, createNaming } from './naming.ts';
import { startPingRelay } from './ping-relay.ts';

/**
 * Everything that a coordinator does for heartbeats: its own address for jobs and for ping
 * receivers that are cut off from the bus, the relay into the database, and the keys and last pings
 * on the bus.
 */
export type Pings = {
  readonly take: PingIntake['take'];
  readonly takeKept: ForwardedPings['take'];
  /** How many keys an organisation has. */
  readonly keysOf: (organisation: string) => number;
  readonly close: () => Promise<void>;
};

type Dependencies = {
  readonly supervisor: Starts<'ping keys' | 'ping key check'>;
  readonly sql: Sql;
  readonly bus: Bus;
  readonly records: PingRecords;
  readonly clock: Clock;
  readonly log: Log;
  readonly announcements: Pick<Announcements, 'read' | 'refuse' | 'trust'>;
  readonly refusals: Refusals;
  readonly directory: Directory;
  readonly partitions: Partitions;
  readonly isLeader: () => boolean;
  readonly createHeartbeat: CreateHeartbeat;
  /** The file that keeps pings while the bus is down. */
  readonly spoolFile: string;
  readonly refreshMs: number;
  /** Aborts the wait at its start. */
  readonly signal: AbortSignal;
};

/**
 * A probe must report the same missing keys twice before everything is sent again: keys on their
 * way should arrive first.
 */
const patience = 2;

/**
 * A key that never existed: its deletion marker tells a ping receiver that it has received
 * everything.
 */
const noKey = '0'.repeat(64);
const noOne = '00000000-0000-0000-0000-000000000000';

export async function startPings(dependencies: Dependencies): Promise<Pings> {
  const {
    sql,
    bus,
    records,
    clock,
    log,
    announcements,
    refusals,
    directory,
    partitions,
    isLeader,
    createHeartbeat,
    refreshMs,
    signal,
  } = dependencies;
  const book = await openPingBook({
    supervisor: dependencies.supervisor,
    sql,
    bus,
    records,
    clock,
    log,
    announcements,
    refreshMs,
    signal,
  });
  const spool = await openPingSpool(dependencies.spoolFile, log);
  const pingBus = createPingBus(bus, records, 'coordinator');
  const intake = createPingIntake({
    pingBus: () => pingBus,
    spool,
    findKey: book.findKey,
    ear: 'coordinator',
    clock,
    log,
  });
  const kept = createForwardedPings({
    sql,
    pingBus,
    byHeart: book.byHeart,
    directory,
    refusals,
    clock,
    log,
  });
  const relay = startPingRelay({
    sql,
    bus,
    records,
    clock,
    log,
    refusals,
    owns: partitions.owns,
    tell: partitions.tell,
  });
  const creating = startCreating({
    sql,
    bus,
    pingBus,
    create: createNaming({ sql, clock, log, createHeartbeat }),
    log,
    refusals,
    isLeader,
  });

  const lacking = new Map<string, { readonly digest: string; readonly times: number }>();
  const hearReceiver = async (message: Message): Promise<void> => {
    if (!isLeader()) return;
    const { subject, data } = message;
    const { probe, count, digest } = receiverKeysMessage.parse(jsonOf(data));
    // A probe may only speak for itself: each such message has all keys sent again.
    if (subject !== subjects.receiverKeys(probe))
      return refusals.count(lastTokenOf(subject), 'wrong_subject');
    const row = await senderOf(probe, message, directory, clock.now());
    if ('refused' in row) return refusals.count(probe, row.refused);
    const expected = book.digestOf(row.organisation_id);
    if (expected.count === count && expected.digest === digest) return void lacking.delete(probe);
    const before = lacking.get(probe);
    // Do not start again while more keys arrive: with very many keys it would never get the last.
    const times = before?.digest === digest ? before.times + 1 : 1;
    lacking.set(probe, { digest, times });
    if (times < patience) return;
    lacking.delete(probe);
    log.warn(
      { probe, count, expected: expected.count },
      "a ping receiver's keys differ from ours: sending all of them again",
    );
    // Where the stream has nothing for it nothing would arrive, and it would keep its old keys.
    if (!(await bus.next(streams.pingKeys.name, 1, subjects.pingKeysOf(row.organisation_id))))
      await bus.store(subjects.pingKey(row.organisation_id ?? noOne, noKey), new Uint8Array());
    await bus.renewConsumer(
      streams.pingKeys.name,
      probeConsumers.pingKeys(probe, row.organisation_id),
    );
  };
  const receivers = bus.subscribe(subjects.allReceiverKeys, hearReceiver);

  return {
    take: intake.take,
    takeKept: kept.take,
    keysOf: (organisation) => book.digestOf(organisation).count,
    close: async () => {
      receivers.stop();
      await intake.close();
      await Promise.all([relay.stop(), creating.stop()]);
      await book.close();
    },
  };
}
