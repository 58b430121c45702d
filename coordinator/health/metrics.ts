import { once } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { connect as shakeHands, type TLSSocket } from 'node:tls';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { ConfigurationFault } from '../../shared/base/env.ts';
import type { Log } from '../../shared/base/log.ts';
import { listenObstacle } from '../../shared/base/process.ts';
import { jsonOf } from '../../shared/bus/messages.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { partitionConsumer, streams } from '../../shared/bus/subjects.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { isKind } from '../../shared/checks/kinds.ts';
import { isOutcome } from '../../shared/checks/result.ts';
import type { Sql } from '../database/connect.ts';
import type { Directory } from '../probes/directory.ts';
import type { Present } from '../probes/presence.ts';
import type { Figures } from './meters.ts';

export type SeenBus = {
  readonly streamStates: readonly {
    readonly stream: string;
    readonly bytes: number;
    readonly messages: number;
    readonly missing: number;
  }[];
  /** The waiting messages of this coordinator's partitions. */
  readonly waiting: readonly { readonly partition: number; readonly messages: number }[];
  /** The disk space that each server uses for streams, and its limit. */
  readonly disks: readonly { readonly server: string; readonly bytes: number; readonly limit: number }[];
};

/** Every server reports every 10 s; one that was silent for this long may be gone. */
const silentMs = 60_000;

const told = z.object({
  server: z.object({ name: z.string() }),
  statsz: z.object({ jetstream: z.object({ config: z.object({ max_storage: z.number() }), stats: z.object({ storage: z.number() }) }) }),
});

type Dependencies = {
  readonly bus: Pick<Bus, 'streamState' | 'consumerState'>;
  readonly system: Pick<Bus, 'subscribe'>;
  readonly held: () => readonly number[];
  readonly log: Pick<Log, 'debug'>;
};

export type BusMetrics = { readonly look: () => Promise<SeenBus> };

/**
 * Reads the bus on demand. It listens to servers' reports of their disks from the first read on:
 * without readers it does not listen.
 */
export const createBusMetrics = ({ bus, system, held, log }: Dependencies): BusMetrics => {
  const disks = new Map<string, { readonly bytes: number; readonly limit: number; readonly at: number }>();
  let hears = false;
  const hear = (): void => {
    if (hears) return;
    hears = true;
    // Until the connection is closed.
    system.subscribe('$SYS.SERVER.*.STATSZ', ({ data }) => {
      const read = told.safeParse(jsonOf(data));
      // A server without streams does not report its disk.
      if (!read.success) return log.debug({ err: read.error }, 'a bus server does not report what it stores');
      const { config, stats } = read.data.statsz.jetstream;
      disks.set(read.data.server.name, { bytes: stats.storage, limit: config.max_storage, at: performance.now() });
    });
  };

  return {
    look: async () => {
      hear();
      const [states, waiting] = await Promise.all([
        Promise.all(Object.values(streams).map(async ({ name }) => ({ name, state: await bus.streamState(name) }))),
        Promise.all(
          held().map(async (partition) => ({
            partition,
            state: await bus.consumerState(streams.results.name, partitionConsumer(partition).name),
          })),
        ),
      ]);
      for (const [server, { at }] of disks) if (performance.now() - at > silentMs) disks.delete(server);
      return {
        streamStates: states.flatMap(({ name: stream, state }) =>
          state ? [{ stream, bytes: state.bytes, messages: state.messages, missing: state.missing }] : [],
        ),
        waiting: waiting.flatMap(({ partition, state }) => (state ? [{ partition, messages: state.pending + state.unacknowledged }] : [])),
        disks: [...disks].map(([server, { bytes, limit }]) => ({ server, bytes, limit })),
      };
    },
  };
};

/**
 * A certificate of the installation itself: `web` is what people and probes reach, `bus` its
 * servers.
 */
export type OwnPlace = {
  readonly of: 'web' | 'bus';
  readonly host: string;
  readonly port: number;
  /** The server speaks first, in the clear, and starts TLS after that. */
  readonly greetsFirst: boolean;
};

