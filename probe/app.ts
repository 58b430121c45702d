import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createSupervisor, type SeenActor, type Supervisor } from '../shared/actor/supervisor.ts';
import { pause } from '../shared/base/async.ts';
import { newId } from '../shared/base/crypto.ts';
import { createLog, type Log } from '../shared/base/log.ts';
import { anchorOf, isPublicAddress } from '../shared/base/network.ts';
import { version } from '../shared/base/process.ts';
import { type Clock, systemClock } from '../shared/base/time.ts';
import { relayedSubject } from '../shared/bus/identity.ts';
import { jsonOf, receiptMessage } from '../shared/bus/messages.ts';
import type { AccessLost, Bus } from '../shared/bus/nats.ts';
import { openPingSpool } from '../shared/bus/ping-spool.ts';
import {
  createPingBus,
  createPingIntake,
  createPingRecords,
  type PingBus,
  type PingRecords,
} from '../shared/bus/pings.ts';
import { inboxOf, subjects } from '../shared/bus/subjects.ts';
import { isWebsocket } from '../shared/bus/websocket.ts';
import type { Roster, RosterProbe } from '../shared/checks/assignment.ts';
import { isForSome, kinds } from '../shared/checks/kinds.ts';
import { type HttpsAbility, httpsAbilities } from '../shared/checks/placement.ts';
import { keyIdOf } from '../shared/checks/sealed-secrets.ts';
import type { ActorName } from './actors.ts';
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
import { connectWithRetries, createPresence, type Presence } from './presence/signal.ts';
import { openAssignments } from './schedule/assignments.ts';
import { createHeartbeats, createPingView } from './schedule/heartbeats.ts';
import { createAnswers, createRunner } from './schedule/runner.ts';
import { createReachability } from './schedule/self-check.ts';
import { createSchedule } from './schedule/wheel.ts';
import { createReporter } from './spool/reporter.ts';
import { openSpool } from './spool/store.ts';

/**
 * Builds one probe, each part in the order in which it is needed.
 *
 * It checks from disk while it cannot reach the bus; once connected, the connection repairs itself.
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
  readonly accessLost: Promise<AccessLost>;
  /** Its long-lived parts, and how often they started again. */
  readonly actors: () => readonly SeenActor[];
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

export async function createProbe(config: Config, overrides: Overrides = {}): Promise<ProbeApp> {
  const { probe: id, name, continent } = config.PROBE_CREDENTIALS;
  const log = overrides.log ?? createLog({ name: `probe ${name}`, level: config.LOG_LEVEL });
  const supervisor = createSupervisor<ActorName>(log);
  const stopping = new AbortController();
  const displaced = Promise.withResolvers<void>();
  const accessLost = Promise.withResolvers<AccessLost>();
  const base = { config, overrides, log, supervisor, stopping, displaced, accessLost };

  const folder = await openFolder(base);
  const reach = await openReach({ ...base, ...folder });
  const checking = await openChecking({ ...base, ...folder, ...reach });
  const ear = await openReceiver({ ...base, ...folder, ...reach, ...checking });
  const all = { ...base, ...folder, ...reach, ...checking, ear };
  const presence = openPresence(all);
  const { schedule, heartbeats, runner, udp, reporter, assignments, knowledge } = all;
  // Ended in the reverse order. What is begun here goes on until it is reported.
  supervisor.part('bus', async () => all.link.bus?.close());
  supervisor.part('knowledge', knowledge.settled);
  supervisor.part('assignments', assignments.close);
  supervisor.part('reporter', reporter.close);
  supervisor.part('presence', presence.stop);
  supervisor.part('name look-ups', () => udp.close());
  supervisor.part('runner', runner.close);
  if (ear) supervisor.part('ping receiver', ear.close);
  supervisor.part('wheel', () => markStop(all));
  supervisor.part('deadlines', () => heartbeats.stop());
  supervisor.part('wheel', () => schedule.stop());

  schedule.start();
  heartbeats.start();
  log.info(
    {
      probe: id,
      continent,
      version,
      generation: all.spool.generation,
      assignments: assignments.state().count,
      waiting: all.spool.status().waiting,
    },
    'the probe has started',
  );
  let isDisplaced = false;
  void displaced.promise.then(() => {
    isDisplaced = true;
    log.error('a newer process runs as this probe: stopping');
  });

  return {
    onBus: connectToBus({ ...all, presence }),
    displaced: displaced.promise,
    accessLost: accessLost.promise,
    ear: ear?.address ?? null,
    actors: supervisor.seen,
    close: async () => {
      stopping.abort();
      if (!isDisplaced) await handOver({ ...all, presence });
      await supervisor.close();
      log.info('the probe has stopped');
    },
  };
}

