import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { anchorOf } from '../shared/base/anchor.ts';
import { type Clock, systemClock } from '../shared/base/clock.ts';
import { newId } from '../shared/base/ids.ts';
import { createLog, type Log } from '../shared/base/log.ts';
import { makeFolder } from '../shared/base/make-folder.ts';
import { backoff, pause } from '../shared/base/retry.ts';
import { version } from '../shared/base/version.ts';
import { type BeatCarrier, createBeatCarrier, createBeatDesk } from '../shared/bus/beat-desk.ts';
import { createBeatRecords } from '../shared/bus/beat-records.ts';
import { openBeatSpool } from '../shared/bus/beat-spool.ts';
import { keyFromSeed, parseCredentials } from '../shared/bus/identity.ts';
import { jsonOf } from '../shared/bus/message-json.ts';
import { lookMessage, receiptMessage } from '../shared/bus/messages.ts';
import { type Bus, connectBus, type Message } from '../shared/bus/nats.ts';
import { inboxOf, subjects } from '../shared/bus/subjects.ts';
import type { Roster } from '../shared/checks/assignment.ts';
import { keyIdOf } from '../shared/checks/seal.ts';
import { openAssignments } from './actors/assignments.ts';
import { createBeatView } from './actors/beat-view.ts';
import { watchBusEndpoints } from './actors/bus-endpoints.ts';
import { createCorrectedClock } from './actors/corrected-clock.ts';
import { claimDataFolder } from './actors/data-folder.ts';
import { openEarKeys } from './actors/ear-keys.ts';
import { createHeartbeats } from './actors/heartbeats.ts';
import { openNetworkKnowledge } from './actors/network-knowledge.ts';
import { createPresence } from './actors/presence.ts';
import { createReporter } from './actors/reporter.ts';
import { createRunner } from './actors/runner.ts';
import { createSchedule } from './actors/schedule.ts';
import { openSpool } from './actors/spool.ts';
import { createWitness } from './actors/witness.ts';
import type { ProbeIdentity } from './checks/check.ts';
import { createUdpSockets } from './checks/dns-sockets.ts';
import { createGuard } from './checks/guard.ts';
import { createLookup, watchFamilies } from './checks/https-lookup.ts';
import { createTrust } from './checks/https-trust.ts';
import { createChecks } from './checks/index.ts';
import { createOwnResolver } from './checks/own-resolver.ts';
import type { Config } from './config.ts';

/**
 * One probe: everything built, in the order in which it is needed.
 *
 * Modes: `checking alone` (from disk, while the bus cannot be reached) → `on the bus` (for good: the connection mends itself) → `closed`.
 */
export type ProbeApp = {
  /** Settles with the first connection to the bus. */
  readonly onBus: Promise<void>;
  /** Where it takes beats; null when it takes none. */
  readonly ear: string | null;
  /** Settles when a process that was started later speaks as this probe: this one is to be closed. */
  readonly displaced: Promise<void>;
  readonly close: () => Promise<void>;
};

export type Overrides = {
  readonly log?: Log;
  readonly host?: Clock;
  /** How long the beats on the bus are not judged after it came back. */
  readonly beatSettlingMs?: number;
};

/** A coordinator answers the first word of a probe at once; without one, nobody tells it the time. */
const toldTheTimeWithinMs = 5_000;

/** Tries until there is a bus; only a refusal that cannot mend itself would end this, and there is none: credentials may be renewed on the other side. */
const connectPatiently = async (connect: () => Promise<Bus>, log: Log, signal: AbortSignal): Promise<Bus | undefined> => {
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const bus = await connect();
      if (!signal.aborted) return bus;
      await bus.close();
    } catch (error) {
      log.error({ err: error }, 'the bus cannot be reached');
      await pause(backoff(attempt, 500, 15_000), signal);
    }
  }
  return undefined;
};

