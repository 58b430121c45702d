import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { SeenActor } from '../../shared/actor/supervisor.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { isKind } from '../../shared/checks/kinds.ts';
import { isOutcome } from '../../shared/checks/result.ts';
import type { Sql } from '../database/connect.ts';
import type { Directory } from '../probes/directory.ts';
import type { Present } from '../probes/presence.ts';
import type { SeenCertificate } from './certificates.ts';

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
  readonly disks: readonly {
    readonly server: string;
    readonly bytes: number;
    readonly limit: number;
  }[];
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
  /** A private place by its id, a public one by continent and region. */
  readonly place: string;
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
        readonly checks: readonly {
          readonly kind: string;
          readonly outcome: string;
          readonly count: number;
        }[];
      }
    | undefined;
};

type ProbesDependencies = {
  readonly roster: Roster;
  readonly directory: Pick<Directory, 'byId'>;
  readonly presentOf: (probe: string) => Present | undefined;
};

export function seenProbes({
  roster,
  directory,
  presentOf,
}: ProbesDependencies): readonly SeenProbe[] {
  return roster.probes.map(({ id, continent, region, organisation, healthy, quarantined }) => {
    const message = healthy ? presentOf(id)?.message : undefined;
    return {
      name: organisation === null ? (directory.byId(id)?.name ?? id) : id,
      of: organisation === null ? 'public' : 'private',
      continent,
      place: organisation ?? `${continent}/${region ?? ''}`,
      state: healthy ? (quarantined ? 'quarantined' : 'well') : 'lost',
      said: message && {
        waiting: message.spool.waiting,
        bytes: message.spool.bytes,
        dropped: message.spool.dropped,
        refused: message.refused ?? 0,
        clockOffsetMs: message.clock_offset_ms,
        inFlight: message.load.in_flight,
        lateMs: message.load.late_ms,
        // Unknown words of a probe of another release, or of a modified one, get no row of their
        // own.
        checks: (message.checks ?? []).filter(
          ({ kind, outcome }) => isKind(kind) && isOutcome(outcome),
        ),
      },
    };
  });
}

type StoredFigure = {
  readonly name: string;
  readonly label: string;
  readonly value: number;
};

/**
 * What waits and is open in the whole installation, in one query; each part of it only walks an
 * index of open rows.
 */
export function storedFigures(sql: Sql, now: number): Promise<readonly StoredFigure[]> {
  const at = new Date(now);
  return sql<StoredFigure[]>`
    select 'outbox_waiting' as name, topic as label, count(*)::float8 as value from outbox
    where done_at is null group by topic
    union all select 'outbox_oldest', '',
      coalesce(extract(epoch from ${at} - min(due_at)), 0)::float8 from outbox where done_at is null
        and due_at <= ${at}
    union all select 'incidents', case when confirmed_at is null then 'verifying'
      else 'confirmed' end, count(*)::float8
      from incidents where resolved_at is null group by 2
    union all select 'notices', kind, count(*)::float8 from notices where ended_at is null
    group by kind
    union all select 'messages_waiting', '', count(*)::float8 from deliveries
      where kind = 'alert' and state = 'waiting'
    union all select 'messages_oldest', '',
      coalesce(extract(epoch from ${at} - min(due_at)), 0)::float8 from deliveries
      where kind = 'alert' and state = 'waiting' and due_at <= ${at}
    union all select 'webhooks_waiting', '', count(*)::float8 from deliveries
      where kind = 'event' and state = 'waiting'
    union all select 'webhooks_oldest', '',
      coalesce(extract(epoch from ${at} - min(d.next_at)), 0)::float8 from webhooks w
      cross join lateral (select next_at from deliveries where kind = 'event' and subject = w.id
        and state = 'waiting' and next_at <= ${at} order by next_at limit 1) d
      where w.enabled and w.failing_since is null
    union all select 'webhooks_failing', '', count(*)::float8 from webhooks
      where enabled and failing_since is not null
    union all select 'set_aside', '', count(*)::float8 from set_aside
    union all select 'partitions_owned', '', count(*)::float8 from leases where owner is not null
      and expires_at > now()`;
}