export type SeenCertificate = { readonly of: OwnPlace['of']; readonly server: string; readonly endsAt: number };

export type Certificates = {
  /** The last known certificates; reads them again in the background when they are old. */
  readonly seen: () => readonly SeenCertificate[];
  readonly close: () => Promise<void>;
};

const httpsPort = 443;
const natsPort = 4222;

type Addresses = {
  readonly baseUrl: string | undefined;
  readonly bus: string;
  readonly tlsFirst: boolean;
  /** A certificate authority is configured for it, so it uses TLS whatever its scheme. */
  readonly hasAuthority: boolean;
};

/** The places to check: only those whose settings use TLS. */
export const ownPlaces = ({ baseUrl, bus, tlsFirst, hasAuthority }: Addresses): readonly OwnPlace[] => {
  const placeOf = (of: OwnPlace['of'], { hostname, port }: URL, usual: number, greetsFirst: boolean): OwnPlace => ({
    ...{ of, greetsFirst, host: hostname.replace(/^\[|\]$/g, '') },
    port: port === '' ? usual : Number(port),
  });
  const web = URL.parse(baseUrl ?? '');
  const servers = bus.split(',').map((server) => server.trim());
  const isSafe = tlsFirst || hasAuthority || servers.some((server) => server.startsWith('tls://'));
  return [
    ...(web?.protocol === 'https:' ? [placeOf('web', web, httpsPort, false)] : []),
    ...servers.flatMap((server) => {
      const url = isSafe ? URL.parse(server) : null;
      return url === null ? [] : [placeOf('bus', url, natsPort, !tlsFirst)];
    }),
  ];
};

const dialMs = 5_000;

/**
 * Nothing is sent, so the certificate need not be trusted: an expired one has a date all the same.
 */
const endOf = async ({ host, port, greetsFirst }: OwnPlace): Promise<number> => {
  const signal = AbortSignal.timeout(dialMs);
  let socket: Socket | TLSSocket = dial({ host, port });
  try {
    await once(socket, 'connect', { signal });
    if (greetsFirst) await once(socket, 'data', { signal });
    const plain = socket;
    const secured = shakeHands({ socket: plain, rejectUnauthorized: false, ...(/[a-z]/i.test(host) ? { servername: host } : {}) });
    socket = secured;
    await once(secured, 'secureConnect', { signal });
    const shown = secured.getPeerX509Certificate();
    if (shown === undefined) throw new Error('no certificate was shown');
    return shown.validToDate.getTime();
  } finally {
    socket.destroy();
  }
};

const againMs = 600_000;

type CertificatesDependencies = { readonly places: readonly OwnPlace[]; readonly log: Pick<Log, 'warn'>; readonly elapsed?: () => number };

export const createCertificates = ({ places, log, elapsed = () => performance.now() }: CertificatesDependencies): Certificates => {
  let seen: readonly SeenCertificate[] = [];
  let lookAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    const all = places.map(async (place): Promise<SeenCertificate[]> => {
      const server = `${place.host}:${place.port}`;
      try {
        return [{ of: place.of, server, endsAt: await endOf(place) }];
      } catch (error) {
        log.warn({ err: error, server }, 'could not read a certificate of this installation');
        // It does not change when it expires because no server answers now.
        return seen.filter((one) => one.server === server && one.of === place.of);
      }
    });
    seen = (await Promise.all(all)).flat();
  };
  return {
    seen: () => {
      if (elapsed() >= lookAt) {
        lookAt = elapsed() + againMs;
        looking = look();
      }
      return seen;
    },
    close: () => looking,
  };
};

/** Histogram buckets for work that takes milliseconds, and for work that takes seconds. */
const quick = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const slow = [0.5, 1, 2, 3, 5, 8, 15, 30, 60, 120, 300, 600];

export type Live = Figures & {
  /** A request was answered; `route` is the pattern, not the requested path. */
  readonly answered: (route: string, status: number, tookMs: number) => void;
};

