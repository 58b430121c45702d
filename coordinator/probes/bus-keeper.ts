import pLimit from 'p-limit';
import type { Starts } from '../../shared/actor/supervisor.ts';
import { pause } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Announce } from '../../shared/bus/announcement.ts';
import type { BusEntry } from '../../shared/bus/dialling.ts';
import {
  BusRefusal,
  type ConsumerOptions,
  type StreamKeeping,
} from '../../shared/bus/jetstream.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import type { Sql } from '../database/connect.ts';
import { markDone, waitingRows } from '../database/outbox.ts';
import { endNoticesAbout } from '../health/notices.ts';
import type { Directory } from './directory.ts';
import { pushRevocations } from './identities.ts';
import { endOldKeys, keyPlaceOf, type ProbeRow, revokedKeys } from './queries.ts';

/**
 * The durable consumers of probes. Each is on one server of the bus only. While that server is down
 * no one answers for it; when it stays down, the consumer is made again, on a random server.
 *
 * One that is made again may get the same server, and is then lost again.
 */
type Consumers = {
  /** @throws when one of them could not be made; the others exist all the same. */
  readonly keep: (durables: readonly Consumer[]) => Promise<void>;
  /** Settles when they are gone, or will be without an answer. */
  readonly forget: (durables: readonly Consumer[]) => Promise<void>;
  /** Removes them and makes them again: the probe receives everything once more. */
  readonly renew: (durables: readonly Consumer[]) => Promise<void>;
  /**
   * Called regularly; makes all of them again when a server has been down so long that it may stay
   * down.
   */
  readonly remakeLost: (all: () => readonly Consumer[]) => Promise<void>;
};

export type Consumer = { readonly stream: string; readonly consumer: ConsumerOptions };

type ConsumersBus = Pick<Bus, 'isConnected' | 'ensureConsumer' | 'deleteConsumer' | 'streamState'>;

type Dependencies = {
  readonly bus: ConsumersBus;
  readonly log: Pick<Log, 'info' | 'debug'>;
  /** How long this process has run, in milliseconds, independent of any clock. */
  readonly elapsed?: () => number;
};

/** A server that only restarted is back by then, with everything that it kept. */
const awayMs = 15_000;
const againMs = 30_000;

/**
 * With one of three servers gone, all tries hit it once in a thousand times; a later call then
 * tries again.
 */
const maxTries = 6;
/** A server that is there answers sooner. */
const unansweredMs = 2_000;

const atOnce = 8;

