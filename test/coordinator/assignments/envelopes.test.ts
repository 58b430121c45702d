import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bucketOfRow } from '../../../coordinator/assignments/envelopes.ts';
import {
  type Assignments,
  createAssignments,
  createTombstones,
} from '../../../coordinator/assignments/publishing.ts';
import type { MonitorRow } from '../../../coordinator/engine/queries.ts';
import type { ProbeRow } from '../../../coordinator/probes/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { bucketLength } from '../../../shared/bus/envelope.ts';
import { type Bus, connectBus } from '../../../shared/bus/nats.ts';
import { bucketSubject, isDelta, partitionOf, streams } from '../../../shared/bus/subjects.ts';
import { deriveNetworkKey, openBox } from '../../../shared/checks/sealed-secrets.ts';
import { publishedFor } from '../../support/monitors.ts';
import { createAccount } from '../../support/services.ts';

/** Assignments as they are on the bus, by the envelope. */

const organisation = newId();
const office = newId();
const now = 1_700_000_000_000;

const probeOf = (more: Partial<ProbeRow> = {}): ProbeRow => ({
  ...{ id: newId(), key: 1, organisation_id: null, place_id: null, name: 'p', region: null },
  ...{ continent: 'Europe', keys: [], allowed_cidrs: [], kinds: [], seal_key: null, ear: null },
  ...{ version: null, created_at: now, revoked_at: null, last_seen_at: null },
  ...{ quarantined_at: null, quarantine_reason: null, sick_at: null, doubted_at: null },
  ...{
    doubt_reason: null,
    place_trusted_as: null,
    clock_offset_ms: null,
    way: null,
    origin_as: null,
  },
  ...{ request_key: null, addresses: [] },
  ...more,
});