export type Snapshot = {
  readonly isReady: boolean;
  readonly database: boolean;
  readonly bus: boolean;
  readonly streams: boolean;
  /** Of this coordinator. */
  readonly partitions: number;
  /** Whether it leaves them to others, because they stalled repeatedly. */
  readonly resting: boolean;
  readonly actors: readonly SeenActor[];
  readonly probes: readonly SeenProbe[];
  /** Undefined while the bus does not answer. */
  readonly onBus: SeenBus | undefined;
  /** Of the data folder; undefined where it is unknown. */
  readonly disk: { readonly size: number; readonly free: number } | undefined;
  readonly certificates: readonly SeenCertificate[];
  /** Undefined while the database does not answer. */
  readonly stored: readonly StoredFigure[] | undefined;
};

/** The database's figures: the name of each here, what it is, and the label of its rows. */
const storedGauges: Readonly<
  Record<string, readonly [name: string, help: string, label?: string]>
> = {
  outbox_waiting: [
    'outbox_waiting',
    'Lines that wait to be worked on, of the installation',
    'topic',
  ],
  outbox_oldest: ['outbox_oldest_seconds', 'For how long the oldest due line waits'],
  incidents: ['incidents_open', 'Open incidents of the installation', 'state'],
  notices: ['notices_open', 'What the operator is told: open notices', 'kind'],
  messages_waiting: ['messages_waiting', 'Messages to channels that were not taken yet'],
  messages_oldest: ['messages_oldest_seconds', 'For how long the oldest due message waits'],
  webhooks_waiting: ['webhook_deliveries_waiting', 'Events that wait for an attempt at a webhook'],
  webhooks_oldest: [
    'webhook_deliveries_oldest_seconds',
    'For how long the oldest due attempt waits, at webhooks that do not fail',
  ],
  webhooks_failing: ['webhooks_failing', 'Webhooks whose last attempt failed'],
  set_aside: ['set_aside', 'Messages of the bus that could not be worked on'],
  partitions_owned: ['partitions_with_owner', 'Partitions (of 32) that some coordinator works on'],
};

/** Makers of what is counted and measured, in this registry. */
export function instrumentsOf(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name: `antipode_${name}`, help, labelNames, registers }),
    gauge: <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
      new Gauge({ name: `antipode_${name}`, help, labelNames, registers }),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: Label[] = [],
    ) => new Histogram({ name: `antipode_${name}`, help, buckets, labelNames, registers }),
  };
}