export function createConsumers({
  bus,
  log,
  elapsed = () => performance.now(),
}: Dependencies): Consumers {
  /**
   * As the stream itself reports; a bus that answers nothing does not show which server is gone.
   */
  const lacksServer = async (stream: string): Promise<boolean> => {
    if (!bus.isConnected()) return false;
    try {
      return ((await bus.streamState(stream))?.missing ?? 0) > 0;
    } catch (error) {
      log.debug({ err: error, stream }, 'could not read the replicas of a stream');
      return false;
    }
  };

  /**
   * Whether there was no answer because its server is gone. A refusal is an answer, and a slow bus
   * should not get more work.
   */
  const isLost = async (stream: string, error: unknown): Promise<boolean> =>
    !(error instanceof BusRefusal) && (await lacksServer(stream));

  /** @throws unless it is deleted, or will be without an answer, as with a lost one. */
  const drop = async ({ stream, consumer }: Consumer): Promise<void> => {
    try {
      await bus.deleteConsumer(stream, consumer.name, unansweredMs);
    } catch (error) {
      if (!(await isLost(stream, error))) throw error;
    }
  };

  const keepOne = async (durable: Consumer): Promise<void> => {
    const { stream, consumer } = durable;
    for (let tries = 1; ; tries += 1) {
      try {
        await bus.ensureConsumer(stream, consumer, tries === 1 ? undefined : unansweredMs);
        if (tries > 1)
          log.info(
            { stream, consumer: consumer.name, tries },
            'recreated what a lost bus server had stored',
          );
        return;
      } catch (error) {
        if (tries === maxTries || !(await isLost(stream, error))) throw error;
      }
      await drop(durable);
    }
  };

  const each = async (
    durables: readonly Consumer[],
    work: (durable: Consumer) => Promise<void>,
  ): Promise<void> => {
    const limit = pLimit(atOnce);
    const outcomes = await Promise.allSettled(
      durables.map((durable) => limit(() => work(durable))),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  };

  const keep: Consumers['keep'] = (durables) => each(durables, keepOne);

  let lookAt: number | undefined;
  return {
    keep,
    forget: (durables) => each(durables, drop),
    renew: (durables) =>
      each(durables, async (durable) => {
        await drop(durable);
        await keepOne(durable);
      }),
    remakeLost: async (all) => {
      const durables = all();
      const lacking = await Promise.all(
        [...new Set(durables.map(({ stream }) => stream))].map(lacksServer),
      );
      if (!lacking.includes(true)) {
        lookAt = undefined;
        return;
      }
      lookAt ??= elapsed() + awayMs;
      if (elapsed() < lookAt) return;
      // Also when it fails.
      lookAt = elapsed() + againMs;
      await keep(durables);
    },
  };
}

/**
 * Streams to which the servers refused their replicas or their place, as servers do that have not
 * all joined yet. They are requested again, at doubling distances.
 */
type StreamGrowth = { readonly tick: () => Promise<void> };

const firstMs = 10_000;
const maxMs = 600_000;

type StreamGrowthDependencies = {
  readonly bus: Pick<Bus, 'refusedStreams'>;
  readonly log: Pick<Log, 'info'>;
  readonly ensureStreams: () => Promise<void>;
  /** How long this process has run, in milliseconds, independent of any clock. */
  readonly elapsed?: () => number;
};

export function createStreamGrowth({
  bus,
  log,
  ensureStreams,
  elapsed = () => performance.now(),
}: StreamGrowthDependencies): StreamGrowth {
  let askAt: number | undefined;
  let distanceMs = firstMs;
  return {
    tick: async () => {
      const wanting = bus.refusedStreams();
      if (wanting.length === 0) {
        [askAt, distanceMs] = [undefined, firstMs];
        return;
      }
      askAt ??= elapsed() + distanceMs;
      if (elapsed() < askAt) return;
      // Also after any other failure the next try is further away.
      distanceMs = Math.min(2 * distanceMs, maxMs);
      askAt = elapsed() + distanceMs;
      await ensureStreams();
      if (bus.refusedStreams().length === 0)
        log.info(
          { streams: wanting },
          'streams now have the replicas and the placement that were refused before',
        );
    },
  };
}

/**
 * Manages what probes need on the bus: their durable consumers, and the end of their rights. One
 * coordinator does this, the owner of the first partition.
 */
type ProbeBusAdmin = {
  /**
   * Applies operations' changes of probes, right after the notification and again from time to
   * time.
   */
  readonly drain: () => Promise<void>;
  /** All streams and durable consumers, after a start or a return of the bus. */
  readonly ensureAll: () => Promise<void>;
  /** Requests refused replicas and places again when it is time. */
  readonly growStreams: () => Promise<void>;
  /** Makes what was on a lost server again. */
  readonly remakeLost: () => Promise<void>;
  /** Sends everything again to one probe, which lost or missed something. */
  readonly resync: (probe: ProbeRow) => Promise<void>;
};

type BusAdminDependencies = {
  readonly sql: Sql;
  readonly bus: Bus;
  /** On the system account. */
  readonly system: Bus;
  readonly account: string;
  readonly operator: Key;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
};

const assign = streams.assignments.name;
/**
 * A monitor that never existed: its deletion marker tells a probe that it has received everything.
 */
const noOne = '00000000-0000-0000-0000-000000000000';

export async function ensureStreams(bus: Pick<Bus, 'ensureStream'>): Promise<void> {
  for (const stream of Object.values(streams)) await bus.ensureStream(stream);
}

export function createProbeBusAdmin(dependencies: BusAdminDependencies): ProbeBusAdmin {
  const { sql, bus, system, account, operator, clock, log, directory } = dependencies;

  const durablesOf = (probe: ProbeRow): Consumer[] => [
    { stream: assign, consumer: probeConsumers.roster(probe.id) },
    // A private probe gets only what names its place.
    {
      stream: assign,
      consumer:
        probe.place_id === null
          ? probeConsumers.assignments(probe.id, subjects.assignmentsOf(probe.continent))
          : probeConsumers.private(probe.id, probe.place_id),
    },
    {
      stream: streams.pingKeys.name,
      consumer: probeConsumers.pingKeys(probe.id, probe.organisation_id),
    },
  ];

  const durables = createConsumers({ bus, log });
  const ofEverybody = (): Consumer[] =>
    directory.all().flatMap((probe) => (probe.revoked_at === null ? durablesOf(probe) : []));

  const pushAll = async (): Promise<void> =>
    pushRevocations({ system, account, operator }, await revokedKeys(sql), clock.now());

  const growth = createStreamGrowth({ bus, log, ensureStreams: () => ensureStreams(bus) });

  return {
    drain: async () => {
      if (await endOldKeys(sql, clock.now())) {
        await pushAll();
        await directory.refresh();
      }
      const lines = await waitingRows(sql, 'probe', null, 100);
      if (lines.length === 0) return;
      await directory.refresh();
      // First: probes that must be kept out.
      if (lines.some(({ payload }) => payload.change === 'revoked')) await pushAll();
      const failures: unknown[] = [];
      for (const { id, payload } of lines) {
        const probe = directory.byId(payload.probe);
        try {
          if (probe && probe.revoked_at === null) await durables.keep(durablesOf(probe));
          else if (probe) {
            await durables.forget(durablesOf(probe));
            await endNoticesAbout(sql, probe.id);
          }
          await markDone(sql, [id]);
          log.info({ probe: payload.probe, change: payload.change }, 'a probe changed');
        } catch (error) {
          // Only this line waits for its next turn; later ones go on. When several fail, the bus
          // itself does not answer.
          failures.push(error);
          if (failures.length === 3) break;
        }
      }
      if (failures.length > 0) throw failures[0];
    },
    ensureAll: async () => {
      await ensureStreams(bus);
      await pushAll();
      await durables.keep(ofEverybody());
    },
    remakeLost: () => durables.remakeLost(ofEverybody),
    growStreams: growth.tick,
    resync: async (probe) => {
      // Where the stream has nothing for it nothing would arrive, and it would keep its old
      // assignments.
      const place = keyPlaceOf(probe);
      const whole = subjects.assignmentsOf(place);
      const nothing = subjects.inBucket(place, { partition: 0, bucket: 0, item: noOne });
      if ((await bus.subjectsOf(assign, whole)).length === 0)
        await bus.store(nothing, new Uint8Array());
      log.warn(
        { probe: probe.id, name: probe.name },
        "a probe's assignments differ from ours: sending all of them again",
      );
      await durables.renew(durablesOf(probe));
    },
  };
}

export type BusPlace = {
  readonly entrance: Omit<BusEntry, 'credentials'>;
  readonly keeping: StreamKeeping;
  readonly credentials: string;
  readonly systemCredentials: string;
};

type ConnectToBusDependencies = {
  readonly place: BusPlace;
  readonly owner: string;
  readonly announce: Announce;
  readonly log: Log;
  readonly supervisor: Starts<'bus'>;
  readonly signal: AbortSignal;
};

const retryMs = 1_000;

/**
 * Retries until it succeeds: a server that has just started, or a cluster without a leader, accepts
 * connections but no streams yet.
 */
export async function retryUntilReady(
  work: () => Promise<void>,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  let said: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      await work();
      return;
    } catch (error) {
      const why = String(error);
      if (why !== said)
        log.warn({ err: error }, 'the coordinator waits for the bus: its streams are not ready');
      said = why;
    }
    await pause(retryMs, signal);
  }
}

/**
 * The two connections to the bus and the streams there; waits for as long as it takes. @throws when
 * the signal aborts the wait.
 */
export async function connectToBus({
  place,
  owner,
  announce,
  log,
  supervisor,
  signal,
}: ConnectToBusDependencies): Promise<{ readonly bus: Bus; readonly system: Bus }> {
  const { entrance, keeping, credentials, systemCredentials } = place;
  const bus = await connectBus({
    ...entrance,
    keeping,
    credentials,
    announce,
    name: `coordinator ${owner}`,
    log,
    signal,
  });
  supervisor.part('bus', bus.close);
  const system = await connectBus({
    ...entrance,
    credentials: systemCredentials,
    name: `coordinator-system ${owner}`,
    log,
    signal,
  });
  supervisor.part('bus', system.close);
  await retryUntilReady(() => ensureStreams(bus), { log, signal });
  return { bus, system };
}