export const createProbe = async (config: Config, overrides: Overrides = {}): Promise<ProbeApp> => {
  const credentials = config.PROBE_CREDENTIALS;
  const { probe: id, name, continent, organisation } = credentials;
  const log = overrides.log ?? createLog({ name: `probe ${name}`, level: config.LOG_LEVEL });
  const host = overrides.host ?? systemClock;
  const folder = config.PROBE_DATA_DIR;
  const url = config.PROBE_NATS_URL ?? credentials.nats_url;
  const key = keyFromSeed(parseCredentials(credentials.nats_credentials).seed, 'user');
  const stopping = new AbortController();
  const session = newId();
  const startedAt = performance.now();
  const displaced = Promise.withResolvers<void>();
  makeFolder(folder);
  const claim = await claimDataFolder(folder, id);

  const clock = createCorrectedClock(host);
  const knowledge = await openNetworkKnowledge({ folder, log });
  const spoolFolder = join(folder, 'spool');
  await mkdir(spoolFolder, { recursive: true, mode: 0o700 });
  const spool = await openSpool({ folder: spoolFolder, mostBytes: config.PROBE_SPOOL_MB * 1024 * 1024, log });
  const reporter = createReporter({ probe: id, continent, key, spool, clock, log });
  let bus: Bus | undefined;
  const witness = createWitness({
    anchors: knowledge.anchors,
    busCounts: () => {
      const own = anchorOf(knowledge.baseUrl());
      return knowledge.anchors().length === 0 || (own !== undefined && knowledge.anchors().includes(own));
    },
    busRoundTrip: () => (bus?.isConnected() ? bus.flush() : Promise.reject(new Error('there is no bus'))),
  });

  const endpoints = await watchBusEndpoints(url, log);
  let roster: Roster | undefined;
  const guard = createGuard({ allow: config.PROBE_ALLOW_CIDRS, bus: endpoints.bus, own: endpoints.own, roster: () => roster });
  const families = watchFamilies();
  let identity: ProbeIdentity = { name, continent, base_url: knowledge.baseUrl(), version };
  const udp = createUdpSockets();
  const ownResolver = createOwnResolver(udp);
  const view = createBeatView({ log, ...(overrides.beatSettlingMs === undefined ? {} : { settlingMs: overrides.beatSettlingMs }) });
  const runner = createRunner({
    checks: createChecks({
      https: { lookup: createLookup(families, undefined, ownResolver.answered), resolver: ownResolver, families, trust: createTrust() },
      dns: { sockets: udp, families },
      heartbeat: { view, onJudged: (monitor, next) => heartbeats.judged(monitor, next) },
    }),
    concurrency: config.PROBE_CONCURRENCY,
    clock,
    guard,
    identity: () => identity,
    witness,
    unseal: knowledge.unseal,
    report: reporter.report,
    isCurrent: (assignment) => assignments.find(assignment.monitor) === assignment,
    log,
  });
  const schedule = createSchedule({ self: id, clock, onDue: runner.turn });
  const heartbeats = createHeartbeats({ self: id, clock, isSeeing: view.isSeeing, onDue: runner.turn });
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
    log,
  });

  let carrier: BeatCarrier | undefined;
  const openEar = async (port: number) => {
    // Only an ear needs node's web server, and with it some 10 MiB.
    const [{ startEar }, { createBeatDetour }] = await Promise.all([import('./actors/ear.ts'), import('./actors/beat-detour.ts')]);
    const keys = await openEarKeys({ folder, probe: { id, organisation }, log });
    const beats = await openBeatSpool(join(folder, 'beats.jsonl'), log);
    // Without a coordinator nobody tells the time: beats shall not wait for that, and the host's clock is mostly right.
    let patienceEnds = Number.POSITIVE_INFINITY;
    const isMeasured = (): boolean => clock.isMeasured() || performance.now() > patienceEnds;
    const timed = { ...clock, isMeasured };
    const detour = createBeatDetour({ probe: id, key, baseUrl: knowledge.baseUrl, clock });
    const desk = createBeatDesk({ carrier: () => carrier, detour, spool: beats, findKey: keys.find, ear: name, clock: timed, log });
    const { address, close } = await startEar({ host: config.PROBE_EAR_HOST, port, take: desk.take, log });
    const closeAll = async (): Promise<void> => {
      await close();
      await desk.close();
      await keys.close();
    };
    const attach = (bus: Bus): void => {
      patienceEnds = performance.now() + toldTheTimeWithinMs;
      keys.attach(bus);
    };
    return { address, attach, close: closeAll };
  };
  const ear = config.PROBE_EAR_PORT === undefined ? undefined : await openEar(config.PROBE_EAR_PORT);

  const presence = createPresence({
    key,
    host,
    clock,
    log,
    parts: {
      describe: async () => ({
        probe: id,
        generation: spool.generation,
        session,
        up_ms: Math.floor(performance.now() - startedAt),
        version,
        seal_key: knowledge.sealKey,
        allowed_cidrs: config.PROBE_ALLOW_CIDRS,
        ear: ear?.address ?? null,
        spool: spool.status(),
        assignments: { ...assignments.state(), roster_epoch: assignments.roster()?.epoch ?? 0 },
        load: runner.load(),
        self_test: await witness.selfTest(),
      }),
      handedOver: reporter.handedOver,
      isWanting: knowledge.isWanting,
      onReply: (reply) => {
        if (reply.displaced) displaced.resolve();
        knowledge.learn(reply, assignments.keysInUse);
        if (reply.base_url !== identity.base_url) identity = { ...identity, base_url: reply.base_url };
        reporter.hear(reply);
      },
    },
  });

  const answerLook = async (message: Message): Promise<void> => {
    const asked = lookMessage.parse(jsonOf(message.data));
    // Our own copy is the same object each time, so that a check can reuse what it prepared for it.
    const stored = assignments.find(asked.assignment.monitor);
    const isNewer = stored !== undefined && stored.config_version >= asked.assignment.config_version;
    await runner.look({ look: asked.look, asked_at: asked.asked_at, assignment: isNewer ? stored : asked.assignment });
  };

  const goOnBus = async (): Promise<void> => {
    const connect = () => connectBus({ url, credentials: credentials.nats_credentials, name, log, inboxPrefix: inboxOf(id) });
    bus = await connectPatiently(connect, log, stopping.signal);
    if (!bus) return;
    const records = createBeatRecords(bus);
    view.attach(bus, records);
    carrier = createBeatCarrier(bus, records, continent);
    ear?.attach(bus);
    bus.subscribe(subjects.look(id), answerLook);
    bus.subscribe(subjects.receipt(id), (message) => reporter.receive(receiptMessage.parse(jsonOf(message.data))));
    assignments.attach(bus);
    presence.start(bus);
    reporter.attach(bus);
  };

  schedule.start();
  heartbeats.start();
  const { generation } = spool;
  log.info(
    { probe: id, continent, version, generation, assignments: assignments.state().count, waiting: spool.status().waiting },
    'checking',
  );
  const onBus = goOnBus();
  void displaced.promise.then(() => log.error('a process that was started later speaks as this probe: this one is to end'));

  return {
    onBus,
    displaced: displaced.promise,
    ear: ear?.address ?? null,
    close: async () => {
      stopping.abort();
      schedule.stop();
      heartbeats.stop();
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
};
