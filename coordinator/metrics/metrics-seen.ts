import { Counter, Gauge, type Registry } from 'prom-client';
import type { StoredFigure } from '../store/store-installation-figures.ts';
import type { SeenBus } from './metrics-bus.ts';
import type { SeenCertificate } from './metrics-certificates.ts';
import type { SeenProbe } from './metrics-probes.ts';

export type Seen = {
  readonly isReady: boolean;
  readonly database: boolean;
  readonly bus: boolean;
  readonly streams: boolean;
  /** Of this coordinator. */
  readonly partitions: number;
  /** Whether it leaves them to others, because work on them stood again and again. */
  readonly resting: boolean;
  readonly probes: readonly SeenProbe[];
  /** Undefined while the bus does not say. */
  readonly onBus: SeenBus | undefined;
  /** That of the data folder; undefined where it cannot be told. */
  readonly disk: { readonly size: number; readonly free: number } | undefined;
  readonly certificates: readonly SeenCertificate[];
  /** Undefined while the database does not say. */
  readonly stored: readonly StoredFigure[] | undefined;
};

/** Of the database's figures: what each is called here, and what tells one of its rows from another. */
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

/** What is looked up when somebody asks, and at no other time. */
export const createSeen = (registry: Registry): ((seen: Seen) => void) => {
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
