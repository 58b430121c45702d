import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../shared/base/crypto.ts';
import { createLog, type Log } from '../shared/base/log.ts';
import { anchorOf, isPublicAddress } from '../shared/base/network.ts';
import { version } from '../shared/base/process.ts';
import { type Clock, systemClock } from '../shared/base/time.ts';
import { relayedSubject, signatureOf } from '../shared/bus/identity.ts';
import {
  jsonOf,
  receiptMessage,
  recheckMessage,
  type TestAnswerMessage,
  type TestRunMessage,
  testRunMessage,
} from '../shared/bus/messages.ts';
import type { Bus, Message, ShutOut } from '../shared/bus/nats.ts';
import { openPingSpool } from '../shared/bus/ping-spool.ts';
import {
  createPingBus,
  createPingIntake,
  createPingRecords,
  type PingBus,
} from '../shared/bus/pings.ts';
import { inboxOf, subjects } from '../shared/bus/subjects.ts';
import type { Roster, RosterProbe } from '../shared/checks/assignment.ts';
import { isForSome, kinds } from '../shared/checks/kinds.ts';
import { type HttpsAbility, httpsAbilities } from '../shared/checks/placement.ts';
import { keyIdOf } from '../shared/checks/sealed-secrets.ts';
import {
  createLookup,
  createOwnResolver,
  type Families,
  watchFamilies,
} from './checks/connection/lookup.ts';
import { createTrust } from './checks/connection/trust.ts';
import { createUdpSockets } from './checks/dns/sockets.ts';
import { createGuard } from './checks/guard.ts';
import { canPing, createPing } from './checks/icmp/ping.ts';
import { createChecks } from './checks/kinds.ts';
import { chargeUncaught } from './checks/limits.ts';
import type { ProbeIdentity } from './checks/types.ts';
import type { Config } from './config.ts';
import { claimDataFolder, readIfThere, replaceFile } from './disk/files.ts';
import { healthText } from './joining/checklist.ts';
import { openReceiverKeys } from './pings/keys.ts';
import { createAnnouncementReader } from './presence/announcements.ts';
import { createCorrectedClock } from './presence/clock.ts';
import {
  hostIdentity,
  openNetworkKnowledge,
  openOwnCredentials,
  watchBusEndpoints,
} from './presence/knowledge.ts';
import { createRegistryQuestions } from './presence/questions.ts';
import { openRequestSigning } from './presence/request-signing.ts';
import { connectWithRetries, createPresence } from './presence/signal.ts';
import { openAssignments } from './schedule/assignments.ts';
import { createHeartbeats, createPingView } from './schedule/heartbeats.ts';
import { createRunner } from './schedule/runner.ts';
import { createReachability } from './schedule/self-check.ts';
import { createSchedule } from './schedule/wheel.ts';
import { createReporter } from './spool/reporter.ts';
import { openSpool } from './spool/store.ts';

/**
 * Builds one probe, each part in the order in which it is needed.
 *
 * Modes: `checking alone` (from disk, while the probe cannot reach the bus) → `on the bus` (for
 * good: the connection repairs itself) → `closed`.
 */
export type ProbeApp = {
  /** Settles with the first connection to the bus. */
  readonly onBus: Promise<void>;
  /** The address where it receives pings; null when it receives none. */
  readonly ear: string | null;
  /**
   * Settles when a process that started later announces itself as this probe. This one must then
   * close.
   */
  readonly displaced: Promise<void>;
  /** Settles when the bus will not let this probe in again. It must then close. */
  readonly shutOut: Promise<ShutOut>;
  /**
   * Takes an uncaught error. If a check threw it, only that check fails. Returns false when no
   * check threw it.
   */
  readonly takeFault: (error: unknown) => boolean;
  readonly close: () => Promise<void>;
};

export type Overrides = {
  readonly log?: Log;
  readonly host?: Clock;
  /** How long pings on the bus are not judged after the bus came back. */
  readonly pingSettlingMs?: number;
  /** How long a stopping probe waits for others to take its turns. */
  readonly handOverMs?: number;
  /** How often it sends its presence. */
  readonly presenceMs?: number;
};

/** A roster is published at once and takes effect after a second. */
const handOverAtMostMs = 2_500;

/**
 * A coordinator answers a probe's first presence message at once. Without one, no one gives the
 * probe the time.
 */
const clockSyncWithinMs = 5_000;

function httpsAbilitiesOf(families: Families): readonly HttpsAbility[] {
  return httpsAbilities.filter(
    (ability) => ability !== 'both_families' || (families[4] && families[6]),
  );
}

const maxAddresses = 16;

