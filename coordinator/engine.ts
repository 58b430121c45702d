import pLimit from 'p-limit';
import {
  createSupervisor,
  type SeenActor,
  type Starts,
  type Supervisor,
} from '../shared/actor/supervisor.ts';
import { newId } from '../shared/base/crypto.ts';
import type { Log } from '../shared/base/log.ts';
import type { Clock } from '../shared/base/time.ts';
import type { Bus } from '../shared/bus/nats.ts';
import { keyFromSeed } from '../shared/bus/nkeys.ts';
import { createPingRecords } from '../shared/bus/pings.ts';
import { systemZoneVersion } from '../shared/zones/system.ts';
import type { ActorName } from './actors.ts';
import { createDigestCheck } from './assignments/digests.ts';
import { createAssignments, createTombstones } from './assignments/publishing.ts';
import { createTestRuns, type TestRuns } from './assignments/test-runs.ts';
import { createUnassignable } from './assignments/uncheckable.ts';
import { type Sql, timeOf } from './database/connect.ts';
import { listenTo } from './database/listen.ts';
import { outboxChannel } from './database/outbox.ts';
import type { PartitionDependencies } from './engine/dependencies.ts';
import { createLeadership, firstPartition, leads } from './engine/leader.ts';
import { createTargets } from './engine/monitor-memory.ts';
import {
  announceProbeChanges,
  createOwnership,
  createPartitions,
  createPartitionWatchdog,
  type Partitions,
} from './engine/ownership.ts';
import { changingMonitors, type MonitorRow, monitorsOfBucket } from './engine/queries.ts';
import { createRechecks } from './engine/rechecks.ts';
import { doubtMarkers } from './engine/reconcile.ts';
import type { Timing } from './engine/timing.ts';
import { createWriter } from './engine/writer.ts';
import { type HealthInput, healthOf } from './health/endpoint.ts';
import { type SeenProbe, seenProbes } from './health/gauges.ts';
import { type Figures, installationId } from './health/meters.ts';
import { createClockNotice, createDebouncedNotice, createZoneNotice } from './health/notices.ts';
import { createRefusals } from './health/refusals.ts';
import { createSignOfLife } from './health/sign-of-life.ts';
import {
  createWatchdog,
  type DatabaseClock,
  watchDatabase,
  watchStreams,
} from './health/watches.ts';
import { type Pings, startPings } from './heartbeats/intake.ts';
import { createPingSettings } from './heartbeats/keys.ts';
import type { CreateHeartbeat } from './heartbeats/naming.ts';
import {
  createHousekeeper,
  oldestAccepted,
  oldestKept,
  type RetentionDays,
} from './housekeeping/jobs.ts';
import type { Notifier, NotifierDependencies } from './notifications/notifier.ts';
import { startAlerter } from './notifications/release.ts';
import { createObjectiveEvaluation } from './objectives/evaluation.ts';
import type { DocumentReader, TextRecords } from './outbound/documents.ts';
import { createAnnouncements } from './probes/announcements.ts';
import {
  type BusPlace,
  connectToBus,
  createProbeBusAdmin,
  ensureStreams,
  retryUntilReady,
} from './probes/bus-keeper.ts';
import { createDirectory } from './probes/directory.ts';
import { createDuplicateProbes, watchConnections } from './probes/duplicates.ts';
import { createNetworkKeys } from './probes/identities.ts';
import { createLocationCheck } from './probes/location.ts';
import type { Origins } from './probes/origins.ts';
import { createDroppedResults, createReceipts, receivePresence } from './probes/presence.ts';
import { serveRelay } from './probes/private-relay.ts';
import type { ProbeRow } from './probes/queries.ts';
import { createNetwork } from './probes/roster.ts';
import { createSeenAddresses } from './probes/seen-addresses.ts';
import { createProbeTrust } from './probes/trust.ts';
import type { ProvidersPart } from './providers/lookup.ts';
import { createProviderWatch } from './providers/removal.ts';
import { createAsker } from './registrations/asker.ts';
import { createRefreshedList } from './registrations/list.ts';
import { createReportMailing } from './reports/mailing.ts';
import type { Results } from './results/reading.ts';
import type { OwnedUnsealedHours } from './results/unsealed-hours.ts';
import type { SecretsAtRest, WrappedKey } from './secrets/at-rest.ts';
import { createDomainProofs } from './status-pages/public/access.ts';