/** What is counted as it happens; a batch costs a few additions, whatever its size. */
export const createLive = (registry: Registry): Live => {
  const registers = [registry];
  const results = new Counter({ name: 'antipode_results_committed_total', help: 'Results stored', labelNames: ['outcome'], registers });
  const age = new Histogram({
    ...{ name: 'antipode_result_age_seconds', help: 'Of the oldest result of each commit of a partition: end of its check to its commit' },
    ...{ buckets: slow, registers },
  });
  const commits = new Histogram({ name: 'antipode_commit_seconds', help: 'Transactions of the writer', buckets: quick, registers });
  const checkpoints = new Histogram({
    ...{ name: 'antipode_checkpoint_seconds', help: "A partition's checkpoint: packed and committed", buckets: quick, registers },
  });
  const confirmation = new Histogram({
    ...{ name: 'antipode_confirmation_seconds', help: 'First failing check to the commit that confirms the outage' },
    ...{ buckets: slow, registers },
  });
  const givenUp = new Counter({
    ...{ name: 'antipode_partitions_given_up_total', help: 'Partitions whose work stood, and which were begun anew', registers },
  });
  const refused = new Counter({
    ...{ name: 'antipode_batches_refused_total', help: 'What came over the bus and was refused', labelNames: ['reason'], registers },
  });
  const looks = new Counter({
    name: 'antipode_looks_total',
    help: 'Looks wished for, and whether a probe was asked',
    labelNames: ['why', 'outcome'],
    registers,
  });
  const told = new Counter({
    ...{ name: 'antipode_alerts_total', help: 'Attempts to send a message', labelNames: ['channel', 'result'], registers },
  });
  const delay = new Histogram({
    ...{ name: 'antipode_alert_delay_seconds', help: 'Message due to message taken', labelNames: ['channel'], buckets: slow, registers },
  });
  const requests = new Histogram({
    ...{ name: 'antipode_http_request_seconds', help: 'Requests answered', labelNames: ['route', 'code'], buckets: quick, registers },
  });
  return {
    committed: (units, tookMs, now) => {
      commits.observe(tookMs / 1_000);
      for (const { results: rows, passes, alerts, incidents } of units) {
        let oldest = Number.POSITIVE_INFINITY;
        if (passes.at.length > 0) results.inc({ outcome: 'ok' }, passes.at.length);
        for (let place = 0; place < passes.at.length; place += 1)
          oldest = Math.min(oldest, (passes.at[place] ?? 0) + (passes.took_ms[place] ?? 0));
        for (const { outcome, at, took_ms } of rows) {
          results.inc({ outcome });
          oldest = Math.min(oldest, at + took_ms);
        }
        if (Number.isFinite(oldest)) age.observe(Math.max(0, now - oldest) / 1_000);
        // The commit that confirms also creates the "down", unless the outage is one of the past.
        for (const alert of alerts) {
          if (alert.event !== 'down') continue;
          const began = incidents.findLast(({ incident }) => incident.id === alert.incident)?.incident.started_at;
          if (began !== undefined) confirmation.observe(Math.max(0, now - began) / 1_000);
        }
      }
    },
    checkpointed: (tookMs) => checkpoints.observe(tookMs / 1_000),
    gaveUp: () => givenUp.inc(),
    refused: (reason, count) => refused.inc({ reason }, count),
    asked: (why, outcome) => looks.inc({ why, outcome }),
    told: (channel, result, lateMs) => {
      told.inc({ channel, result });
      if (result === 'taken') delay.observe({ channel }, Math.max(0, lateMs) / 1_000);
    },
    answered: (route, status, tookMs) => requests.observe({ route, code: `${Math.floor(status / 100)}xx` }, tookMs / 1_000),
  };
};

/**
 * A probe as this coordinator knows it. A private one is named by its id: its name is the
 * organisation's own.
 */
export type SeenProbe = {
  readonly name: string;
  /**
   * Whose it is. A private probe does not show whether a continent still confirms for the others.
   */
  readonly of: 'public' | 'private';
  readonly continent: string;
  readonly state: 'well' | 'lost' | 'quarantined';
  /** Its last presence; undefined when this coordinator has not heard it. */
  readonly said:
    | {
        readonly waiting: number;
        readonly bytes: number;
        readonly dropped: number;
        readonly refused: number;
        readonly clockOffsetMs: number | undefined;
        readonly inFlight: number;
        readonly lateMs: number;
        readonly checks: readonly { readonly kind: string; readonly outcome: string; readonly count: number }[];
      }
    | undefined;
};