/** What is only looked up on demand. */
export function createSeen(registry: Registry): (seen: Snapshot) => void {
  const { counter, gauge } = instrumentsOf(registry);
  const ready = gauge('ready', 'Whether this coordinator may be sent requests');
  const database = gauge('database_up', 'Whether the database answers');
  const bus = gauge('bus_connected', 'Whether this coordinator is on the bus');
  const streams = gauge('streams_led', 'Whether every stream of the bus has a leader');
  const partitions = gauge('partitions_owned', 'Partitions that this coordinator works on');
  const resting = gauge(
    'resting',
    'Whether this coordinator leaves its partitions to others, as work on them stood again and again',
  );
  const restarts = counter(
    'actor_restarts_total',
    'Failures of an actor, after each of which it started again',
    ['actor'],
  );
  const waiting = gauge('actor_waiting', 'Messages in the mailboxes of an actor', ['actor']);
  const probes = gauge('probes', 'Probes, by whose they are, continent and how they are', [
    'of',
    'continent',
    'state',
  ]);
  const places = gauge('places', 'Places, well while one of their probes is', [
    'of',
    'continent',
    'state',
  ]);
  const ofProbe = {
    waiting: gauge('probe_spool_results', 'Results that a probe keeps and has not handed over', [
      'probe',
    ]),
    bytes: gauge('probe_spool_bytes', 'Bytes that they take on its disk', ['probe']),
    dropped: counter(
      'probe_results_dropped_total',
      'Results that a probe lost since it began its spool',
      ['probe'],
    ),
    refused: counter(
      'probe_announcements_refused_total',
      'Messages that a probe refused, as no coordinator signed them',
      ['probe'],
    ),
    checks: counter('probe_checks_total', 'Checks that a probe ended since it was started', [
      'probe',
      'kind',
      'outcome',
    ]),
    offset: gauge('probe_clock_offset_seconds', "By how much a probe corrects its host's clock", [
      'probe',
    ]),
    inFlight: gauge('probe_checks_in_flight', 'Checks under way', ['probe']),
    late: gauge('probe_check_lateness_seconds', 'How late checks begin', ['probe']),
  };
  const streamBytes = gauge('stream_bytes', 'Bytes of a stream', ['stream']);
  const streamMessages = gauge('stream_messages', 'Messages of a stream', ['stream']);
  const missing = gauge(
    'stream_replicas_missing',
    'Servers short of those that are to keep a stream: gone, behind, or never given',
    ['stream'],
  );
  const pending = gauge(
    'partition_pending_messages',
    'Messages of results that wait for a partition of this coordinator',
    ['partition'],
  );
  const busBytes = gauge('jetstream_bytes', "Bytes that streams take on a bus server's disk", [
    'server',
  ]);
  const busLimit = gauge('jetstream_limit_bytes', 'Bytes that they may take there', ['server']);
  const disk = {
    size: gauge('data_size_bytes', "Size of the disk that this coordinator's data folder lies on"),
    free: gauge('data_free_bytes', 'Bytes that are free there'),
  };
  const ends = gauge(
    'certificate_expiry_timestamp_seconds',
    "When a certificate of the installation's own ends",
    ['of', 'server'],
  );
  const stored = Object.fromEntries(
    Object.entries(storedGauges).map(([key, [name, help, label]]) => [
      key,
      { label, gauge: gauge(name, help, label === undefined ? [] : [label]) },
    ]),
  );

  const ofBus = [streamBytes, streamMessages, missing, pending, busBytes, busLimit];
  const changing = [
    restarts,
    waiting,
    probes,
    places,
    ends,
    ...ofBus,
    ...Object.values(disk),
    ...Object.values(ofProbe),
    ...Object.values(stored).map(({ gauge }) => gauge),
  ];

  return (seen) => {
    ready.set(Number(seen.isReady));
    database.set(Number(seen.database));
    bus.set(Number(seen.bus));
    streams.set(Number(seen.streams));
    partitions.set(seen.partitions);
    resting.set(Number(seen.resting));
    for (const one of changing) one.reset();
    for (const { name: actor, restarts: count, waiting: messages } of seen.actors) {
      restarts.inc({ actor }, count);
      waiting.set({ actor }, messages);
    }
    for (const there of Map.groupBy(seen.probes, ({ place }) => place).values()) {
      const one = there.find(({ state }) => state === 'well') ?? there[0];
      if (one)
        places.inc({
          of: one.of,
          continent: one.continent,
          state: one.state === 'well' ? 'well' : 'lost',
        });
    }
    for (const { name: probe, of, continent, state, said } of seen.probes) {
      probes.inc({ of, continent, state });
      if (said === undefined) continue;
      ofProbe.waiting.set({ probe }, said.waiting);
      ofProbe.bytes.set({ probe }, said.bytes);
      ofProbe.dropped.inc({ probe }, said.dropped);
      ofProbe.refused.inc({ probe }, said.refused);
      for (const { kind, outcome, count } of said.checks)
        ofProbe.checks.inc({ probe, kind, outcome }, count);
      ofProbe.inFlight.set({ probe }, said.inFlight);
      ofProbe.late.set({ probe }, said.lateMs / 1_000);
      if (said.clockOffsetMs !== undefined)
        ofProbe.offset.set({ probe }, said.clockOffsetMs / 1_000);
    }
    for (const { stream, bytes, messages, missing: peers } of seen.onBus?.streamStates ?? []) {
      streamBytes.set({ stream }, bytes);
      streamMessages.set({ stream }, messages);
      missing.set({ stream }, peers);
    }
    for (const { partition, messages } of seen.onBus?.waiting ?? [])
      pending.set({ partition }, messages);
    for (const { server, bytes, limit } of seen.onBus?.disks ?? []) {
      busBytes.set({ server }, bytes);
      busLimit.set({ server }, limit);
    }
    if (seen.disk !== undefined) {
      disk.size.set(seen.disk.size);
      disk.free.set(seen.disk.free);
    }
    for (const { of, server, endsAt } of seen.certificates)
      ends.set({ of, server }, endsAt / 1_000);
    for (const { name, label, value } of seen.stored ?? []) {
      const one = stored[name];
      if (one?.label === undefined) one?.gauge.set(value);
      else one.gauge.set({ [one.label]: label }, value);
    }
  };
}