/**
 * Starts what a coordinator does by itself, each chapter after those that it needs; `actors.ts`
 * lists all parts. A part waits for the database or the bus until it is there. If one fails all the
 * same, those that were started are ended in reverse order, and so they are at the end.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const supervisor = createSupervisor<ActorName>(options.log);
  try {
    return await assemble({ ...options, supervisor });
  } catch (error) {
    await supervisor
      .close()
      .catch((failure: unknown) =>
        options.log.warn({ err: failure }, 'the engine did not stop cleanly'),
      );
    throw error;
  }
}

export type Engine = {
  readonly bus: Bus;
  readonly system: Bus;
  readonly partitions: Partitions;
  readonly trials: TestRuns;
  readonly takePing: Pings['take'];
  readonly takeForwardedPings: Pings['takeKept'];
  readonly health: () => Promise<Omit<HealthInput, 'database'>>;
  /** The rows of all probes; the same array until they change. */
  readonly probeRows: () => readonly ProbeRow[];
  /** What this coordinator knows of the probes. */
  readonly seenProbes: () => readonly SeenProbe[];
  readonly actors: () => readonly SeenActor[];
  readonly close: () => Promise<void>;
};

type EngineOptions = {
  readonly owner: string;
  readonly version: string;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly results: Results;
  readonly timing: Timing;
  readonly kept: RetentionDays;
  readonly nats: BusPlace & {
    readonly account: string;
    readonly operatorSeed: string;
    /** By whom it can be reached decides whether a server with known holes is a fault. */
    readonly reachedAt: readonly string[];
  };
  readonly databaseClock: Pick<DatabaseClock, 'observe' | 'differenceMs'>;
  /** Retries the work until the database allows it. */
  readonly untilDatabase: <Done>(work: () => Promise<Done>) => Promise<Done>;
  /** Aborts all waiting at the start. */
  readonly signal: AbortSignal;
  /**
   * The SECRET_KEY in force, from which the network's keys are derived, found by the newest key
   * that encrypts secrets.
   */
  readonly masterOf: (newest: WrappedKey | undefined) => string;
  readonly createHeartbeat: CreateHeartbeat;
  /** The file that keeps pings while the bus is down. */
  readonly pingSpool: string;
  /** What is committed and in no chunk yet: partitions add to it. */
  readonly unsealed: OwnedUnsealedHours;
  /** Decrypts the secrets of a monitor, as JSON. */
  readonly openSecrets: (row: MonitorRow) => Promise<string>;
  readonly textRecords: TextRecords;
  readonly secrets: SecretsAtRest;
  /** Where people sign in besides here. */
  readonly providers: ProvidersPart;
  /** Reads what registries say of domains. */
  readonly readRegistry: DocumentReader['read'];
  /** Where IANA's list of registries is; undefined: it is never read. */
  readonly registryListUrl: string | undefined;
  /** Whether mails can be sent. */
  readonly hasMail: boolean;
  readonly startNotifier: (
    parts: Pick<NotifierDependencies, 'everyMs' | 'fallbackMs' | 'isLeader' | 'ask'> & {
      readonly supervisor: Starts<'notifier' | 'fallback' | 'causes'>;
      readonly figures: Figures;
    },
  ) => Notifier;
  /** Receives counts as things happen. */
  readonly figures: Figures;
  readonly renew: (probe: ProbeRow, key: string) => string;
  /** The keys of announcements are derived from these, the newest first. */
  readonly secretKeys: readonly string[];
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
  /** Whether public probes sign their requests and are listed. */
  readonly identifyProbes: boolean;
  readonly origins: Origins;
  /** The heartbeat of the installation itself. */
  readonly heartbeatUrl: string | undefined;
  readonly ping: (url: string) => Promise<string | undefined>;
};

type Base = EngineOptions & { readonly supervisor: Supervisor<ActorName> };