describe('assignments on the bus', () => {
  let bus: Bus;
  let assignments: Assignments;
  let database: Map<string, MonitorRow>;
  let prepared: string[];
  const keyOf = (place: string) => deriveNetworkKey('secret', place, 1);

  beforeEach(async () => {
    const { url, coordinatorCredentials: credentials } = await createAccount();
    bus = await connectBus({ url, credentials, name: 'test', log: pino({ level: 'silent' }) });
    await bus.ensureStream(streams.assignments);
    database = new Map();
    prepared = [];
    const probes = [
      probeOf(),
      probeOf({ continent: 'Asia' }),
      probeOf({ organisation_id: organisation, place_id: office }),
    ];
    assignments = createAssignments({
      bus,
      directory: { ...unused, all: () => probes },
      openSecrets: async ({ secrets }) => Buffer.from(secrets ?? []).toString(),
      keys: { keyOf, keysNow: async () => keyOf, epochOf: () => 1 },
      prepare: async (changes) => void prepared.push(...changes.map(({ monitor }) => monitor)),
      rowsOf: async ({ partition, bucket }) =>
        [...database.values()].filter(
          (row) => row.partition === partition && bucketOfRow(row).bucket === bucket,
        ),
    });
  });
  afterEach(() => bus.close());

  let made = 0;
  /** All of one partition, so that they share envelopes. */
  const addRow = (more: Partial<MonitorRow> = {}): MonitorRow => {
    made += 1;
    const id = `${newId().slice(0, -4)}0007`;
    const row: MonitorRow = {
      ...{ id, key: made, organisation_id: organisation, partition: partitionOf(id) },
      ...{ type: 'https', target: 'https://a.example/', interval_s: 60, config: {}, places: null },
      ...{ secrets: null, config_version: 1, created_at: now, paused_at: null },
      ...more,
    };
    database.set(row.id, row);
    return row;
  };
  const changeOf = (row: MonitorRow, isNew = false) => ({
    ...{ monitor: row.id, key: row.key, isNew },
    row: database.get(row.id) ?? null,
  });
  const edit = (row: MonitorRow, more: Partial<MonitorRow>): MonitorRow => {
    const next = { ...row, config_version: row.config_version + 1, ...more };
    database.set(row.id, next);
    return next;
  };
  const remove = (row: MonitorRow) => {
    database.delete(row.id);
    return changeOf(row);
  };
  const subjectsNow = async () => ({
    all: await bus.subjectsOf('ASSIGN', '>'),
    get deltas() {
      return this.all.filter((subject) => isDelta(bucketSubject(subject)?.item ?? ''));
    },
  });
  const versionIn = async (place: 'Asia' | 'Europe', { id }: MonitorRow) =>
    (await publishedFor(bus, place, id))?.config_version ?? null;

  test('are envelopes where many come at once, and a change is a delta beside its envelope', async () => {
    const rows = Array.from({ length: 40 }, () => addRow());
    const [first] = rows;
    if (!first) throw new Error('forty were made');
    await assignments.publish(rows.map((row) => changeOf(row, true)));
    expect((await subjectsNow()).all).toHaveLength(2);
    for (const row of rows) expect(await versionIn('Europe', row)).toBe(1);
    const edited = edit(first, {});
    await assignments.publish([changeOf(edited)]);
    expect((await subjectsNow()).deltas).toHaveLength(2);
    expect(await versionIn('Asia', edited)).toBe(2);
    expect(prepared).toHaveLength(41);
  });

  test('that are deleted, paused or moved are gone where they were, and nothing is said where they never were', async () => {
    const [kept, deleted, paused, moved] = [addRow(), addRow(), addRow(), addRow()];
    const asian = addRow({ config: { continents: ['Asia'] } });
    const all = [kept, deleted, paused, moved, asian];
    await assignments.publishBucket(bucketOfRow(kept), all);
    await assignments.publish([
      remove(deleted),
      changeOf(edit(paused, { paused_at: now })),
      changeOf(edit(moved, { config: { continents: ['Europe'] } })),
      changeOf(edit(asian, { config: { continents: ['Asia'] } })),
    ]);
    for (const row of [deleted, paused]) expect(await versionIn('Europe', row)).toBeNull();
    expect([await versionIn('Europe', moved), await versionIn('Asia', moved)]).toEqual([2, null]);
    expect((await subjectsNow()).deltas.filter((one) => one.includes(asian.id))).toHaveLength(1);
    expect(await versionIn('Europe', kept)).toBe(1);
  });

  test('that are deleted are found by their id alone, also after a kill', async () => {
    const rows = Array.from({ length: 20 }, () => addRow({ places: ['Europe', office] }));
    const [gone] = rows;
    if (!gone) throw new Error('twenty were made');
    await assignments.publish(rows.map((row) => changeOf(row, true)));
    await assignments.publish([{ ...remove(gone), key: undefined }]);
    expect(await versionIn('Europe', gone)).toBeNull();
    expect((await subjectsNow()).deltas).toHaveLength(2);
  });

  test('are folded into their envelope once there are too many, and not before', async () => {
    const rows = Array.from({ length: 20 }, () => addRow());
    await assignments.publish(rows.map((row) => changeOf(row, true)));
    const say = async (row: MonitorRow) => assignments.publish([changeOf(edit(row, {}))]);
    for (const row of rows.slice(0, 8)) await say(row);
    await assignments.foldDeltas(partitionOf(rows[0]?.id ?? ''));
    expect((await subjectsNow()).deltas).toHaveLength(16);
    const last = rows.at(-1);
    if (!last) throw new Error('twenty were made');
    await assignments.publish([remove(last)]);
    await assignments.foldDeltas(last.partition);
    expect((await subjectsNow()).all).toHaveLength(2);
    for (const row of rows.slice(0, 8)) expect(await versionIn('Asia', row)).toBe(2);
    expect(await versionIn('Asia', last)).toBeNull();
  });

  test('that are too long or too many for one message are parts, which go when they are needed no more', async () => {
    const long = Array.from({ length: 4 }, () =>
      addRow({ config: { body: randomBytes(200_000).toString('base64') } }),
    );
    const many = Array.from({ length: 300 }, () => addRow());
    const all = [...long, ...many];
    const changes = all.map((row) => changeOf(row, true));
    await assignments.publish(changes);
    const parts = (await subjectsNow()).all.filter((subject) => subject.startsWith('assign.asia'));
    expect(parts.length).toBeGreaterThanOrEqual(3);
    for (const row of [...long, ...many.slice(-2)]) expect(await versionIn('Asia', row)).toBe(1);
    await assignments.publish([...long, ...many.slice(100)].map((row) => remove(row)));
    expect((await subjectsNow()).all).toHaveLength(2);
    expect(await versionIn('Asia', many[0] ?? addRow())).toBe(1);
    expect(await versionIn('Asia', many[299] ?? addRow())).toBeNull();
  });

  test('seal secrets for each place', async () => {
    const rows = Array.from({ length: 20 }, () => addRow({ secrets: Buffer.from('"swordfish"') }));
    await assignments.publish(rows.map((row) => changeOf(row, true)));
    const [row] = rows;
    for (const place of ['Asia', 'Europe'] as const) {
      const key = keyOf(place);
      const said = await publishedFor(bus, place, row?.id ?? '');
      const opened = openBox(new Map([[key.id, key]]), said?.sealed ?? '', row?.id ?? '');
      expect(opened).toBe('"swordfish"');
    }
  });

  test('of buckets without monitors are emptied, and an empty bucket says nothing again', async () => {
    const row = addRow({ key: 3 * bucketLength });
    await assignments.publishBucket(bucketOfRow(row), [row]);
    database.clear();
    await assignments.emptyBuckets(row.partition, new Set());
    expect(await versionIn('Europe', row)).toBeNull();
    expect((await subjectsNow()).all).toHaveLength(2);
  });

  test('keep the deletion marker of a delta as long as their envelope names the monitor', async () => {
    const rows = Array.from({ length: 20 }, () => addRow());
    await assignments.publish(rows.map((row) => changeOf(row, true)));
    const [gone] = rows;
    if (!gone) throw new Error('twenty were made');
    await assignments.publish([remove(gone)]);
    const tombstones = createTombstones({
      bus,
      clock: { now: () => Date.now() + 1_000_000 },
      log: pino({ level: 'silent' }),
      keptMs: 1_000,
    });
    await tombstones.tick();
    expect(await versionIn('Europe', gone)).toBeNull();
  });
});

const unused = {
  byId: () => undefined,
  byKey: () => undefined,
  refresh: () => Promise.resolve(),
  find: () => Promise.resolve(undefined),
  onChange: () => undefined,
};