/** Where its requests come from: as its host's administrator says, else its own public addresses. */
function requestAddresses(named: readonly string[], own: readonly string[]): string[] {
  return [...new Set(named.length > 0 ? named : own.filter(isPublicAddress))].slice(
    0,
    maxAddresses,
  );
}

/** When this probe last stopped, by its host's clock; undefined when it was killed. */
async function takeStopMark(path: string): Promise<number | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  await rm(path);
  const at = Number(text);
  return Number.isFinite(at) ? at : undefined;
}

export async function createProbe(config: Config, overrides: Overrides = {}): Promise<ProbeApp> {
  const credentials = config.PROBE_CREDENTIALS;
  const { probe: id, name, continent, organisation } = credentials;
  const log = overrides.log ?? createLog({ name: `probe ${name}`, level: config.LOG_LEVEL });
  const host = overrides.host ?? systemClock;
  const folder = config.PROBE_DATA_DIR;
  const url = config.PROBE_NATS_URL ?? credentials.nats_url;
  const stopping = new AbortController();
  const session = newId();
  const startedAt = performance.now();
  const displaced = Promise.withResolvers<void>();
  const shutOut = Promise.withResolvers<ShutOut>();
  let describeHealth = (): string => '';
  const claim = await claimDataFolder(folder, id, () => describeHealth());
  const own = await openOwnCredentials({
    folder,
    given: credentials.nats_credentials,
    log,
  });
  const { key } = own;
  const ended = own.ended(host.now());
  if (ended !== undefined) log.error(ended);
  const clock = createCorrectedClock(host);
  const knowledge = await openNetworkKnowledge({
    folder,
    signingKeys: credentials.signing_keys,
    log,
  });
  const announcements = createAnnouncementReader({ trust: knowledge.trust, now: clock.now, log });
  const spoolFolder = join(folder, 'spool');
  await mkdir(spoolFolder, { recursive: true, mode: 0o700 });
  const spool = await openSpool({
    folder: spoolFolder,
    mostBytes: config.PROBE_SPOOL_MB * 1024 * 1024,
    log,
  });
  const reporter = createReporter({ probe: id, continent, key, spool, clock, log });
  let bus: Bus | undefined;
  const reachability = createReachability({
    anchors: knowledge.anchors,
    busCounts: () => {
      const own = anchorOf(knowledge.baseUrl());
      return (
        knowledge.anchors().length === 0 || (own !== undefined && knowledge.anchors().includes(own))
      );
    },
    busRoundTrip: () =>
      bus?.isConnected() ? bus.flush() : Promise.reject(new Error('there is no bus')),
  });

  const endpoints = await watchBusEndpoints(url, log);
  let roster: Roster | undefined;
  const guard = createGuard({
    allow: config.PROBE_ALLOW_CIDRS,
    bus: endpoints.bus,
    own: endpoints.own,
    roster: () => roster,
  });
  const families = watchFamilies();
  const hostId = organisation === null ? undefined : await hostIdentity();
  const requests = organisation === null ? await openRequestSigning(folder) : undefined;
  const identify = (): ProbeIdentity => {
    const base_url = knowledge.baseUrl();
    const sign = knowledge.identifies() ? requests?.signerFor(base_url) : undefined;
    return { name, continent, base_url, version, ...(sign ? { sign } : {}) };
  };
  let identity = identify();
  const udp = createUdpSockets();
  const ownResolver = createOwnResolver(udp);
  const view = createPingView({
    log,
    ...(overrides.pingSettlingMs === undefined ? {} : { settlingMs: overrides.pingSettlingMs }),
  });
  // Asked once: the rights of a process stay what they are.
  const ping = createPing();
  const pinging = canPing(ping);
  const askRegistry = createRegistryQuestions({ probe: id, key, bus: () => bus, announcements });
  const runner = createRunner({
    checks: createChecks({
      connection: {
        lookup: createLookup({ families, sockets: udp, onAnswer: ownResolver.answered }),
        resolver: ownResolver,
        families,
        trust: createTrust(),
      },
      https: {},
      dns: { sockets: udp, families },
      domain: { ask: askRegistry },
      ping,
      heartbeat: { view, onJudged: (monitor, next) => heartbeats.judged(monitor, next) },
    }),
    concurrency: config.PROBE_CONCURRENCY,
    clock,
    guard,
    identity: () => identity,
    reachability,
    unseal: knowledge.unseal,
    report: reporter.report,
    isCurrent: (assignment) => assignments.find(assignment.monitor) === assignment,
    log,
  });
  const stopMark = join(folder, 'stopped');
  const schedule = createSchedule({
    self: id,
    clock,
    onDue: runner.turn,
    stoppedAt: await takeStopMark(stopMark),
  });
  const heartbeats = createHeartbeats({
    self: id,
    clock,
    isSeeing: view.isSeeing,
    onDue: runner.turn,
  });
  const both = [schedule, heartbeats];
  const assignments = await openAssignments({
    folder,
    probe: { id, organisation },
    onPut: (assignment) => {
      if (assignment.sealed !== null) knowledge.want(keyIdOf(assignment.sealed));
      for (const { put } of both) put(assignment);
    },
    onGone: (monitor) => {
      for (const { drop } of both) drop(monitor);
    },
    onRoster: (next) => {
      roster = next;
      for (const { setRoster } of both) setRoster(next);
    },
    announcements,
    clock,
    log,
  });

  let pingBus: PingBus | undefined;
  const openPingReceiver = async (port: number) => {
    // Only a ping receiver needs node's web server, which costs some 10 MiB.
    const [{ startPingReceiver }, { createPingForwarding }] = await Promise.all([
      import('./pings/receiver.ts'),
      import('./pings/receiver.ts'),
    ]);
    const keys = await openReceiverKeys({
      folder,
      probe: { id, organisation },
      key,
      announcements,
      log,
    });
    const pings = await openPingSpool(join(folder, 'beats.jsonl'), log);
    // Without a coordinator, no one gives the probe the time. Pings must not wait for that, and the
    // host's clock is mostly right.
    let patienceEnds = Number.POSITIVE_INFINITY;
    const isMeasured = (): boolean => clock.isMeasured() || performance.now() > patienceEnds;
    const timed = { ...clock, isMeasured };
    const { authorities } = config;
    const forwarding = createPingForwarding({
      probe: id,
      key,
      baseUrl: knowledge.baseUrl,
      clock,
      authorities,
    });
    const intake = createPingIntake({
      pingBus: () => pingBus,
      forwarding,
      spool: pings,
      findKey: keys.find,
      ear: name,
      clock: timed,
      log,
    });
    const { address, close } = await startPingReceiver({
      host: config.PROBE_EAR_HOST,
      port,
      take: intake.take,
      log,
    });
    const closeAll = async (): Promise<void> => {
      await close();
      await intake.close();
      await keys.close();
    };
    const attach = (bus: Bus): void => {
      patienceEnds = performance.now() + clockSyncWithinMs;
      keys.attach(bus);
    };
    return { address, attach, close: closeAll };
  };
  const ear =
    config.PROBE_PING_PORT === undefined
      ? undefined
      : await openPingReceiver(config.PROBE_PING_PORT);

  const presence = createPresence({
    key,
    host,
    clock,
    log,
    ...(overrides.presenceMs === undefined ? {} : { everyMs: overrides.presenceMs }),
    parts: {
      describe: async () => {
        const hasPing = await pinging;
        return {
          probe: id,
          generation: spool.generation,
          session,
          up_ms: Math.floor(performance.now() - startedAt),
          version,
          seal_key: knowledge.sealKey,
          allowed_cidrs: config.PROBE_ALLOW_CIDRS,
          kinds: [
            ...kinds.filter((kind) => isForSome(kind) && (kind !== 'icmp' || hasPing)),
            ...httpsAbilitiesOf(families()),
          ],
          ear: ear?.address ?? null,
          spool: spool.status(),
          assignments: { ...assignments.state(), roster_epoch: assignments.roster()?.epoch ?? 0 },
          ...(clock.isMeasured() ? { clock_offset_ms: Math.round(clock.offset()) } : {}),
          ...own.described(),
          ...(requests && knowledge.identifies()
            ? {
                ...requests.described(knowledge.baseUrl(), clock.now()),
                addresses: requestAddresses(config.PROBE_ADDRESSES, endpoints.own()),
              }
            : {}),
          ...(hostId === undefined ? {} : { host: hostId }),
          refused: announcements.refused(),
          load: runner.load(),
          checks: [...runner.tally()],
          self_test: await reachability.selfTest(),
        };
      },
      handedOver: reporter.handedOver,
      isWanting: knowledge.isWanting,
      read: announcements.read,
      onReply: (reply) => {
        heardAt = performance.now();
        if (reply.displaced) displaced.resolve();
        own.hear(reply, bus);
        const identified = knowledge.identifies();
        knowledge.learn(reply, assignments.keysInUse);
        if (reply.base_url !== identity.base_url || knowledge.identifies() !== identified)
          identity = identify();
        reporter.onReply(reply);
      },
    },
  });

  const answerTrial = async ({ trial, assignment }: TestRunMessage): Promise<void> => {
    const result = await runner.test(trial, assignment);
    if (!result) return;
    const { at, took_ms, outcome, cause, phases, evidence } = result;
    const answer: TestAnswerMessage = {
      v: 1,
      probe: id,
      trial,
      result: {
        at,
        took_ms,
        outcome,
        phases,
        cause: cause && { ...cause, params: { ...cause.params } },
        evidence: evidence && { ...evidence },
      },
    };
    const body = Buffer.from(JSON.stringify(answer));
    bus?.publish(subjects.presence(id), body, signatureOf(key, body));
  };

  const answerLook = async (message: Message): Promise<void> => {
    if (!announcements.readNow(message, subjects.look(id))) return;
    const said = jsonOf(message.data);
    const tried = testRunMessage.safeParse(said);
    if (tried.success) return answerTrial(tried.data);
    const asked = recheckMessage.parse(said);
    // The stored copy is the same object each time, which lets a check reuse what it prepared.
    const stored = assignments.find(asked.assignment.monitor);
    const isNewer =
      stored !== undefined && stored.config_version >= asked.assignment.config_version;
    await runner.recheck({
      look: asked.look,
      asked_at: asked.asked_at,
      assignment: isNewer ? stored : asked.assignment,
    });
  };

  const goOnBus = async (): Promise<void> => {
    const { PROBE_NATS_TLS_FIRST: tlsFirst, PROBE_NATS_CA: ca, authorities } = config;
    const entrance = { url, tlsFirst, ca, authorities, credentials: own.text };
    const routeOf = (subject: string): string =>
      organisation === null ? subject : relayedSubject(id, subject);
    bus = await connectWithRetries({
      ...entrance,
      name,
      log,
      inboxPrefix: inboxOf(id),
      routeOf,
      signal: stopping.signal,
      onShutOut: shutOut.resolve,
    });
    if (!bus) return;
    const records = createPingRecords(bus);
    view.attach(bus, records);
    pingBus = createPingBus(bus, records, continent);
    ear?.attach(bus);
    bus.subscribe(subjects.look(id), answerLook);
    bus.subscribe(subjects.receipt(id), (message) => {
      if (announcements.readNow(message, subjects.receipt(id)))
        reporter.receive(receiptMessage.parse(jsonOf(message.data)));
    });
    assignments.attach(bus);
    presence.start(bus);
    reporter.attach(bus);
  };

  const isWell = ({ healthy, quarantined }: RosterProbe): boolean => healthy && !quarantined;

  /**
   * Other probes (public ones, or those of its private place) take this probe's turns before it
   * stops. Where none can, it takes them itself when it is back.
   */
  const handOver = async (): Promise<void> => {
    const until = performance.now() + (overrides.handOverMs ?? handOverAtMostMs);
    const own = roster?.probes.find((probe) => probe.id === id);
    const others = roster?.probes.filter(
      (probe) => probe.id !== id && probe.organisation === own?.organisation,
    );
    const isWanted = own !== undefined && isWell(own) && others?.some(isWell) === true;
    if (overrides.handOverMs === 0 || !isWanted || !bus?.isConnected() || !(await presence.leave()))
      return;
    while (!schedule.isHandedOver() && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 20));
    log.info({ handed_over: schedule.isHandedOver() }, 'stopping');
  };

  let heardAt: number | undefined;
  describeHealth = () =>
    healthText({
      name,
      continent,
      version,
      bus,
      heardAt,
      monitors: assignments.state().count,
      waiting: spool.status().waiting,
    });
  schedule.start();
  heartbeats.start();
  const { generation } = spool;
  log.info(
    {
      probe: id,
      continent,
      version,
      generation,
      assignments: assignments.state().count,
      waiting: spool.status().waiting,
    },
    'checking',
  );
  const onBus = goOnBus();
  let isDisplaced = false;
  void displaced.promise.then(() => {
    isDisplaced = true;
    log.error('a newer process runs as this probe: stopping');
  });

  return {
    onBus,
    displaced: displaced.promise,
    shutOut: shutOut.promise,
    ear: ear?.address ?? null,
    takeFault: chargeUncaught,
    close: async () => {
      stopping.abort();
      if (!isDisplaced) await handOver();
      schedule.stop();
      heartbeats.stop();
      await replaceFile(stopMark, `${host.now()}\n`, { durable: false }).catch((error: unknown) => {
        log.warn(
          { err: error },
          'could not store the stop time; turns until the restart are left out',
        );
      });
      await ear?.close();
      await runner.close();
      udp.close();
      await presence.stop();
      await reporter.close();
      await assignments.close();
      await knowledge.settled();
      endpoints.stop();
      await bus?.close();
      await claim.release();
      log.info('stopped');
    },
  };
}