async function assemble(base: Base): Promise<Engine> {
  const places = { ...base, ...(await enter(base)) };
  const network = { ...places, ...(await startNetwork(places)) };
  const work = { ...network, ...(await startPartitions(network)) };
  const probes = { ...work, ...(await startProbes(work)) };
  const pings = await startHeartbeats(work);
  await followChanges(probes);
  tickForProbes(probes);
  await startAlerts(work);
  const health = () =>
    healthOf({
      sql: base.sql,
      bus: work.bus,
      movement: work.watchdog,
      streamWatch: places.streamWatch,
      roster: work.roster,
      isResting: work.partitions.isResting,
      isCircling: work.partitions.isCircling,
      entrances: base.nats.reachedAt,
    });
  tickForOperators(probes, health);
  await work.prepared;

  const { bus, system, supervisor, directory, roster, partitions } = work;
  const { presentOf } = network.network;
  return {
    bus,
    system,
    partitions,
    trials: work.testRuns,
    probeRows: directory.all,
    seenProbes: () => seenProbes({ roster: roster(), directory, presentOf }),
    takePing: pings.take,
    takeForwardedPings: pings.takeKept,
    health,
    actors: supervisor.seen,
    close: async () => {
      bus.hurry();
      system.hurry();
      await supervisor.close();
    },
  };
}

/** Watches the database, connects to the bus, and watches its streams. */
async function enter(base: Base) {
  const { supervisor, sql, clock, log, timing, kept, figures, untilDatabase } = base;
  watchDatabase({ supervisor, sql, log, onTime: base.databaseClock.observe });
  const patient = sql.access.openLongRunning();
  supervisor.part('patient connection', () => patient.end({ timeout: 0 }));
  const ownership = createOwnership();
  const isLeader = (): boolean => leads(ownership);
  const { results } = base;
  const housekeeper = createHousekeeper({ sql: patient, clock, log, kept, isLeader, results });
  await untilDatabase(housekeeper.prepare);

  const refusals = createRefusals({ sql, log, figures });
  const announcements = createAnnouncements({
    clock,
    log,
    secretKeys: base.secretKeys,
    onRefused: (why) => refusals.count('coordinator', why === 'outdated' ? 'outdated' : 'forged'),
  });
  const { announce } = announcements;
  const { bus, system } = await connectToBus({ ...base, place: base.nats, announce });
  // The database may have gone away while we waited for the bus.
  await untilDatabase(async () => base.databaseClock.observe(await timeOf(sql)));
  const streamWatch = watchStreams({ bus, log, silentMs: timing.stalledMs });
  await streamWatch.tick();
  supervisor.ticker('streams', { everyMs: timing.refreshMs, tick: streamWatch.tick });
  return { ownership, isLeader, housekeeper, refusals, announcements, bus, system, streamWatch };
}

type Places = Base & Awaited<ReturnType<typeof enter>>;

/** Which probes there are, their keys and the roster, and the assignments that they get. */
async function startNetwork(places: Places) {
  const { sql, bus, clock, log, timing, announcements, isLeader, untilDatabase, origins } = places;
  const directory = await untilDatabase(() => createDirectory({ sql, log }));
  const keys = await untilDatabase(() => createNetworkKeys({ sql, masterOf: places.masterOf }));
  const network = await untilDatabase(() =>
    createNetwork({ sql, bus, clock, log, timing, directory, announcements, isLeader, origins }),
  );
  const { roster } = network;
  const records = createPingRecords(bus);
  const { follow } = createPingSettings({ sql, bus, records, clock });
  const assignments = createAssignments({
    bus,
    directory,
    openSecrets: places.openSecrets,
    keys,
    prepare: follow,
    rowsOf: async (bucket) => {
      const rows = await monitorsOfBucket(sql, bucket);
      // A change from just now is read with the others, and is published by this already.
      const changing = await changingMonitors(sql, bucket.partition);
      const early = rows.filter(({ id }) => changing.has(id));
      await follow(early.map((row) => ({ monitor: row.id, row })));
      return rows;
    },
  });
  const parts = { bus, clock, roster, assignments, announcements, directory };
  const testRuns = createTestRuns(parts);
  places.supervisor.part('test runs', () => testRuns.close());
  return { directory, keys, network, roster, records, assignments, testRuns };
}

type WithNetwork = Places & Awaited<ReturnType<typeof startNetwork>>;