type ProbesDependencies = {
  readonly roster: Roster;
  readonly directory: Pick<Directory, 'byId'>;
  readonly presentOf: (probe: string) => Present | undefined;
};

export const seenProbes = ({ roster, directory, presentOf }: ProbesDependencies): readonly SeenProbe[] =>
  roster.probes.map(({ id, continent, organisation, healthy, quarantined }) => {
    const message = healthy ? presentOf(id)?.message : undefined;
    return {
      name: organisation === null ? (directory.byId(id)?.name ?? id) : id,
      of: organisation === null ? 'public' : 'private',
      continent,
      state: healthy ? (quarantined ? 'quarantined' : 'well') : 'lost',
      said: message && {
        ...{ waiting: message.spool.waiting, bytes: message.spool.bytes, dropped: message.spool.dropped, refused: message.refused ?? 0 },
        ...{ clockOffsetMs: message.clock_offset_ms, inFlight: message.load.in_flight, lateMs: message.load.late_ms },
        // Unknown words of a probe of another release, or of a modified one, get no row of their
        // own.
        checks: (message.checks ?? []).filter(({ kind, outcome }) => isKind(kind) && isOutcome(outcome)),
      },
    };
  });

export type StoredFigure = { readonly name: string; readonly label: string; readonly value: number };

/**
 * What waits and is open in the whole installation, in one query; each part of it only walks an
 * index of open rows.
 */
export const storedFigures = (sql: Sql, now: number): Promise<readonly StoredFigure[]> => {
  const at = new Date(now);
  return sql<StoredFigure[]>`
    select 'outbox_waiting' as name, topic as label, count(*)::float8 as value from outbox where done_at is null group by topic
    union all select 'outbox_oldest', '', coalesce(extract(epoch from ${at} - min(due_at)), 0)::float8 from outbox where done_at is null and due_at <= ${at}
    union all select 'incidents', case when confirmed_at is null then 'verifying' else 'confirmed' end, count(*)::float8
      from incidents where resolved_at is null group by 2
    union all select 'notices', kind, count(*)::float8 from notices where ended_at is null group by kind
    union all select 'messages_waiting', '', count(*)::float8 from messages where state = 'waiting'
    union all select 'messages_oldest', '', coalesce(extract(epoch from ${at} - min(due_at)), 0)::float8 from messages where state = 'waiting' and due_at <= ${at}
    union all select 'set_aside', '', count(*)::float8 from set_aside
    union all select 'partitions_owned', '', count(*)::float8 from leases where owner is not null and expires_at > now()`;
};

export type Snapshot = {
  readonly isReady: boolean;
  readonly database: boolean;
  readonly bus: boolean;
  readonly streams: boolean;
  /** Of this coordinator. */
  readonly partitions: number;
  /** Whether it leaves them to others, because they stalled repeatedly. */
  readonly resting: boolean;
  readonly probes: readonly SeenProbe[];
  /** Undefined while the bus does not answer. */
  readonly onBus: SeenBus | undefined;
  /** Of the data folder; undefined where it is unknown. */
  readonly disk: { readonly size: number; readonly free: number } | undefined;
  readonly certificates: readonly SeenCertificate[];
  /** Undefined while the database does not answer. */
  readonly stored: readonly StoredFigure[] | undefined;
};

/** The database's figures: the name of each here, and the labels of its rows. */
const storedGauges = {
  outbox_waiting: { name: 'antipode_outbox_waiting', help: 'Lines that wait to be worked on, of the installation', label: 'topic' },
  outbox_oldest: { name: 'antipode_outbox_oldest_seconds', help: 'For how long the oldest due line waits', label: undefined },
  incidents: { name: 'antipode_incidents_open', help: 'Open incidents of the installation', label: 'state' },
  notices: { name: 'antipode_notices_open', help: 'What the operator is told: open notices', label: 'kind' },
  messages_waiting: { name: 'antipode_messages_waiting', help: 'Messages to channels that were not taken yet', label: undefined },
  messages_oldest: { name: 'antipode_messages_oldest_seconds', help: 'For how long the oldest due message waits', label: undefined },
  set_aside: { name: 'antipode_set_aside', help: 'Messages of the bus that could not be worked on', label: undefined },
  partitions_owned: { name: 'antipode_partitions_with_owner', help: 'Partitions (of 32) that some coordinator works on', label: undefined },
} as const;