type Base = {
  readonly config: Config;
  readonly overrides: Overrides;
  readonly log: Log;
  readonly supervisor: Supervisor<ActorName>;
  readonly stopping: AbortController;
  readonly displaced: PromiseWithResolvers<void>;
  readonly accessLost: PromiseWithResolvers<AccessLost>;
};

/** What is on disk: who it is, what coordinators said, results that are not committed yet. */
async function openFolder({ config, overrides, log, supervisor }: Base) {
  const {
    probe: id,
    continent,
    signing_keys: signingKeys,
    nats_credentials: given,
  } = config.PROBE_CREDENTIALS;
  const host = overrides.host ?? systemClock;
  const folder = config.PROBE_DATA_DIR;
  /** Filled in when there is a connection, and what its host is told of its health. */
  const link: {
    bus: Bus | undefined;
    heardAt: number | undefined;
    comesFrom: string | undefined;
    health: () => string;
  } = {
    bus: undefined,
    heardAt: undefined,
    comesFrom: undefined,
    health: () => '',
  };
  const claim = await claimDataFolder(folder, id, () => link.health());
  supervisor.part('data folder', claim.release);
  const own = await openOwnCredentials({ folder, given, log });
  const { key } = own;
  const ended = own.ended(host.now());
  if (ended !== undefined) log.error(ended);
  const clock = createCorrectedClock(host);
  const knowledge = await openNetworkKnowledge({ folder, signingKeys, log });
  const announcements = createAnnouncementReader({ trust: knowledge.trust, now: clock.now, log });
  const spoolFolder = join(folder, 'spool');
  await mkdir(spoolFolder, { recursive: true, mode: 0o700 });
  const mostBytes = config.PROBE_SPOOL_MB * 1024 * 1024;
  const spool = await openSpool({ folder: spoolFolder, mostBytes, log });
  const reporter = createReporter({ probe: id, continent, key, spool, clock, log });
  return { host, folder, link, own, key, clock, knowledge, announcements, spool, reporter };
}

type WithFolder = Base & Awaited<ReturnType<typeof openFolder>>;

/** What it may reach, and whether it is online at all. */
async function openReach({ config, log, supervisor, folder, link, knowledge }: WithFolder) {
  const credentials = config.PROBE_CREDENTIALS;
  const { name, continent, organisation } = credentials;
  const url = config.PROBE_NATS_URL ?? credentials.nats_url;
  const reachability = createReachability({
    anchors: knowledge.anchors,
    proxy: config.PROBE_CHECKS_PROXY,
    busCounts: () => {
      const own = anchorOf(knowledge.baseUrl());
      return (
        knowledge.anchors().length === 0 || (own !== undefined && knowledge.anchors().includes(own))
      );
    },
    busRoundTrip: () =>
      link.bus?.isConnected()
        ? link.bus.flush()
        : Promise.reject(new Error('not connected to the bus')),
  });
  const endpoints = await watchBusEndpoints(url, supervisor, log);
  const known: { roster: Roster | undefined } = { roster: undefined };
  const guard = createGuard({
    allow: config.PROBE_ALLOW_CIDRS,
    bus: endpoints.bus,
    own: endpoints.own,
    roster: () => known.roster,
  });
  const requests = organisation === null ? await openRequestSigning(folder) : undefined;
  const identify = (): ProbeIdentity => {
    const base_url = knowledge.baseUrl();
    const sign = knowledge.identifies() ? requests?.signerFor(base_url) : undefined;
    return { name, continent, base_url, version, ...(sign ? { sign } : {}) };
  };
  return { url, reachability, endpoints, known, guard, requests, identity: identify(), identify };
}

type WithReach = WithFolder & Awaited<ReturnType<typeof openReach>>;

