import pLimit from 'p-limit';
import { type End, pause } from '../../shared/base/async.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Announce } from '../../shared/bus/announcement.ts';
import type { BusEntry } from '../../shared/bus/dialling.ts';
import { BusRefusal, type ConsumerOptions, type StreamKeeping } from '../../shared/bus/jetstream.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import type { Key } from '../../shared/bus/nkeys.ts';
import { probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import type { Sql } from '../database/connect.ts';
import { markDone, waitingLines } from '../database/outbox.ts';
import { endNoticesAbout } from '../health/notices.ts';
import type { Directory } from './directory.ts';
import { pushRevocations } from './identities.ts';
import { endedDirectCredentials, endOldKeys, type ProbeRow, revokedKeys } from './queries.ts';

/**
 * The durables of probes. Each lies with one server of the bus alone: while that one is away nobody answers for it, and when it stays away
 * the durable is made anew, where chance lays it.
 *
 * Modes of a durable: `kept` → (its server is gone) `lost` → (deleted, unanswered, and made anew) `kept`, or `lost` again, where it fell to the same server.
 */
export type Consumers = {
  /** @throws when one of them could not be had; the others are there all the same. */
  readonly keep: (durables: readonly Consumer[]) => Promise<void>;
  /** Settles when they are gone, or will be without a word. */
  readonly forget: (durables: readonly Consumer[]) => Promise<void>;
  /** Removes them, and makes them anew: all comes to the probe once more. */
  readonly renew: (durables: readonly Consumer[]) => Promise<void>;
  /** Asked again and again; keeps all of them, when a server has been away for so long that it may stay away. */
  readonly remakeLost: (all: () => readonly Consumer[]) => Promise<void>;
};

export type Consumer = { readonly stream: string; readonly consumer: ConsumerOptions };

type ConsumersBus = Pick<Bus, 'isConnected' | 'ensureConsumer' | 'deleteConsumer' | 'streamState'>;

type Dependencies = {
  readonly bus: ConsumersBus;
  readonly log: Pick<Log, 'info' | 'debug'>;
  /** How long this process runs, in milliseconds: no clock that can be set. */
  readonly elapsed?: () => number;
};

/** A server that was only started anew is back by then, with all that it kept. */
const awayMs = 15_000;
const againMs = 30_000;

/** Of three servers, one gone: all of these fall to it once in a thousand times, and then it is tried again. */
const maxTries = 6;
/** Whoever is there answers sooner; who is not there does not answer. */
const unansweredMs = 2_000;

const atOnce = 8;

export const createConsumers = ({ bus, log, elapsed = () => performance.now() }: Dependencies): Consumers => {
  /** By the word of the stream itself; a bus that answers nothing says nothing of who is gone. */
  const lacksServer = async (stream: string): Promise<boolean> => {
    if (!bus.isConnected()) return false;
    try {
      return ((await bus.streamState(stream))?.missing ?? 0) > 0;
    } catch (error) {
      log.debug({ err: error, stream }, 'a stream could not be asked who keeps it');
      return false;
    }
  };

  /** Whether nobody answered for it because its server is gone: a no is an answer, and a bus that is only slow is not made busier. */
  const isLost = async (stream: string, error: unknown): Promise<boolean> => !(error instanceof BusRefusal) && (await lacksServer(stream));

  /** @throws unless it is deleted, or will be though nobody says so: of a lost one nobody does. */
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
        if (tries > 1) log.info({ stream, consumer: consumer.name, tries }, 'what lay with a server that is gone was made anew');
        return;
      } catch (error) {
        if (tries === maxTries || !(await isLost(stream, error))) throw error;
      }
      await drop(durable);
    }
  };

  const each = async (durables: readonly Consumer[], work: (durable: Consumer) => Promise<void>): Promise<void> => {
    const limit = pLimit(atOnce);
    const outcomes = await Promise.allSettled(durables.map((durable) => limit(() => work(durable))));
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
      const lacking = await Promise.all([...new Set(durables.map(({ stream }) => stream))].map(lacksServer));
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
};

/**
 * Streams to which the servers would not give their replicas or their place, as servers do that have not all come together yet, are asked for
 * again, at doubling distances.
 *
 * Modes: `kept` (as the settings say) → `wanting` (something was refused) → `kept`.
 */
export type StreamGrowth = { readonly tick: () => Promise<void> };

const firstMs = 10_000;
const maxMs = 600_000;

type StreamGrowthDependencies = {
  readonly bus: Pick<Bus, 'refusedStreams'>;
  readonly log: Pick<Log, 'info'>;
  readonly ensureStreams: () => Promise<void>;
  /** How long this process runs, in milliseconds: no clock that can be set. */
  readonly elapsed?: () => number;
};

export const createStreamGrowth = ({
  bus,
  log,
  ensureStreams,
  elapsed = () => performance.now(),
}: StreamGrowthDependencies): StreamGrowth => {
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
      // Also when it fails otherwise the next asking is further away.
      distanceMs = Math.min(2 * distanceMs, maxMs);
      askAt = elapsed() + distanceMs;
      await ensureStreams();
      if (bus.refusedStreams().length === 0)
        log.info({ streams: wanting }, 'streams have the replicas and the place now that they were refused');
    },
  };
};

