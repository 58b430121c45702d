import { beforeAll, describe, expect, test } from 'vitest';
import { keptPings, writePings } from '../../../coordinator/heartbeats/queries.ts';
import { getPingAddress, listBeats, rotatePingAddress } from '../../../coordinator/monitors/contract.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { pingFingerprint, tokenOverlapMs } from '../../../shared/checks/heartbeat/config.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
  unknownSender = await createTestOrganisation(bench.sql);
  await bench.addProbe('Europe');
});

const keyIn = (address: string): string => pingFingerprint(address.slice(address.lastIndexOf('/') + 1));

describe('rotateBeatAddress', () => {
  test('gives a new address at once, and lets the old one count for a day', async () => {
    const { id } = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Backup', interval_s: 300 });
    const before = await bench.call(getPingAddress, house.viewer, { monitor_id: id });
    const rotated = await bench.call(rotatePingAddress, house.member, { monitor_id: id });
    expect(rotated.address).not.toBe(before.address);
    expect(await bench.call(getPingAddress, house.viewer, { monitor_id: id })).toEqual({ id, address: rotated.address });
    const keys = await bench.sql<{ key: string; until: Date | null }[]>`
      select encode(fingerprint, 'hex') as key, until from beat_tokens where monitor_id = ${id} order by until nulls last`;
    expect(keys).toEqual([
      { key: keyIn(before.address), until: new Date(rotated.old_until) },
      { key: keyIn(rotated.address), until: null },
    ]);
    expect(Math.abs(Date.parse(rotated.old_until) - Date.now() - tokenOverlapMs)).toBeLessThan(60_000);
    const lines = await bench.sql<{ payload: { key: string; until: number | null } }[]>`
      select payload from outbox where topic = 'beat_key' and payload ->> 'monitor' = ${id} order by id`;
    expect(lines.map(({ payload }) => payload.key)).toEqual([keyIn(before.address), keyIn(before.address), keyIn(rotated.address)]);
    expect(lines[1]?.payload.until).toBe(Date.parse(rotated.old_until));
  });

  test('ends the old address at once when it is told to, and those that were to go on for a while with it', async () => {
    const { id } = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Backup', interval_s: 300 });
    const first = await bench.call(getPingAddress, house.owner, { monitor_id: id });
    const second = await bench.call(rotatePingAddress, house.owner, { monitor_id: id });
    const third = await bench.call(rotatePingAddress, house.owner, { monitor_id: id, overlap_s: 0 });
    expect(third.old_until).toBe(new Date(bench.now).toISOString());
    const keys = await bench.sql<{ key: string; until: Date | null }[]>`
      select encode(fingerprint, 'hex') as key, until from beat_tokens where monitor_id = ${id}`;
    expect(new Map(keys.map(({ key, until }) => [key, until?.toISOString() ?? null]))).toEqual(
      new Map([
        [keyIn(first.address), third.old_until],
        [keyIn(second.address), third.old_until],
        [keyIn(third.address), null],
      ]),
    );
    // The ping receivers hear of both.
    const told = await bench.sql<{ payload: { key: string; until: number | null } }[]>`
      select payload from outbox where topic = 'beat_key' and payload ->> 'monitor' = ${id} and payload ->> 'until' = ${String(bench.now)}`;
    expect(new Set(told.map(({ payload }) => payload.key))).toEqual(new Set([keyIn(first.address), keyIn(second.address)]));
    // A longer overlap later does not bring them back.
    bench.now += 60_000;
    await bench.call(rotatePingAddress, house.owner, { monitor_id: id, overlap_s: 3_600 });
    const [still] = await bench.sql`select until from beat_tokens where fingerprint = decode(${keyIn(second.address)}, 'hex')`;
    expect(still).toEqual({ until: new Date(third.old_until) });
    for (const overlap_s of [-1, 86_401, 0.5, 'soon'])
      expect(await bench.refusal(rotatePingAddress, house.owner, { monitor_id: id, overlap_s })).toBe('faults');
  });

  test('is for those who may write, for heartbeats, and in their own organisation', async () => {
    const { id } = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Backup', interval_s: 300 });
    const other = await bench.call(createMonitor, house.owner, { type: 'https', target: 'https://example.com' });
    expect(await bench.refusal(rotatePingAddress, house.viewer, { monitor_id: id })).toBe('role_insufficient');
    expect(await bench.refusal(rotatePingAddress, unknownSender.owner, { monitor_id: id })).toBe('monitor_not_found');
    expect(await bench.refusal(rotatePingAddress, house.owner, { monitor_id: other.id })).toBe('not_a_heartbeat');
  });
});

describe('listBeats', () => {
  test('shows the last pings, newest first, with body and run time, to members of the organisation alone', async () => {
    const { id } = await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Backup', interval_s: 300 });
    expect(await bench.call(listBeats, house.viewer, { monitor_id: id })).toEqual({ items: [] });
    const pings = Array.from({ length: keptPings + 5 }, (_, index) => ({
      ...{
        id: newId(),
        monitor: id,
        kind: index % 2 === 0 ? ('start' as const) : ('success' as const),
        exit_code: null,
        at: 1_800_000_000_000 + index * 1_000,
      },
      ...{ rid: null, run_ms: index % 2 === 0 ? null : 1_000, method: 'POST', body: `line ${index}`, ear: 'eu-1' },
    }));
    await bench.sql.begin((tx) => writePings(tx, pings));
    await bench.sql.begin((tx) => writePings(tx, pings.slice(-3)));
    const { items } = await bench.call(listBeats, house.viewer, { monitor_id: id });
    expect(items).toHaveLength(keptPings);
    expect(items[0]).toMatchObject({ body: `line ${keptPings + 4}`, kind: 'start', taken_by: 'eu-1' });
    expect(items[1]).toMatchObject({ kind: 'success' as const, run_ms: 1_000 });
    expect(await bench.refusal(listBeats, unknownSender.owner, { monitor_id: id })).toBe('monitor_not_found');
  });
});
