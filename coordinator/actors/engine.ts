import pLimit from 'p-limit';
import type { Clock } from '../../shared/base/clock.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { type End, endAll } from '../../shared/base/ends.ts';
import type { Log } from '../../shared/base/log.ts';
import { createBeatRecords } from '../../shared/bus/beat-records.ts';
import { type Key, keyFromSeed } from '../../shared/bus/identity.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { partitionCount } from '../../shared/bus/subjects.ts';
import type { Sql } from '../store/database.ts';
import { installationId } from '../store/installation.ts';
import { ownedPartitions } from '../store/leases.ts';
import { outboxChannel } from '../store/outbox.ts';
import type { ProbeRow } from '../store/probes.ts';
import type { WrappedKey } from '../store/secret-keys.ts';
import type { MonitorRow } from '../store/watched.ts';
import { createAlerter } from './alerter.ts';
import { createAssignments } from './assignments.ts';
import { withBeatTerms } from './beat-terms.ts';
import { type Beats, startBeats } from './beats.ts';
import { watchDatabase } from './database-watch.ts';
import { createDigestCheck } from './digest-check.ts';
import { createDirectory } from './directory.ts';
import { watchConnections } from './displacer.ts';
import { createDroppedResults } from './dropped-results.ts';
import { createHousekeeper, type Kept, oldestKept } from './housekeeper.ts';
import { createLastingNotice } from './lasting-notice.ts';
import { createLooks } from './looks.ts';
import { createNetwork } from './network.ts';
import { createNetworkKeys } from './network-keys.ts';
import type { PartitionParts } from './partition-parts.ts';
import { doubtMarkers } from './partition-reconcile.ts';
import { createPartitions, type Partitions } from './partitions.ts';
import { createPatientTicker } from './patient-ticker.ts';
import { hearPresence } from './presence.ts';
import { tellChangesOfProbes } from './probe-changes.ts';
import { createProbeKeeper, ensureStreams } from './probe-keeper.ts';
import { createReceipts } from './receipts.ts';
import { createRefusals } from './refusals.ts';
import { createStranded } from './stranded.ts';
import type { Timing } from './timing.ts';
import { createTombstones } from './tombstones.ts';
import { createProbeTrust } from './trust.ts';
import { createTwins } from './twins.ts';
import { createWriter } from './writer.ts';

/** The actors of a coordinator, put together: they start in this order and end in the reverse one. */
export type Engine = {
  readonly owner: string;
  readonly bus: Bus;
  readonly partitions: Partitions;
  readonly takeBeat: Beats['take'];
  readonly takeKeptBeats: Beats['takeKept'];
  readonly health: () => Promise<EngineHealth>;
  readonly close: () => Promise<void>;
};

export type EngineHealth = {
  readonly bus: boolean;
  /** Whether every partition has an owner, here or elsewhere. */
  readonly partitions: boolean;
  /** The public probes; those of organisations are nobody else's business. */
  readonly probes: readonly { readonly name: string; readonly continent: Continent; readonly present: boolean }[];
};

export type EngineOptions = {
  readonly owner: string;
  readonly version: string;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly timing: Timing;
  readonly kept: Kept;
  readonly nats: {
    readonly url: string;
    readonly credentials: string;
    readonly systemCredentials: string;
    readonly account: string;
    readonly operatorSeed: string;
  };
  /** The SECRET_KEY in force, which the keys of the network are derived from, by the newest key that secrets lie under. */
  readonly masterOf: (newest: WrappedKey | undefined) => string;
  /** The file that keeps beats while the bus is away. */
  readonly beatSpool: string;
  readonly openSecrets: (row: MonitorRow) => Promise<string>;
  readonly baseUrl: () => string;
  readonly anchors: () => readonly string[];
};