/** Looks after what probes need on the bus: their durables, and the end of their rights. Work of one coordinator, the owner of the first partition. */
export type ProbeBusAdmin = {
  /** Applies what operations did to probes; at once after the notification, and again from time to time. */
  readonly drain: () => Promise<void>;
  /** Streams and durables of everybody, as after a start or a bus that came back. */
  readonly ensureAll: () => Promise<void>;
  /** Asks again for replicas and places that were refused, when their time has come. */
  readonly growStreams: () => Promise<void>;
  /** Makes anew what lay with a server that is gone. */
  readonly remakeLost: () => Promise<void>;
  /** Everything anew for one probe, which lost or missed something. */
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
/** The monitor that never was: its tombstone tells a probe that what came is all there is. */
const noOne = '00000000-0000-0000-0000-000000000000';

export const ensureStreams = async (bus: Pick<Bus, 'ensureStream'>): Promise<void> => {
  for (const stream of Object.values(streams)) await bus.ensureStream(stream);
};

export const createProbeBusAdmin = (parts: BusAdminDependencies): ProbeBusAdmin => {
  const { sql, bus, system, account, operator, clock, log, directory } = parts;

  const durablesOf = (probe: ProbeRow): Consumer[] => [
    { stream: assign, consumer: probeConsumers.roster(probe.id) },
    // A private probe gets only what names it.
    ...(probe.organisation_id === null
      ? [{ stream: assign, consumer: probeConsumers.assignments(probe.id, subjects.assignmentsOf(probe.continent)) }]
      : []),
    { stream: assign, consumer: probeConsumers.private(probe.id) },
    { stream: streams.pingKeys.name, consumer: probeConsumers.pingKeys(probe.id, probe.organisation_id) },
  ];

  const durables = createConsumers({ bus, log });
  const ofEverybody = (): Consumer[] => directory.all().flatMap((probe) => (probe.revoked_at === null ? durablesOf(probe) : []));

  const pushAll = async (): Promise<void> =>
    pushRevocations(
      { system, account, operator },
      { revoked: await revokedKeys(sql), endedBefore: await endedDirectCredentials(sql) },
      clock.now(),
    );

  let pushed: ReadonlyMap<string, number> = new Map();

  const growth = createStreamGrowth({ bus, log, ensureStreams: () => ensureStreams(bus) });

  return {
    drain: async () => {
      if (await endOldKeys(sql, clock.now())) {
        await pushAll();
        await directory.refresh();
      }
      const ended = await endedDirectCredentials(sql);
      if ([...ended].some(([key, at]) => pushed.get(key) !== at)) {
        await pushAll();
        pushed = ended;
      }
      const lines = await waitingLines(sql, 'probe', null, 100);
      if (lines.length === 0) return;
      await directory.refresh();
      // First of all: whoever is to be kept out.
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
          // It waits for its next turn alone: whoever comes after it need not. Of several it is the bus itself that does not answer.
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
      // Where nothing stands for it in the stream nothing would come, and it would keep what it has.
      const isPublic = probe.organisation_id === null;
      const whole = isPublic ? subjects.assignmentsOf(probe.continent) : subjects.privateAssignmentsOf(probe.id);
      if ((await bus.subjectsOf(assign, whole)).length === 0)
        await bus.store(
          isPublic ? subjects.assignment(probe.continent, noOne) : subjects.privateAssignment(probe.id, noOne),
          new Uint8Array(),
        );
      log.warn({ probe: probe.id, name: probe.name }, 'a probe holds other assignments than it should: everything is sent to it anew');
      await durables.renew(durablesOf(probe));
    },
  };
};

export type BusPlace = {
  readonly entrance: Omit<BusEntry, 'credentials'>;
  readonly keeping: StreamKeeping;
  readonly credentials: string;
  readonly systemCredentials: string;
};

type EnterBusDependencies = {
  readonly place: BusPlace;
  readonly owner: string;
  readonly announce: Announce;
  readonly log: Log;
  readonly ends: End[];
  readonly signal: AbortSignal;
};

const retryMs = 1_000;

/** Begins it anew until it is done: a server that has just started, or a cluster without a leader, lets us in and takes no stream yet. */
export const untilBus = async (
  work: () => Promise<void>,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<void> => {
  let said: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      await work();
      return;
    } catch (error) {
      const why = String(error);
      if (why !== said) log.warn({ err: error }, 'the coordinator waits for the bus: it does not keep the streams yet');
      said = why;
    }
    await pause(retryMs, signal);
  }
};

/** The two connections to the bus, with the streams there: waited for, however long it takes. @throws when the signal ends the waiting. */
export const enterBus = async ({
  place,
  owner,
  announce,
  log,
  ends,
  signal,
}: EnterBusDependencies): Promise<{ readonly bus: Bus; readonly system: Bus }> => {
  const { entrance, keeping, credentials, systemCredentials } = place;
  const bus = await connectBus({ ...entrance, keeping, credentials, announce, name: `coordinator ${owner}`, log, signal });
  ends.push(bus.close);
  const system = await connectBus({ ...entrance, credentials: systemCredentials, name: `coordinator-system ${owner}`, log, signal });
  ends.push(system.close);
  await untilBus(() => ensureStreams(bus), { log, signal });
  return { bus, system };
};