/** Which monitors are checked, when, and how. */
async function openChecking(parts: WithReach) {
  const { config, overrides, log, folder, link, key, clock, knowledge, announcements } = parts;
  const { probe: id, organisation } = config.PROBE_CREDENTIALS;
  const { guard, reachability, known, reporter } = parts;
  const families = watchFamilies();
  const udp = createUdpSockets();
  const ownResolver = createOwnResolver(udp);
  const { pingSettlingMs: settlingMs } = overrides;
  const view = createPingView({ log, ...(settlingMs === undefined ? {} : { settlingMs }) });
  // Asked once: the rights of a process stay what they are.
  const ping = createPing();
  const pinging = canPing(ping);
  const bus = () => link.bus;
  const askRegistry = createRegistryQuestions({ probe: id, key, bus, announcements });
  const identity = { current: parts.identity };
  const runner = createRunner({
    checks: createChecks({
      connection: {
        lookup: createLookup({ families, sockets: udp, onAnswer: ownResolver.answered }),
        resolver: ownResolver,
        families,
        trust: createTrust(),
        proxy: config.PROBE_CHECKS_PROXY,
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
    identity: () => identity.current,
    reachability,
    unseal: knowledge.unseal,
    report: reporter.report,
    isCurrent: (assignment) => assignments.find(assignment.monitor) === assignment,
    log,
  });
  const stoppedAt = await takeStopMark(stopMarkIn(folder));
  const schedule = createSchedule({ self: id, clock, onDue: runner.turn, stoppedAt });
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
      known.roster = next;
      for (const { setRoster } of both) setRoster(next);
    },
    announcements,
    clock,
    log,
  });
  return { families, udp, view, pinging, runner, schedule, heartbeats, assignments, who: identity };
}

/** When this probe last stopped, by its host's clock; undefined when it was killed. */
async function takeStopMark(path: string): Promise<number | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  await rm(path);
  const at = Number(text);
  return Number.isFinite(at) ? at : undefined;
}

type WithChecking = WithReach & Awaited<ReturnType<typeof openChecking>>;

/** The heartbeat address of this probe; undefined where it has none. */
async function openReceiver(parts: WithChecking) {
  const { config, log, supervisor, folder, key, clock, knowledge, announcements } = parts;
  const { probe: id, name, continent, organisation } = config.PROBE_CREDENTIALS;
  const port = config.PROBE_PING_PORT;
  if (port === undefined) return undefined;
  // Only a ping receiver needs node's web server, which costs some 10 MiB.
  const { startPingReceiver, createPingForwarding } = await import('./pings/receiver.ts');
  const probe = { id, organisation };
  const keys = await openReceiverKeys({ supervisor, folder, probe, key, announcements, log });
  const spool = await openPingSpool(join(folder, 'beats.jsonl'), log);
  parts.view.attachSpool(spool);
  // Without a coordinator, no one gives the probe the time. Pings must not wait for that, and the
  // host's clock is mostly right.
  let patienceEnds = Number.POSITIVE_INFINITY;
  const isMeasured = (): boolean => clock.isMeasured() || performance.now() > patienceEnds;
  const { authorities } = config;
  const { baseUrl } = knowledge;
  let pingBus: PingBus | undefined;
  const intake = createPingIntake({
    pingBus: () => pingBus,
    forwarding: createPingForwarding({ probe: id, key, baseUrl, clock, authorities }),
    spool,
    findKey: keys.find,
    ear: name,
    clock: { ...clock, isMeasured },
    log,
  });
  const host = config.PROBE_PING_HOST;
  const { address, close } = await startPingReceiver({ host, port, take: intake.take, log });
  return {
    address,
    attach: (bus: Bus, records: PingRecords): void => {
      pingBus = createPingBus(bus, records, continent);
      patienceEnds = performance.now() + clockSyncWithinMs;
      keys.attach(bus);
    },
    close: async (): Promise<void> => {
      await close();
      await intake.close();
      await keys.close();
    },
  };
}

type All = WithChecking & { readonly ear: Awaited<ReturnType<typeof openReceiver>> };

