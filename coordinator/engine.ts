import pLimit from 'p-limit';
import { type End, endAll } from '../shared/base/async.ts';
import type { Log } from '../shared/base/log.ts';
import type { Clock } from '../shared/base/time.ts';
import type { Bus } from '../shared/bus/nats.ts';
import { keyFromSeed } from '../shared/bus/nkeys.ts';
import { createPingRecords } from '../shared/bus/pings.ts';
import { systemZoneVersion } from '../shared/zones/system.ts';
import { type Sql, timeOf, wayOf } from './database/connect.ts';
import { listenTo } from './database/listen.ts';
import { outboxChannel } from './database/outbox.ts';
import type { PartitionDependencies } from './engine/dependencies.ts';
import {
  announceProbeChanges,
  createOwnership,
  createPartitions,
  createPartitionWatchdog,
  owns,
  type Partitions,
} from './engine/ownership.ts';
import { changingMonitors, type MonitorRow, monitorsOfBucket } from './engine/queries.ts';
import { createRechecks } from './engine/rechecks.ts';
import { doubtMarkers } from './engine/reconcile.ts';
import type { Timing } from './engine/timing.ts';
import { createWriter } from './engine/writer.ts';
import type { HealthInput } from './health/endpoint.ts';
import { healthOf } from './health/endpoint.ts';
import { type SeenProbe, seenProbes } from './health/gauges.ts';
import type { Figures } from './health/meters.ts';
import { installationId } from './health/meters.ts';
import { createClockNotice, createDebouncedNotice, createZoneNotice } from './health/notices.ts';
import { createRefusals } from './health/refusals.ts';
import type { DatabaseClock } from './health/watches.ts';
import { createWatchdog, watchDatabase, watchStreams } from './health/watches.ts';
import { type Pings, startPings } from './heartbeats/intake.ts';
import { createPingSettings } from './heartbeats/keys.ts';
import type { CreateHeartbeat } from './heartbeats/naming.ts';
import {
  createHousekeeper,
  createRetryingTicker,
  oldestAccepted,
  oldestKept,
  type RetentionDays,
} from './housekeeping/jobs.ts';
import type { Notifier } from './notifications/notifier.ts';
import { alertsChannel, createAlerter } from './notifications/release.ts';
import type { DocumentReader, TextRecords } from './outbound/documents.ts';
import { createAnnouncements } from './probes/announcements.ts';
import { createAssignments, createTombstones } from './probes/assignments.ts';
import {
  type BusPlace,
  createProbeBusAdmin,
  ensureStreams,
  enterBus,
  untilBus,
} from './probes/bus-keeper.ts';
import { createDigestCheck } from './probes/digests.ts';
import { createDirectory } from './probes/directory.ts';
import { createDuplicateProbes, watchConnections } from './probes/duplicates.ts';
import { createNetworkKeys } from './probes/identities.ts';
import { createLocationCheck } from './probes/location.ts';
import { createDroppedResults, createReceipts, hearPresence } from './probes/presence.ts';
import type { ProbeRow } from './probes/queries.ts';
import { serveRelay } from './probes/relay.ts';
import { createNetwork } from './probes/roster.ts';
import { createTestRuns, type TestRuns } from './probes/test-runs.ts';
import { createProbeTrust } from './probes/trust.ts';
import { createUnassignable } from './probes/uncheckable.ts';
import { createAsker } from './registrations/asker.ts';
import { createRefreshedList } from './registrations/list.ts';
import type { Results } from './results/reading.ts';
import type { OwnHours } from './results/running.ts';
import type { WrappedKey } from './secrets/keys.ts';
import { createDomainProofs } from './status-pages/public/access.ts';