/** What the partitions work with; they begin once presence is received. */
async function startPartitions(parts: WithNetwork) {
  const { supervisor, sql, owner, clock, log, timing, kept, figures, untilDatabase } = parts;
  const { directory, roster, ownership, isLeader, bus } = parts;
  const rechecks = createRechecks(parts);
  const loaded: PartitionDependencies['loaded'] = new Map();
  const targetsOf = createTargets(loaded);
  const aliveMs = timing.leaseMs;
  const trust = createProbeTrust({ sql, clock, log, directory, roster, owner, aliveMs, targetsOf });
  const writer = createWriter({ sql, owner, clock, log, figures });
  // About thirty statements are prepared one after the other, without waiting: with a distant
  // database that takes as long as all the rest.
  const prepared = untilDatabase(() => Promise.all([writer.prepare(), rechecks.prepare()]));
  prepared.catch(() => undefined); // It is awaited at the end.
  const receipts = createReceipts({ bus });
  const deps: PartitionDependencies = {
    ...parts,
    writer,
    receipts,
    loaded,
    presences: parts.network.presences,
    installation: await untilDatabase(() => installationId(sql)),
    loading: pLimit(3),
    renewing: pLimit(8),
    reconciling: pLimit(8),
    requestRechecks: rechecks.ask,
    observe: trust.observe,
    needsPasses: trust.attends,
    oldestAccepted: (now) => oldestAccepted(kept, now),
    oldestKept: (now) => oldestKept(kept, now),
  };
  const partitions = createPartitions({ ...parts, ownership, deps });
  const watched = createPartitionWatchdog({ bus, partitions, timing, isLeader });
  const watchdog = createWatchdog({ parts: watched, log });
  const supervise = (): void => {
    supervisor.part('rechecks', rechecks.close);
    supervisor.part('receipts', receipts.close);
    supervisor.part('writer', writer.close);
    supervisor.part('leases', partitions.close);
    supervisor.ticker('watchdog', { everyMs: timing.watchdogMs, tick: watchdog.tick });
  };
  return { trust, prepared, partitions, watchdog, supervise, requestRechecks: rechecks.ask };
}

type WithWork = WithNetwork & Awaited<ReturnType<typeof startPartitions>>;

/** Receives presence, and starts the partitions. */
async function startProbes(parts: WithWork) {
  const { supervisor, sql, bus, system, clock, log, timing, nats, signal, untilDatabase } = parts;
  const { directory, assignments, network, testRuns, roster, keys, partitions, isLeader } = parts;
  const { account } = nats;
  const operator = keyFromSeed(nats.operatorSeed, 'operator');
  const busAdmin = createProbeBusAdmin({
    sql,
    bus,
    system,
    account,
    operator,
    clock,
    log,
    directory,
  });
  const isInUse = (probe: string): boolean => directory.byId(probe)?.revoked_at === null;
  const debounced = { sql, quietMs: timing.noticeQuietMs, matters: isInUse };
  const duplicateNotice = createDebouncedNotice({ ...debounced, kind: 'probe_twice' });
  const droppedNotice = createDebouncedNotice({ ...debounced, kind: 'results_dropped' });
  const droppedResults = createDroppedResults({ sql, onDropped: droppedNotice.seen });
  const onTwice = ({ id, name }: ProbeRow): void =>
    duplicateNotice.seen(
      id,
      `Two processes speak as the probe ${name}, with the same credentials; the older one is told to end`,
    );
  const duplicates = createDuplicateProbes({
    log,
    onTwice,
    onEmpty: (probe) => {
      if (isLeader())
        busAdmin
          .resync(probe)
          .catch((error: unknown) =>
            log.warn({ err: error, probe: probe.id }, 'could not send its assignments again'),
          );
    },
  });
  const connections = await watchConnections({ ...parts, account, onTwice });
  supervisor.part('sessions', connections.stop);
  const seen = createSeenAddresses(parts.secretKeys, connections.addressOf);
  const base = { sql, clock, log };
  const location = createLocationCheck({
    ...base,
    bus,
    directory,
    roster,
    isLeader,
    addressOf: seen.of,
  });
  const { readRegistry: read, registryListUrl: listUrl } = parts;
  const registries = createRefreshedList({ ...base, read, listUrl });
  const asker = createAsker({ ...base, read, registries });
  const presence = receivePresence({
    ...parts,
    identify: parts.identifyProbes,
    keyOf: keys.keyOf,
    askRegistry: (domain, { id, organisation_id }) =>
      isLeader() ? asker.ask(domain, organisation_id === null ? null : id) : undefined,
    rosterEpoch: () => roster().epoch,
    session: duplicates.hear,
    onTrialAnswer: (answer) => {
      testRuns.answered(answer);
      location.answered(answer);
    },
    onPresent: (present) => {
      const { probe, message } = present;
      droppedResults.hear(present);
      seen.hear(probe.id, message);
      const isPublic = probe.organisation_id === null;
      network.hear(present, isPublic ? location.addressOf(probe.id) : seen.of(probe));
    },
  });
  supervisor.part('presence', () => presence.stop());
  supervisor.part('network', network.close);
  parts.supervise();
  announceProbeChanges({ directory, assignments, partitions });
  await untilDatabase(partitions.start);
  if (isLeader()) await retryUntilReady(busAdmin.ensureAll, { log, signal });
  const seldom = [droppedResults, droppedNotice, duplicateNotice];
  return {
    busAdmin,
    leadership: createLeadership({ isLeader, bus, admin: busAdmin }),
    location,
    seldom,
  };
}

