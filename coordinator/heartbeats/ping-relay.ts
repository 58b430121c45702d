import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { type PingMessage, pingMessage, strictJsonOf } from '../../shared/bus/messages.ts';
import type { Bus, Delivered, Pull } from '../../shared/bus/nats.ts';
import type { PingRecords } from '../../shared/bus/pings.ts';
import { partitionCount, pingsConsumer, streams } from '../../shared/bus/subjects.ts';
import { pingSettings } from '../../shared/checks/heartbeat/config.ts';
import {
  badPingCause,
  coveredUntil,
  foldPing,
  mergePings,
  notAfter,
  type Ping,
  type PingState,
  placeOf,
} from '../../shared/checks/heartbeat/state.ts';
import type { SeenPing } from '../core/types.ts';
import { isTransient, type Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import type { PartitionMessage } from '../engine/messages.ts';
import { setAside } from '../engine/queries.ts';
import type { Refusals } from '../health/refusals.ts';
import {
  keptPingsOf,
  lockedStates,
  type PingKeyRow,
  type PingMonitor,
  type PingRow,
  pingKeysByFingerprint,
  pingMonitors,
  writePings,
  writeStates,
} from './queries.ts';

/** A ping on its way from the bus to the partition that decides it. */
export type RelayedPing = {
  readonly row: PingRow;
  readonly monitor: PingMonitor;
  readonly isMadeUpFor: boolean;
  /** Newer ones are known already. */
  readonly isLate: boolean;
};

/**
 * Brings pings from the bus into the database and to the partition that decides their monitor. A
 * ping is acknowledged only after both; a repeated one changes nothing.
 *
 * A partition of another coordinator is left to it.
 */
type PingRelay = { readonly stop: () => Promise<void> };

type Dependencies = {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly records: PingRecords;
  readonly clock: Clock;
  readonly log: Log;
  readonly refusals: Refusals;
  readonly owns: (partition: number) => boolean;
  readonly tell: (partition: number, message: PartitionMessage) => Promise<void>;
};

const atOnce = 200;
const redeliverMs = 200;
const hopelessAfter = 20;
/**
 * Beyond this a clock is wrong, and its time would hide all pings until then. The time when the bus
 * received the ping counts instead.
 */
const futureMs = 120_000;

/** As it came, and when the bus received it. */
type ReceivedPing = { readonly ping: PingMessage; readonly storedAt: number };

type ReadPing = { readonly ping: PingMessage; readonly delivered: Delivered };

/** `wasAhead`: a wrong clock gave its time. */
type RecognisedPing = {
  readonly ping: PingMessage;
  readonly monitor: PingMonitor;
  readonly wasAhead: boolean;
};

export function startPingRelay({
  sql,
  bus,
  records,
  clock,
  log,
  refusals,
  owns,
  tell,
}: Dependencies): PingRelay {
  /** The pings of this partition's monitors, in the order of the bus. */
  const recognise = async (
    come: readonly ReceivedPing[],
    partition: number,
  ): Promise<RecognisedPing[]> => {
    const keys = new Map(
      (await pingKeysByFingerprint(sql, [...new Set(come.map(({ ping }) => ping.key))])).map(
        (row) => [row.key, row],
      ),
    );
    const monitors = new Map(
      (await pingMonitors(sql, [...new Set([...keys.values()].map(({ monitor }) => monitor))])).map(
        (row) => [row.id, row],
      ),
    );
    return come.flatMap(({ ping: dated, storedAt }) => {
      // By the bus's clock and by ours: either alone may be wrong.
      const wasAhead = dated.at > Math.max(storedAt, clock.now()) + futureMs;
      const ping = wasAhead ? { ...dated, at: storedAt } : dated;
      const key = keys.get(ping.key);
      const monitor = counts(key, ping) ? monitors.get(key.monitor) : undefined;
      // Its key was deleted while it was on its way, or its sender made it up.
      if (monitor?.partition !== partition) refusals.count(ping.ear, 'not_its_monitor');
      return monitor?.partition === partition ? [{ ping, monitor, wasAhead }] : [];
    });
  };

  /**
   * Writes the pings and the states that follow; returns those, and what the partition needs to
   * decide.
   */
  const write = (
    known: readonly RecognisedPing[],
  ): Promise<{
    seen: { monitor: string; ping: SeenPing }[];
    states: ReadonlyMap<string, PingState>;
  }> =>
    inTransaction(sql, async (tx) => {
      const states = await lockedStates(
        tx,
        known.map(({ monitor }) => monitor.id),
      );
      const told: RelayedPing[] = [];
      // Ping receivers deliver kept pings in any order.
      for (const { ping, monitor } of known.toSorted((a, b) => a.ping.at - b.ping.at)) {
        const before = states.get(monitor.id);
        if (before === undefined) continue; // The monitor was deleted just now.
        const { state, run_ms } = foldPing(before, ping);
        states.set(monitor.id, state);
        const { id, kind, exit_code, at, rid, method, body, ear } = ping;
        const row: PingRow = {
          id,
          monitor: monitor.id,
          kind,
          exit_code,
          at,
          rid,
          run_ms,
          method,
          body,
          ear,
        };
        told.push({
          row,
          monitor,
          isMadeUpFor: isMadeUpFor(row, state),
          isLate: isLate(row, before),
        });
      }
      await writeStates(tx, states);
      await writePings(
        tx,
        told.map(({ row }) => row),
      );
      const placed = told.filter(wantsPlace).map(({ monitor }) => monitor.id);
      const all =
        placed.length === 0 ? new Map<string, readonly PingRow[]>() : await keptPingsOf(tx, placed);
      const seen = told.flatMap((one) =>
        seenOf(one, all.get(one.monitor.id) ?? [], states.get(one.monitor.id)?.from ?? null).map(
          (ping) => ({
            monitor: one.monitor.id,
            ping,
          }),
        ),
      );
      return { seen, states };
    });

  /** Corrects such a monitor's record on the bus, by which probes judge it. */
  const setRight = async (
    { ping, monitor: { id, organisation_id }, wasAhead }: RecognisedPing,
    states: ReadonlyMap<string, PingState>,
  ): Promise<void> => {
    const state = states.get(id);
    if (!wasAhead || !state) return;
    log.warn(
      { monitor: id, receiver: ping.ear },
      'a ping has a time far in the future; the time when the bus stored it counts',
    );
    await records.change(organisation_id, id, (there) =>
      there ? mergePings(state, notAfter(there, ping.at + futureMs)) : state,
    );
  };

  const relay = async (come: readonly ReceivedPing[], partition: number): Promise<void> => {
    const known = await recognise(come, partition);
    if (known.length === 0) return;
    const { seen, states } = await write(known);
    await tell(partition, { is: 'pings', pings: seen });
    for (const one of known) await setRight(one, states);
  };

  const take = async (deliveries: readonly Delivered[], partition: number): Promise<void> => {
    if (!owns(partition)) throw new Error(`partition ${partition} belongs to another coordinator`);
    const read: ReadPing[] = [];
    for (const delivered of deliveries) {
      const ping = readPing(delivered);
      if (ping && ping.create === undefined) read.push({ ping, delivered });
      else {
        refusals.count('beat', 'malformed');
        delivered.ack();
      }
    }
    try {
      await relay(read.map(receivedPing), partition);
      for (const { delivered } of read) delivered.ack();
    } catch (error) {
      const [first, ...others] = read;
      if (!first) throw error;
      if (others.length === 0 || isTransient(error) || !owns(partition))
        await refuse(first.delivered, partition, error);
      // One of them may be poison and must not harm or delay the others.
      else for (const one of read) await takeAlone(one, partition);
    }
  };

  const takeAlone = async (one: ReadPing, partition: number): Promise<void> => {
    try {
      await relay([receivedPing(one)], partition);
      one.delivered.ack();
    } catch (error) {
      await refuse(one.delivered, partition, error);
    }
  };

  const refuse = async (delivered: Delivered, partition: number, error: unknown): Promise<void> => {
    if (isTransient(error) || !owns(partition)) throw error;
    if (delivered.deliveries < hopelessAfter) {
      log.warn({ err: error }, 'could not process a ping; the bus redelivers it');
      delivered.nak(redeliverMs);
      return;
    }
    log.error({ err: error }, 'a ping cannot be processed; it is set aside');
    await setAside(sql, {
      subject: delivered.subject,
      reason: String(error),
      data: delivered.data,
    });
    delivered.ack();
  };

  const pulls: Pull[] = Array.from({ length: partitionCount }, (_, partition) => {
    const consumer = pingsConsumer(partition);
    return bus.pull({
      stream: streams.pings.name,
      consumer: consumer.name,
      batch: atOnce,
      mayAsk: () => owns(partition),
      // An owner before us pulls for half a minute more, and would return each message only after a
      // while.
      onBegin: () => bus.renewConsumer(streams.pings.name, consumer),
      onMissing: async () => {
        await bus.ensureStream(streams.pings);
        await bus.ensureConsumer(streams.pings.name, consumer);
      },
      onMessages: async (deliveries) => {
        try {
          await take(deliveries, partition);
        } catch (error) {
          for (const delivered of deliveries) delivered.nak(redeliverMs);
          throw error;
        }
      },
    });
  });

  return {
    stop: async () => {
      await Promise.all(pulls.map((pull) => pull.stop()));
    },
  };
}

function receivedPing({ ping, delivered: { storedAt } }: ReadPing): ReceivedPing {
  return { ping, storedAt };
}

function counts(key: PingKeyRow | undefined, ping: PingMessage): key is PingKeyRow {
  return key !== undefined && (key.until === null || ping.at < key.until);
}

/**
 * A failure that a success of the same millisecond resolved is reported only once: when both
 * repeat, their times alone would make the failure the last.
 */
export function isMadeUpFor(
  { kind, at }: Pick<Ping, 'kind' | 'at'>,
  { latest, good }: PingState,
): boolean {
  return kind === 'fail' && latest === 'good' && good?.at === at;
}

export function isLate({ at }: Pick<Ping, 'at'>, { good, bad }: PingState): boolean {
  return at < Math.max(good?.at ?? 0, bad?.at ?? 0);
}

/** Whether its position among the other pings matters. */
function wantsPlace({ row: { kind }, isLate: late }: RelayedPing): boolean {
  return kind === 'fail' || (late && kind !== 'log');
}

/**
 * How much of the body the incident keeps for good; the monitor's page has all of it while it is
 * among the last pings.
 */
const shownBody = 1_024;
/** A schedule that never occurs again covers at most this. */
const farthestMs = 400 * 86_400_000;

/**
 * What the partition receives for it: the ping itself, and later failures, which an older ping may
 * retime or separate from what was before.
 */
export function seenOf(
  told: RelayedPing,
  known: readonly PingRow[],
  from: PingState['from'],
): SeenPing[] {
  const { row, monitor, isMadeUpFor: isNothing } = told;
  const terms = pingSettings({ interval_ms: monitor.interval_s * 1_000, config: monitor.config });
  const seen = (ping: PingRow): SeenPing => {
    const { id, at, kind, exit_code, ear, method, rid, run_ms, body } = ping;
    const is =
      kind === 'success'
        ? 'good'
        : kind === 'fail' && !(isNothing && ping === row)
          ? 'bad'
          : 'mark';
    const isPlaced = wantsPlace(told) && (is !== 'mark' || kind === 'start');
    const place = isPlaced
      ? placeOf(ping, known, from, terms)
      : { began_at: at, next_good_at: null, fails_at: null };
    return {
      id,
      at,
      is,
      began_at: place.began_at,
      next_good_at: place.next_good_at,
      fails_at: place.fails_at,
      covers_until: Math.min(coveredUntil(terms, ping), at + farthestMs),
      cause: is === 'bad' ? badPingCause({ at, exit_code }) : null,
      evidence: {
        received_by: ear,
        method,
        exit_code,
        rid,
        run_ms,
        body: body.slice(0, shownBody),
      },
    };
  };
  if (!told.isLate || (row.kind !== 'success' && row.kind !== 'start')) return [seen(row)];
  const { later, bad } = placeOf(row, known, from, terms);
  const first = seen(row);
  return [first, ...later.map((stretch) => ({ ...first, ...stretch })), ...bad.map(seen)];
}

/** The ping of a message; undefined when it is malformed, or its subject names another key. */
export function readPing({
  subject,
  data,
}: Pick<Delivered, 'subject' | 'data'>): PingMessage | undefined {
  try {
    const read = pingMessage.safeParse(strictJsonOf(data));
    return read.success && subject.endsWith(`.${read.data.key}`) ? read.data : undefined;
  } catch {
    return undefined; // An unreadable message is refused as malformed, like one of the wrong form.
  }
}