const isStored = (name: string): name is keyof typeof storedGauges => Object.hasOwn(storedGauges, name);

/** What is only looked up on demand. */
export const createSeen = (registry: Registry): ((seen: Snapshot) => void) => {
  const registers = [registry];
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> =>
    new Gauge({ name: `antipode_${name}`, help, labelNames, registers });
  const ready = gauge('ready', 'Whether this coordinator may be sent requests');
  const database = gauge('database_up', 'Whether the database answers');
  const bus = gauge('bus_connected', 'Whether this coordinator is on the bus');
  const streams = gauge('streams_led', 'Whether every stream of the bus has a leader');
  const partitions = gauge('partitions_owned', 'Partitions that this coordinator works on');
  const resting = gauge('resting', 'Whether this coordinator leaves its partitions to others, as work on them stood again and again');
  const probes = gauge('probes', 'Probes, by whose they are, continent and how they are', ['of', 'continent', 'state']);
  const ofProbe = {
    waiting: gauge('probe_spool_results', 'Results that a probe keeps and has not handed over', ['probe']),
    bytes: gauge('probe_spool_bytes', 'Bytes that they take on its disk', ['probe']),
    dropped: new Counter({
      ...{ name: 'antipode_probe_results_dropped_total', help: 'Results that a probe lost since it began its spool' },
      ...{ labelNames: ['probe'], registers },
    }),
    refused: new Counter({
      ...{ name: 'antipode_probe_announcements_refused_total', help: 'Messages that a probe refused, as no coordinator signed them' },
      ...{ labelNames: ['probe'], registers },
    }),
    checks: new Counter({
      ...{ name: 'antipode_probe_checks_total', help: 'Checks that a probe ended since it was started' },
      ...{ labelNames: ['probe', 'kind', 'outcome'], registers },
    }),
    offset: gauge('probe_clock_offset_seconds', "By how much a probe corrects its host's clock", ['probe']),
    inFlight: gauge('probe_checks_in_flight', 'Checks under way', ['probe']),
    late: gauge('probe_check_lateness_seconds', 'How late checks begin', ['probe']),
  };
  const streamBytes = gauge('stream_bytes', 'Bytes of a stream', ['stream']);
  const streamMessages = gauge('stream_messages', 'Messages of a stream', ['stream']);
  const missing = gauge('stream_replicas_missing', 'Servers short of those that are to keep a stream: gone, behind, or never given', [
    'stream',
  ]);
  const pending = gauge('partition_pending_messages', 'Messages of results that wait for a partition of this coordinator', ['partition']);
  const busBytes = gauge('jetstream_bytes', "Bytes that streams take on a bus server's disk", ['server']);
  const busLimit = gauge('jetstream_limit_bytes', 'Bytes that they may take there', ['server']);
  const disk = {
    size: gauge('data_size_bytes', "Size of the disk that this coordinator's data folder lies on"),
    free: gauge('data_free_bytes', 'Bytes that are free there'),
  };
  const ends = gauge('certificate_expiry_timestamp_seconds', "When a certificate of the installation's own ends", ['of', 'server']);
  const stored = Object.fromEntries(
    Object.entries(storedGauges).map(([key, { name, help, label }]) => [
      key,
      new Gauge({ name, help, labelNames: label === undefined ? [] : [label], registers }),
    ]),
  );

  const ofBus = [streamBytes, streamMessages, missing, pending, busBytes, busLimit];
  const changing = [probes, ends, ...ofBus, ...Object.values(disk), ...Object.values(ofProbe), ...Object.values(stored)];

  return (seen) => {
    ready.set(Number(seen.isReady));
    database.set(Number(seen.database));
    bus.set(Number(seen.bus));
    streams.set(Number(seen.streams));
    partitions.set(seen.partitions);
    resting.set(Number(seen.resting));
    for (const one of changing) one.reset();
    for (const { name: probe, of, continent, state, said } of seen.probes) {
      probes.inc({ of, continent, state });
      if (said === undefined) continue;
      ofProbe.waiting.set({ probe }, said.waiting);
      ofProbe.bytes.set({ probe }, said.bytes);
      ofProbe.dropped.inc({ probe }, said.dropped);
      ofProbe.refused.inc({ probe }, said.refused);
      for (const { kind, outcome, count } of said.checks) ofProbe.checks.inc({ probe, kind, outcome }, count);
      ofProbe.inFlight.set({ probe }, said.inFlight);
      ofProbe.late.set({ probe }, said.lateMs / 1_000);
      if (said.clockOffsetMs !== undefined) ofProbe.offset.set({ probe }, said.clockOffsetMs / 1_000);
    }
    for (const { stream, bytes, messages, missing: peers } of seen.onBus?.streamStates ?? []) {
      streamBytes.set({ stream }, bytes);
      streamMessages.set({ stream }, messages);
      missing.set({ stream }, peers);
    }
    for (const { partition, messages } of seen.onBus?.waiting ?? []) pending.set({ partition }, messages);
    for (const { server, bytes, limit } of seen.onBus?.disks ?? []) {
      busBytes.set({ server }, bytes);
      busLimit.set({ server }, limit);
    }
    if (seen.disk !== undefined) {
      disk.size.set(seen.disk.size);
      disk.free.set(seen.disk.free);
    }
    for (const { of, server, endsAt } of seen.certificates) ends.set({ of, server }, endsAt / 1_000);
    for (const { name, label, value } of seen.stored ?? []) {
      const one = isStored(name) ? { gauge: stored[name], label: storedGauges[name].label } : undefined;
      if (one?.label === undefined) one?.gauge?.set(value);
      else one.gauge?.set({ [one.label]: label }, value);
    }
  };
};