function openPresence(parts: All): Presence {
  const { config, overrides, log, host, key, clock, link, own, knowledge, spool, reporter } = parts;
  const { name, continent, organisation, probe: id } = config.PROBE_CREDENTIALS;
  const { assignments, announcements, runner, families, pinging, requests, endpoints } = parts;
  const { reachability, displaced, identify, who, ear } = parts;
  const { presenceMs: everyMs } = overrides;
  const way = isWebsocket(parts.url) ? ('websocket' as const) : ('tcp' as const);
  const session = newId();
  const startedAt = performance.now();
  const hosting = organisation === null ? undefined : hostIdentity();
  link.health = () =>
    healthText({
      name,
      continent,
      version,
      bus: link.bus,
      heardAt: link.heardAt,
      monitors: assignments.state().count,
      waiting: spool.status().waiting,
    });
  const describe = async () => {
    const [hasPing, hostId] = await Promise.all([pinging, hosting]);
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
      way,
      ...(link.comesFrom === undefined ? {} : { comes_from: link.comesFrom }),
      ...(config.PROBE_ORIGIN_AS === undefined ? {} : { origin_as: config.PROBE_ORIGIN_AS }),
      load: runner.load(),
      checks: [...runner.tally()],
      self_test: await reachability.selfTest(),
    };
  };
  return createPresence({
    key,
    host,
    clock,
    log,
    ...(everyMs === undefined ? {} : { everyMs }),
    parts: {
      describe,
      handedOver: reporter.handedOver,
      isWanting: () => knowledge.isWanting() || assignments.roster() === undefined,
      read: announcements.read,
      onReply: (reply) => {
        link.heardAt = performance.now();
        if (reply.displaced) displaced.resolve();
        own.hear(reply, link.bus);
        const identified = knowledge.identifies();
        knowledge.learn(reply, assignments.keysInUse);
        if (reply.base_url !== who.current.base_url || knowledge.identifies() !== identified)
          who.current = identify();
        reporter.onReply(reply);
      },
    },
  });
}

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

type WithPresence = All & { readonly presence: Presence };

/** Settles with the first connection; everything that waits for the bus begins then. */
async function connectToBus(parts: WithPresence): Promise<void> {
  const { config, log, link, own, stopping, accessLost, announcements, reporter } = parts;
  const { probe: id, name, organisation } = config.PROBE_CREDENTIALS;
  const { PROBE_NATS_CA: ca, authorities } = config;
  const bus = await connectWithRetries({
    url: parts.url,
    ca,
    authorities,
    credentials: own.text,
    name,
    log,
    inboxPrefix: inboxOf(id),
    routeOf: (subject) => (organisation === null ? subject : relayedSubject(id, subject)),
    signal: stopping.signal,
    onAccessLost: accessLost.resolve,
    onAddress: (text) => {
      link.comesFrom = text;
    },
  });
  if (!bus) return;
  link.bus = bus;
  const records = createPingRecords(bus);
  parts.view.attach(bus, records);
  parts.ear?.attach(bus, records);
  bus.subscribe(subjects.look(id), createAnswers({ ...parts, probe: id }, bus));
  bus.subscribe(subjects.receipt(id), (message) => {
    if (announcements.readNow(message, subjects.receipt(id)))
      reporter.receive(receiptMessage.parse(jsonOf(message.data)));
  });
  parts.assignments.attach(bus);
  parts.presence.start(bus);
  reporter.attach(bus);
}

/**
 * Other probes (public ones, or those of its private place) take this probe's turns before it
 * stops. Where none can, it takes them itself when it is back. It says more than once that it
 * leaves: the others may just be starting again.
 */
async function handOver(parts: WithPresence): Promise<void> {
  const { config, overrides, log, known, link, presence, schedule } = parts;
  const id = config.PROBE_CREDENTIALS.probe;
  const until = performance.now() + (overrides.handOverMs ?? handOverAtMostMs);
  const own = known.roster?.probes.find((probe) => probe.id === id);
  const others = known.roster?.probes.filter(
    (probe) => probe.id !== id && probe.organisation === own?.organisation,
  );
  if (overrides.handOverMs === 0 || !own || !isWell(own) || !others?.length) return;
  while (!schedule.isHandedOver() && performance.now() < until) {
    if (!link.bus?.isConnected() || !(await presence.leave())) return;
    await pause(100);
  }
  log.info({ handed_over: schedule.isHandedOver() }, 'the probe is stopping');
}

function isWell({ healthy, quarantined }: RosterProbe): boolean {
  return healthy && !quarantined;
}

function stopMarkIn(folder: string): string {
  return join(folder, 'stopped');
}

async function markStop({ folder, host, log }: WithFolder): Promise<void> {
  await replaceFile(stopMarkIn(folder), `${host.now()}\n`, { durable: false }).catch(
    (error: unknown) =>
      log.warn(
        { err: error },
        'could not store the stop time; checks missed until the restart are not made up for',
      ),
  );
}