type All = WithWork & Awaited<ReturnType<typeof startProbes>>;

/** Pings on the bus, and the relay of probes that cannot reach it. */
async function startHeartbeats(parts: WithWork): Promise<Pings> {
  const { supervisor, bus, directory, refusals, timing } = parts;
  const { refreshMs } = timing;
  const pings = await parts.untilDatabase(() =>
    startPings({ ...parts, spoolFile: parts.pingSpool, refreshMs }),
  );
  supervisor.part('pings', pings.close);
  const relay = serveRelay({ bus, directory, refusals, keysOf: pings.keysOf });
  supervisor.part('relay', () => relay.stop());
  return pings;
}

/** A bus that came back, and probes that operations changed. */
async function followChanges(parts: All): Promise<void> {
  const { supervisor, sql, bus, log, timing, signal } = parts;
  const { directory, keys, isLeader, busAdmin, partitions, network, leadership } = parts;
  const status = bus.onStatus((now) => {
    if (now !== 'connected') return;
    leadership.doubt();
    // Streams come first, then what partitions put in them.
    const onFailure = (error: unknown) =>
      log.error({ err: error }, 'could not maintain the streams; retrying');
    ensureStreams(bus).then(partitions.reconcile).catch(onFailure);
  });
  supervisor.part('bus', status.stop);
  const tick = async (): Promise<void> => {
    await directory.refresh();
    const grew = await keys.refresh(directory.refresh);
    // First: probes that must be kept out.
    if (isLeader() && bus.isConnected()) await busAdmin.drain();
    if (grew) partitions.reconcile();
    await network.tick();
  };
  const probes = supervisor.ticker('probes', { everyMs: timing.refreshMs, tick });
  const onOutbox = (line: string): void => {
    if (line === 'probe') probes.hurry();
  };
  const listening = await listenTo(sql, outboxChannel, onOutbox, { log, signal });
  supervisor.part('outbox', () => listening.unlisten());
}