/**
 * Metrics for operators, at a port of their own that is not public. They are loaded only where they
 * are configured.
 */
export type Metrics = { readonly live: Live; readonly port: number; readonly close: () => Promise<void> };

export type MetricsDependencies = {
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly log: Log;
  /** Collects on demand. */
  readonly look: () => Promise<Snapshot>;
};

/** Requests that come together, or right after one another, get the same answer. */
const sameForMs = 2_000;

const { createServer } = process.getBuiltinModule('node:http');

export const startMetrics = async ({ host, port, version, log, look }: MetricsDependencies): Promise<Metrics> => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // They are sums, under names that Prometheus reserves for counters.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`);
  new Gauge({ name: 'antipode_build_info', help: 'The version that runs', labelNames: ['version'], registers: [registry] }).set(
    { version },
    1,
  );
  const live = createLive(registry);
  const show = createSeen(registry);
  let seen: { readonly at: number; readonly text: Promise<string> } | undefined;
  const text = async (): Promise<string> => {
    show(await look());
    return registry.metrics();
  };
  const answer = (): Promise<string> => {
    if (seen === undefined || performance.now() - seen.at > sameForMs) seen = { at: performance.now(), text: text() };
    return seen.text;
  };
  const server = createServer((request, reply) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      reply.writeHead(404, { 'content-type': 'text/plain' }).end('Figures are at /metrics.\n');
      return;
    }
    answer().then(
      (figures) => reply.writeHead(200, { 'content-type': registry.contentType }).end(figures),
      (error: unknown) => {
        seen = undefined;
        log.error({ err: error }, 'could not collect the metrics');
        reply.writeHead(500, { 'content-type': 'text/plain' }).end('The figures could not be put together; the log says why.\n');
      },
    );
  });
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const obstacle = listenObstacle(error, port, host);
    throw obstacle === undefined ? error : new ConfigurationFault([`METRICS_PORT, METRICS_HOST: ${obstacle}`]);
  }
  const address = server.address();
  return {
    live,
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: async () => {
      server.closeAllConnections();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
};