/**
 * Starts what a coordinator does by itself, each part after those that it is made of:
 *
 *   1 database     watched, with a patient way of its own for housekeeping
 *   2 bus          entered; its streams are watched
 *   3 network      which probes there are, their keys and the roster
 *   4 partitions   what they work with, then the leases
 *   5 probes       their presence, duplicates, locations, notices
 *   6 heartbeats   pings on the bus, and the relay of probes that cannot reach it
 *   7 notifier     alerts that become due
 *   8 tickers      what is looked at again from time to time
 *
 * A part waits for the database or the bus until it is there. If one fails all the same, those that
 * were started are ended in reverse order, and so they are at the end.
 */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const ends: End[] = [];
  try {
    return await assemble(options, ends);
  } catch (error) {
    await endAll(ends).catch((failure: unknown) =>
      options.log.warn({ err: failure }, 'did not stop cleanly'),
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
  readonly close: () => Promise<void>;
};

export type EngineOptions = {
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
    readonly publicUrl: string | undefined;
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
  /** The file that keeps pings while the bus is away. */
  readonly pingSpool: string;
  /** What is committed and in no chunk yet: partitions add to it. */
  readonly running: OwnHours;
  /** Decrypts the secrets of a monitor, as JSON. */
  readonly openSecrets: (row: MonitorRow) => Promise<string>;
  readonly textRecords: TextRecords;
  /** Reads what registries say of domains. */
  readonly readRegistry: DocumentReader['read'];
  /** Where IANA's list of registries is; undefined: it is never read. */
  readonly registryListUrl: string | undefined;
  readonly startNotifier: (every: {
    readonly everyMs: number;
    readonly fallbackMs: number;
    readonly figures: Figures;
  }) => Notifier;
  /** Receives counts as things happen. */
  readonly figures: Figures;
  readonly renew: (probe: ProbeRow, key: string) => string;
  /** The keys of announcements are derived from these, the newest first. */
  readonly secretKeys: readonly string[];
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
  /** Whether public probes sign their requests and are listed. */
  readonly identifyProbes: boolean;
};

const hourMs = 3_600_000;

async function assemble(options: EngineOptions, ends: End[]): Promise<Engine> {
  const {
    owner,
    version,
    sql,
    clock,
    log,
    timing,
    kept,
    nats,
    baseUrl,
    anchors,
    figures,
    signal,
    untilDatabase,
  } = options;
  const every = (name: string, everyMs: number, tick: () => Promise<unknown>) => {
    const ticker = createRetryingTicker({ name, everyMs, tick, log });
    ends.push(ticker.stop);
    return ticker;
  };

  ends.push(watchDatabase({ sql, log, onTime: options.databaseClock.observe }).stop);
  const patient = wayOf(sql).openPatient();
  ends.push(() => patient.end({ timeout: 0 }));
  const ownership = createOwnership();
  const isLeader = (): boolean => owns(ownership, 0);
  const housekeeper = createHousekeeper({
    sql: patient,
    clock,
    log,
    kept,
    isLeader,
    results: options.results,
  });
  await untilDatabase(housekeeper.prepare);

  const refusals = createRefusals({ sql, log, figures });
  const announcements = createAnnouncements({
    clock,
    log,
    secretKeys: options.secretKeys,
    onRefused: (why) => refusals.count('coordinator', why === 'outdated' ? 'outdated' : 'forged'),
  });
  const { announce } = announcements;
  const { bus, system } = await enterBus({ place: nats, owner, announce, log, ends, signal });
  // The database may have gone away while we waited for the bus.
  await untilDatabase(async () => options.databaseClock.observe(await timeOf(sql)));
  const streamWatch = watchStreams({ bus, log, silentMs: timing.stalledMs });
  await streamWatch.tick();
  every('streams', timing.refreshMs, streamWatch.tick);

  const directory = await untilDatabase(() => createDirectory({ sql, log }));
  const keys = await untilDatabase(() => createNetworkKeys({ sql, masterOf: options.masterOf }));

  const network = await untilDatabase(() =>
    createNetwork({ sql, bus, clock, log, timing, directory, announcements, isLeader }),
  );
  const { roster } = network;
  const records = createPingRecords(bus);
  const { follow } = createPingSettings({ sql, bus, records, clock });
  const assignments = createAssignments({
    bus,
    directory,
    openSecrets: options.openSecrets,
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
  const rechecks = createRechecks({ sql, bus, clock, log, roster, assignments, figures });
  const testRuns = createTestRuns({
    bus,
    clock,
    roster,
    assignments,
    announcements,
    directory,
  });
  ends.push(async () => testRuns.close());
  const loaded: PartitionDependencies['loaded'] = new Map();
  const targetsOf = (probe: string): ReadonlySet<number> => {
    const targets = new Set<number>();
    for (const { monitors } of loaded.values())
      for (const monitor of monitors.seenBy(probe)) targets.add(monitors.targetOf(monitor));
    return targets;
  };
  const trust = createProbeTrust({
    sql,
    clock,
    log,
    directory,
    roster,
    owner,
    aliveMs: timing.leaseMs,
    targetsOf,
  });
  const writer = createWriter({ sql, owner, clock, log, figures });
  // About thirty statements are prepared one after the other, without waiting: with a distant
  // database that takes as long as all the rest.
  const prepared = untilDatabase(() => Promise.all([writer.prepare(), rechecks.prepare()]));
  prepared.catch(() => undefined); // It is awaited at the end.
  const receipts = createReceipts({ bus });
  const deps: PartitionDependencies = {
    sql,
    bus,
    clock,
    log,
    timing,
    figures,
    writer,
    directory,
    announcements,
    refusals,
    receipts,
    assignments,
    loaded,
    roster,
    presences: network.presences,
    installation: await untilDatabase(() => installationId(sql)),
    loading: pLimit(3),
    requestRechecks: rechecks.ask,
    observe: trust.observe,
    needsPasses: trust.attends,
    running: options.running,
    oldestAccepted: (now) => oldestAccepted(kept, now),
    oldestKept: (now) => oldestKept(kept, now),
  };
  const partitions = createPartitions({ owner, version, ownership, deps, signal });
  const operator = keyFromSeed(nats.operatorSeed, 'operator');
  const busAdmin = createProbeBusAdmin({
    sql,
    bus,
    system,
    account: nats.account,
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
  const onDuplicate = ({ id, name }: ProbeRow): void =>
    duplicateNotice.seen(
      id,
      `Two processes speak as the probe ${name}, with the same credentials; the older one is told to end`,
    );
  const duplicates = createDuplicateProbes({ log, onTwice: onDuplicate });
  const connections = await watchConnections({
    system,
    account: nats.account,
    clock,
    log,
    directory,
    isLeader,
    onTwice: onDuplicate,
  });
  ends.push(connections.stop);
  const { addressOf } = connections;
  const base = { sql, clock, log };
  const location = createLocationCheck({ ...base, bus, directory, roster, isLeader, addressOf });
  const { readRegistry: read, registryListUrl: listUrl } = options;
  const registries = createRefreshedList({ ...base, read, listUrl });
  const asker = createAsker({ ...base, read, registries });
  const presence = hearPresence({
    sql,
    bus,
    clock,
    log,
    directory,
    refusals,
    announcements,
    baseUrl,
    anchors,
    identify: options.identifyProbes,
    keyOf: keys.keyOf,
    renew: options.renew,
    askRegistry: (domain, { id, organisation_id }) =>
      isLeader() ? asker.ask(domain, organisation_id === null ? null : id) : undefined,
    rosterEpoch: () => roster().epoch,
    session: duplicates.hear,
    onTrialAnswer: (answer) => {
      testRuns.answered(answer);
      location.answered(answer);
    },
    onPresent: (present) => {
      droppedResults.hear(present);
      const { id, organisation_id, keys } = present.probe;
      network.hear(
        present,
        organisation_id === null
          ? location.addressOf(id)
          : keys.flatMap(({ key }) => addressOf(key) ?? [])[0],
      );
    },
  });
  ends.push(
    () => presence.stop(),
    network.close,
    rechecks.close,
    receipts.close,
    writer.close,
    partitions.close,
  );

  const watchdog = createWatchdog({
    parts: createPartitionWatchdog({ bus, partitions, timing, isLeader }),
    log,
  });
  every('watchdog', timing.watchdogMs, watchdog.tick);

  announceProbeChanges({ directory, assignments, partitions });
  await untilDatabase(partitions.start);
  if (isLeader()) await untilBus(busAdmin.ensureAll, { log, signal });
  const pings = await untilDatabase(() =>
    startPings({
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
      createHeartbeat: options.createHeartbeat,
      signal,
      spoolFile: options.pingSpool,
      refreshMs: timing.refreshMs,
    }),
  );
  ends.push(pings.close);
  const relay = serveRelay({ bus, directory, refusals, keysOf: pings.keysOf });
  ends.push(() => relay.stop());
  let wasLeader = isLeader();
  const status = bus.onStatus((now) => {
    if (now !== 'connected') return;
    wasLeader = false;
    // The bus may have been wiped: streams come first, then what partitions put in them.
    const onFailure = (error: unknown) =>
      log.error({ err: error }, 'could not maintain the streams; retrying');
    ensureStreams(bus).then(partitions.reconcile).catch(onFailure);
  });
  ends.push(status.stop);

  const onProbes = async (): Promise<void> => {
    await directory.refresh();
    const grew = await keys.refresh(directory.refresh);
    // First: probes that must be kept out.
    if (isLeader() && bus.isConnected()) await busAdmin.drain();
    if (grew) partitions.reconcile();
    await network.tick();
  };
  const onOutbox = (line: string): void => {
    if (line === 'probe')
      onProbes().catch((error: unknown) =>
        log.error({ err: error }, 'could not apply a change of a probe; retrying'),
      );
  };
  const outboxListening = await listenTo(sql, outboxChannel, onOutbox, { log, signal });
  ends.push(() => outboxListening.unlisten());

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

  every('leader', timing.networkTickMs, async () => {
    if (!bus.isConnected()) return;
    const leads = isLeader();
    if (leads) await (wasLeader ? busAdmin.growStreams() : busAdmin.ensureAll());
    wasLeader = leads;
  });
  every('consumers', timing.refreshMs, async () =>
    isLeader() && bus.isConnected() ? busAdmin.remakeLost() : undefined,
  );
  network.onChange(every('network', timing.networkTickMs, network.tick).hurry);
  every('probes', timing.refreshMs, onProbes);
  every('markers', timing.digestMs, async () => partitions.reconcile());
  every('digests', timing.digestMs, async () => (isLeader() ? digests.tick() : undefined));
  every('unassignable', timing.refreshMs, createUnassignable({ sql, directory, isLeader }).tick);
  every('trust', timing.networkTickMs, trust.settle);
  every('location', timing.refreshMs, location.tick);
  const alerter = createAlerter({ sql, clock, log, owner, known: partitions.known });
  every(
    'clock',
    timing.refreshMs,
    createClockNotice({ sql, owner, clock: options.databaseClock, isLeader }).tick,
  );
  every(
    'zones',
    timing.refreshMs,
    createZoneNotice({
      sql,
      owner,
      clock,
      version: process.versions.tz,
      systemVersion: systemZoneVersion,
      isLeader,
    }).tick,
  );
  every('notices', timing.refreshMs, async () => {
    if (!isLeader()) return;
    for (const { tick } of [droppedResults, droppedNotice, duplicateNotice]) await tick();
  });
  const alerterTicker = every('alerter', timing.alertTickMs, alerter.tick);
  const notifier = options.startNotifier({
    everyMs: timing.alertTickMs,
    fallbackMs: timing.refreshMs,
    figures,
  });
  ends.push(notifier.close);
  const onAlerts = (table: string): void => {
    notifier.hurry();
    if (table !== 'alerts') return;
    alerter.wake();
    alerterTicker.hurry();
  };
  const alertsListening = await listenTo(sql, alertsChannel, onAlerts, { log, signal });
  ends.push(() => alertsListening.unlisten());
  every('refusals', timing.refreshMs, refusals.flush);
  ends.push(() =>
    refusals
      .flush()
      .catch((error: unknown) => log.error({ err: error }, 'lost counts of refusals')),
  );
  every('housekeeper', timing.housekeepMs, housekeeper.tick);
  every(
    'domains',
    hourMs,
    createDomainProofs({ sql, clock, log, textRecords: options.textRecords, isLeader }).tick,
  );
  const tombstones = createTombstones({ bus, clock, log, keptMs: timing.tombstoneMs });
  every('tombstones', timing.housekeepMs, async () => (isLeader() ? tombstones.tick() : undefined));
  await prepared;

  return {
    bus,
    system,
    partitions,
    trials: testRuns,
    probeRows: directory.all,
    seenProbes: () => seenProbes({ roster: roster(), directory, presentOf: network.presentOf }),
    takePing: pings.take,
    takeForwardedPings: pings.takeKept,
    health: () =>
      healthOf({
        sql,
        bus,
        movement: watchdog,
        streamWatch,
        roster,
        isResting: partitions.isResting,
        isCircling: partitions.isCircling,
        entrances: [nats.entrance.url, nats.publicUrl ?? nats.entrance.url],
      }),
    close: () => endAll([...ends, bus.hurry, system.hurry]),
  };
}