function tickForProbes(parts: All): void {
  const { supervisor, sql, bus, clock, log, timing, trust, location, network } = parts;
  const { directory, keys, roster, isLeader, busAdmin, partitions, leadership } = parts;
  const { networkTickMs, refreshMs, digestMs } = timing;
  const digests = createDigestCheck({
    sql,
    directory,
    keyOf: keys.keyOf,
    roster,
    resyncMs: timing.resyncMs,
    presentOf: network.presentOf,
    resync: async (probe, isStreamDoubted) => {
      // Every owner checks all of the stream again.
      if (isStreamDoubted) await doubtMarkers(bus);
      await busAdmin.resync(probe);
      partitions.reconcile();
    },
  });
  const tombstones = createTombstones({ bus, clock, log, keptMs: timing.tombstoneMs });
  const unassignable = createUnassignable({ sql, directory, isLeader });
  const ofLeader = (tick: () => Promise<unknown>) => async () => isLeader() && tick();

  supervisor.ticker('leader', { everyMs: networkTickMs, tick: leadership.tick });
  supervisor.ticker('consumers', {
    everyMs: refreshMs,
    tick: ofLeader(async () => bus.isConnected() && busAdmin.remakeLost()),
  });
  network.onChange(
    supervisor.ticker('network', { everyMs: networkTickMs, tick: network.tick }).hurry,
  );
  supervisor.ticker('markers', { everyMs: digestMs, tick: async () => partitions.reconcile() });
  supervisor.ticker('digests', { everyMs: digestMs, tick: ofLeader(digests.tick) });
  supervisor.ticker('unassignable', { everyMs: refreshMs, tick: unassignable.tick });
  supervisor.ticker('trust', { everyMs: networkTickMs, tick: trust.settle });
  supervisor.ticker('location', { everyMs: refreshMs, tick: location.tick });
  supervisor.ticker('tombstones', {
    everyMs: timing.housekeepMs,
    tick: ofLeader(tombstones.tick),
  });
}

/** From a held alert to an accepted message. */
async function startAlerts(parts: WithWork): Promise<void> {
  const { supervisor, timing, figures, partitions, isLeader } = parts;
  const { alertTickMs: everyMs, refreshMs: fallbackMs } = timing;
  const ask = (monitors: readonly string[]): void =>
    parts.requestRechecks(
      monitors.map((monitor) => ({ monitor, look: newId(), places: 'all', when: 'now' })),
      Promise.resolve(),
    );
  const every = { everyMs, fallbackMs };
  const notifier = parts.startNotifier({ supervisor, ...every, figures, isLeader, ask });
  supervisor.part('notifier', notifier.close);
  await startAlerter({ ...parts, everyMs, known: partitions.known, notify: notifier.hurry });
}

function tickForOperators(parts: All, health: Engine['health']): void {
  const { supervisor, sql, clock, log, owner, timing, isLeader, refusals, seldom } = parts;
  const { refreshMs: everyMs } = timing;
  const own = { sql, owner, isLeader };
  const clocks = createClockNotice({ ...own, clock: parts.databaseClock });
  const zones = createZoneNotice({
    ...own,
    clock,
    version: process.versions.tz,
    systemVersion: systemZoneVersion,
  });
  const objectives = createObjectiveEvaluation({ sql, results: parts.results, clock, isLeader });
  supervisor.ticker('objectives', { everyMs, tick: objectives.tick });
  const { results, hasMail } = parts;
  const mailing = createReportMailing({ sql, results, clock, log, isLeader, hasMail });
  supervisor.ticker('report mails', { everyMs, tick: mailing.tick });
  const { secrets, providers } = parts;
  const watch = createProviderWatch({ sql, clock, log, secrets, providers, isLeader });
  supervisor.ticker('sign-ins', { everyMs, tick: watch.tick });
  const signOfLife = createSignOfLife({
    ...parts,
    health,
    heardMs: parts.network.heardMs,
    commit: () => parts.partitions.tell(firstPartition, { is: 'checkpoint' }),
    address: parts.heartbeatUrl,
  });
  supervisor.ticker('sign of life', { everyMs, tick: signOfLife.tick });
  const domains = createDomainProofs({ sql, clock, log, textRecords: parts.textRecords, isLeader });
  supervisor.ticker('clock', { everyMs, tick: clocks.tick });
  supervisor.ticker('zones', { everyMs, tick: zones.tick });
  supervisor.ticker('notices', {
    everyMs,
    tick: async () => {
      if (isLeader()) for (const { tick } of seldom) await tick();
    },
  });
  supervisor.part('refusals', () =>
    refusals
      .flush()
      .catch((error: unknown) =>
        log.error({ err: error }, 'could not store the counts of refusals'),
      ),
  );
  supervisor.ticker('refusals', { everyMs, tick: refusals.flush });
  supervisor.ticker('housekeeper', {
    everyMs: timing.housekeepMs,
    tick: parts.housekeeper.tick,
    // It may have years of a large installation to delete.
    timeoutMs: 6 * hourMs,
  });
  supervisor.ticker('domains', { everyMs: hourMs, tick: domains.tick });
}

const hourMs = 3_600_000;
