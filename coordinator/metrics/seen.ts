import { Gauge, type Registry } from 'prom-client';
import type { StoredFigure } from '../store/figures.ts';
import type { SeenProbe } from './probes.ts';

export type Seen = {
  readonly isReady: boolean;
  readonly database: boolean;
  readonly bus: boolean;
  readonly streams: boolean;
  /** Of this coordinator. */
  readonly partitions: number;
  readonly probes: readonly SeenProbe[];
  readonly streamStates: readonly { readonly stream: string; readonly bytes: number; readonly messages: number }[];
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
  const probes = gauge('probes', 'Probes, by continent and how they are', ['continent', 'state']);
  const ofProbe = {
    waiting: gauge('probe_spool_results', 'Results that a probe keeps and has not handed over', ['probe']),
    bytes: gauge('probe_spool_bytes', 'Bytes that they take on its disk', ['probe']),
    dropped: gauge('probe_results_dropped', 'Results that a probe lost since it began its spool', ['probe']),
    offset: gauge('probe_clock_offset_seconds', "By how much a probe corrects its host's clock", ['probe']),
    inFlight: gauge('probe_checks_in_flight', 'Checks under way', ['probe']),
    late: gauge('probe_check_lateness_seconds', 'How late checks begin', ['probe']),
  };
  const streamBytes = gauge('stream_bytes', 'Bytes of a stream', ['stream']);
  const streamMessages = gauge('stream_messages', 'Messages of a stream', ['stream']);
  const stored = Object.fromEntries(
    Object.entries(storedGauges).map(([key, { name, help, label }]) => [
      key,
      new Gauge({ name, help, labelNames: label === undefined ? [] : [label], registers }),
    ]),
  );

  return (seen) => {
    ready.set(Number(seen.isReady));
    database.set(Number(seen.database));
    bus.set(Number(seen.bus));
    streams.set(Number(seen.streams));
    partitions.set(seen.partitions);
    for (const one of [probes, streamBytes, streamMessages, ...Object.values(ofProbe), ...Object.values(stored)]) one.reset();
    for (const { name: probe, continent, state, said } of seen.probes) {
      probes.inc({ continent, state });
      if (said === undefined) continue;
      ofProbe.waiting.set({ probe }, said.waiting);
      ofProbe.bytes.set({ probe }, said.bytes);
      ofProbe.dropped.set({ probe }, said.dropped);
      ofProbe.inFlight.set({ probe }, said.inFlight);
      ofProbe.late.set({ probe }, said.lateMs / 1_000);
      if (said.clockOffsetMs !== undefined) ofProbe.offset.set({ probe }, said.clockOffsetMs / 1_000);
    }
    for (const { stream, bytes, messages } of seen.streamStates) {
      streamBytes.set({ stream }, bytes);
      streamMessages.set({ stream }, messages);
    }
    for (const { name, label, value } of seen.stored ?? []) {
      const one = isStored(name) ? { gauge: stored[name], label: storedGauges[name].label } : undefined;
      if (one?.label === undefined) one?.gauge?.set(value);
      else one.gauge?.set({ [one.label]: label }, value);
    }
  };
};