export const startEngine = async (options: EngineOptions): Promise<Engine> => {
  const { owner, version, sql, clock, log, timing, kept, nats, baseUrl, anchors } = options;
  const ends: End[] = [];
  const every = (name: string, everyMs: number, tick: () => Promise<unknown>) => {
    const ticker = createPatientTicker({ name, everyMs, tick, log });
    ends.push(ticker.stop);
    return ticker;
  };

  ends.push(watchDatabase({ sql, log }).stop);
  const operator: Key = keyFromSeed(nats.operatorSeed, 'operator');
  const bus = await connectBus({ url: nats.url, credentials: nats.credentials, name: `coordinator ${owner}`, log });
  ends.push(bus.close);
  const system = await connectBus({ url: nats.url, credentials: nats.systemCredentials, name: `coordinator-system ${owner}`, log });
  ends.push(system.close);
  await ensureStreams(bus);

  const housekeeper = createHousekeeper({ sql, clock, log, kept });
  await housekeeper.prepare();
  const directory = await createDirectory({ sql, log });
  const refusals = createRefusals({ sql, log });
  const keys = await createNetworkKeys({ sql, masterOf: options.masterOf });

  const isLeader = (): boolean => partitions.owns(0);
  const allHeard = Promise.withResolvers<void>();
  const network = await createNetwork({ sql, bus, clock, log, timing, directory, isLeader, onAllHeard: allHeard.resolve });
  const { roster } = network;
  const records = createBeatRecords(bus);
  const plain = createAssignments({ bus, directory, openSecrets: options.openSecrets, keys });
  const assignments = withBeatTerms({ assignments: plain, sql, bus, records, clock });
  const looks = createLooks({ sql, bus, clock, log, roster, assignments });
  const loaded: PartitionParts['loaded'] = new Map();
  const targetsOf = (probe: string): number => {
    const targets = new Set<number>();
    for (const { monitors } of loaded.values()) for (const monitor of monitors.seenBy(probe)) targets.add(monitors.targetOf(monitor));
    return targets.size;
  };
  const trust = createProbeTrust({ sql, clock, log, directory, roster, targetsOf });
  const writer = createWriter({ sql, owner, clock, log });
  const receipts = createReceipts({ bus });
  const parts: PartitionParts = {
    ...{ sql, bus, clock, log, timing, writer, directory, refusals, receipts, assignments, loaded, roster },
    installation: await installationId(sql),
    loading: pLimit(3),
    askLooks: looks.ask,
    observe: trust.observe,
    attends: trust.attends,
    oldestKept: (now) => oldestKept(kept, now),
  };
  const partitions = createPartitions({ owner, version, parts, words: network.words });
  const keeper = createProbeKeeper({ sql, bus, system, account: nats.account, operator, clock, log, directory });

  const matters = (probe: string): boolean => directory.byId(probe)?.revoked_at === null;
  const lasting = { sql, quietMs: timing.noticeQuietMs, matters };
  const twice = createLastingNotice({ ...lasting, kind: 'probe_twice' });
  const dropping = createLastingNotice({ ...lasting, kind: 'results_dropped' });
  const dropped = createDroppedResults({ sql, onDropped: dropping.seen });
  const onTwice = ({ id, name }: ProbeRow): void =>
    twice.seen(id, `Two processes speak as the probe ${name}, with the same credentials; the older one is told to end`);
  const twins = createTwins({ log, onTwice });
  const displacer = await watchConnections({ system, account: nats.account, clock, log, directory, isLeader, onTwice });
  ends.push(displacer.stop);
  const presence = hearPresence({
    ...{ sql, bus, clock, log, directory, refusals, baseUrl, anchors, keyOf: keys.keyOf },
    rosterEpoch: () => roster().epoch,
    session: twins.hear,
    onPresent: (present) => {
      dropped.hear(present);
      network.hear(present);
    },
  });
  ends.push(() => presence.stop(), network.close, looks.close, receipts.close, writer.close, partitions.close);

  tellChangesOfProbes({ directory, assignments, partitions });
  await partitions.start();
  if (isLeader()) await keeper.ensureAll();
  const beats = await startBeats({
    ...{ sql, bus, records, clock, log, refusals, directory, partitions, isLeader },
    spoolFile: options.beatSpool,
    lookAgainMs: timing.lookAgainMs,
  });
  ends.push(beats.close);
  let wasLeader = isLeader();
  const status = bus.onStatus((now) => {
    if (now !== 'connected') return;
    wasLeader = false;
    // It may have been wiped: streams first, then what partitions put in them.
    ensureStreams(bus)
      .then(partitions.reconcile)
      .catch((error: unknown) => log.error({ err: error }, 'the streams could not be looked after; it is tried again'));
  });
  ends.push(() => status.stop());

  const onProbes = async (): Promise<void> => {
    await directory.refresh();
    const grew = await keys.refresh(directory.refresh);
    // First of all: whoever is to be kept out.
    if (isLeader() && bus.isConnected()) await keeper.drain();
    if (grew) partitions.reconcile();
    await network.tick();
  };
  const listening = await sql.listen(outboxChannel, (line) => {
    if (line === 'probe')
      onProbes().catch((error: unknown) => log.error({ err: error }, 'a change of a probe could not be applied; it is tried again'));
  });
  ends.push(() => listening.unlisten());

  const digests = createDigestCheck({
    sql,
    directory,
    keyOf: keys.keyOf,
    roster,
    resyncMs: timing.resyncMs,
    presentOf: network.presentOf,
    resync: async (probe, times) => {
      // The stream itself may lack something, or hold what nobody knows: every owner looks through all of it again.
      if (times > 1) await doubtMarkers(bus);
      await keeper.resync(probe);
      partitions.reconcile();
    },
  });

  every('leader', timing.networkTickMs, async () => {
    if (!bus.isConnected()) return;
    const leads = isLeader();
    if (leads && !wasLeader) await keeper.ensureAll();
    wasLeader = leads;
  });
  const networkTicker = every('network', timing.networkTickMs, network.tick);
  void allHeard.promise.then(networkTicker.hurry);
  every('probes', timing.lookAgainMs, onProbes);
  every('markers', timing.digestMs, async () => partitions.reconcile());
  every('digests', timing.digestMs, async () => (isLeader() ? digests.tick() : undefined));
  every('stranded', timing.lookAgainMs, createStranded({ sql, directory, isLeader }).tick);
  every('trust', timing.networkTickMs, trust.settle);
  const alerter = createAlerter({ sql, clock, log, owner, known: partitions.known });
  every('notices', timing.lookAgainMs, async () => {
    if (!isLeader()) return;
    await dropped.tick();
    await dropping.tick();
    await twice.tick();
  });
  every('alerter', timing.alertTickMs, alerter.tick);
  every('refusals', timing.lookAgainMs, refusals.flush);
  ends.push(() => refusals.flush().catch((error: unknown) => log.error({ err: error }, 'counts of refusals are lost')));
  every('housekeeper', timing.housekeepMs, housekeeper.tick);
  const tombstones = createTombstones({ bus, clock, log, keptMs: timing.tombstoneMs });
  every('tombstones', timing.housekeepMs, async () => (isLeader() ? tombstones.tick() : undefined));

  return {
    owner,
    bus,
    partitions,
    takeBeat: beats.take,
    takeKeptBeats: beats.takeKept,
    health: async () => ({
      bus: bus.isConnected(),
      partitions: (await ownedPartitions(sql)) === partitionCount,
      probes: roster()
        .probes.filter(({ organisation }) => organisation === null)
        .map(({ name, continent, healthy }) => ({ name, continent, present: healthy })),
    }),
    close: () => endAll(ends),
  };
};
