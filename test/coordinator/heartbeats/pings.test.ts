import { beforeAll, describe, expect, test } from 'vitest';
import { decide } from '../../../coordinator/core/decide.ts';
import { checkpointOf, createState, restore } from '../../../coordinator/core/lifecycle.ts';
import type { Incident, MonitorState, SeenPing, Watched } from '../../../coordinator/core/types.ts';
import {
  isLate,
  isMadeUpFor,
  type RelayedPing,
  seenOf,
} from '../../../coordinator/heartbeats/ping-relay.ts';
import { keptPings, type PingRow, writePings } from '../../../coordinator/heartbeats/queries.ts';
import { getPingAddress, rotatePingAddress } from '../../../coordinator/monitors/contract.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { getMonitorPings } from '../../../shared/api/results.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { pingFingerprint, tokenOverlapMs } from '../../../shared/checks/heartbeat/config.ts';
import { foldPing, noPings } from '../../../shared/checks/heartbeat/state.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/**
 * Rule 20: whatever order pings are handed over in, and whatever befalls the partition meanwhile,
 * the incidents are those of the order of time.
 */
describe('order of pings', () => {
  const watched: Watched = {
    id: 'job',
    organisation: 'one',
    kind: 'heartbeat',
    interval_ms: 4_000,
    timeout_ms: 10_000,
    continents: null,
    probe: null,
    config_version: 1,
    alert_after_ms: 0,
    sampled: false,
    created_at: 0,
    paused_at: null,
  };
  const monitor = {
    id: 'job',
    organisation_id: 'one',
    partition: 0,
    interval_s: 4,
    config: { grace_s: 4 },
  };
  const pingAt = (at: number, kind: 'success' | 'fail'): PingRow => ({
    id: `${kind} ${at}`,
    monitor: 'job',
    kind,
    exit_code: null,
    at,
    rid: null,
    run_ms: null,
    method: 'GET',
    body: '',
    ear: 'ear',
  });
  const before = pingAt(15_000, 'success');
  const pings = [
    pingAt(17_000, 'fail'),
    pingAt(19_000, 'success'),
    pingAt(21_000, 'fail'),
    pingAt(23_000, 'success'),
    pingAt(25_000, 'success'),
  ];
  const right = ['17000 to 19000', '21000 to 23000'];

  /**
   * What befalls a batch: it is written down and not decided, so that it comes again; the partition
   * starts again from the database; or both.
   */
  const mishaps = ['none', 'not decided', 'started again', 'decided and not acknowledged'] as const;
  type Mishap = (typeof mishaps)[number];

  function* batchings(some: readonly PingRow[]): Generator<readonly (readonly PingRow[])[]> {
    if (some.length === 0) yield [];
    for (let choice = 1; choice < 2 ** some.length; choice += 1) {
      const isIn = (_: PingRow, nth: number) => Math.floor(choice / 2 ** nth) % 2 === 1;
      for (const rest of batchings(some.filter((ping, nth) => !isIn(ping, nth))))
        yield [some.filter(isIn), ...rest];
    }
  }

  const live = (
    batches: readonly (readonly PingRow[])[],
    mishapOf: (nth: number) => Mishap,
  ): string[] => {
    let state: MonitorState = createState(watched);
    let folded = noPings;
    const written = new Map<string, PingRow>();
    const incidents = new Map<string, Incident>();
    let ids = 0;
    const newId = () => {
      ids += 1;
      return `id ${ids}`;
    };
    const tell = (ping: SeenPing): void => {
      const decision = decide(
        state,
        { is: 'ping', ping },
        { now: 30_000, network: { epoch: 1, probes: [] }, newId },
      );
      state = decision.state;
      for (const effect of decision.effects)
        if (effect.is === 'incident') incidents.set(effect.incident.id, effect.incident);
    };
    const relay = (batch: readonly PingRow[], isDecided: boolean): void => {
      const told = batch.map((row): RelayedPing => {
        const known = folded;
        folded = foldPing(folded, row).state;
        written.set(row.id, row);
        return { row, monitor, isMadeUpFor: isMadeUpFor(row, folded), isLate: isLate(row, known) };
      });
      const seen = told.flatMap((one) => seenOf(one, [...written.values()], null));
      if (isDecided) for (const ping of seen) tell(ping);
    };
    relay([before], true);
    // It is written behind.
    const checkpoint = checkpointOf(state);
    const startAgain = (): void => {
      const all = [...incidents.values()];
      const closed = all
        .filter(({ resolved_at }) => resolved_at !== null)
        .toSorted((a, b) => (b.resolved_at ?? 0) - (a.resolved_at ?? 0));
      const incident = all.find(({ resolved_at }) => resolved_at === null) ?? null;
      state = restore({
        watched,
        checkpoint,
        results: [],
        resumed_at: null,
        incident,
        closed,
        gaps: [],
      });
    };
    const again: (readonly PingRow[])[] = [];
    for (const [nth, batch] of batches.entries()) {
      const mishap = mishapOf(nth);
      relay(batch, mishap !== 'not decided');
      if (mishap === 'started again' || mishap === 'decided and not acknowledged') startAgain();
      if (mishap === 'not decided' || mishap === 'decided and not acknowledged') again.push(batch);
    }
    for (const batch of again) relay(batch, true);
    const ended = [...incidents.values()]
      .filter(({ note }) => note === null)
      .toSorted((a, b) => a.started_at - b.started_at);
    return ended.map(({ started_at, resolved_at }) => `${started_at} to ${resolved_at}`);
  };

  test.each(mishaps)(
    'rule 20: two failures and their ends are two incidents in any order of arrival, of which occurs: %s',
    (mishap) => {
      const wrong: string[] = [];
      let count = 0;
      // Without the last one there are enough orders.
      for (const batches of batchings(mishap === 'none' ? pings : pings.slice(0, -1)))
        for (const struck of mishap === 'none' ? [0] : batches.keys()) {
          count += 1;
          const found = live(batches, (nth) => (nth === struck ? mishap : 'none'));
          if (found.join() !== right.join())
            wrong.push(
              `${batches.map((batch) => batch.map(({ id }) => id).join(' + ')).join(', ')}; ${mishap} ${struck}: ${found.join(', ')}`,
            );
        }
      expect(count).toBeGreaterThan(200);
      expect(wrong).toEqual([]);
    },
  );
});

describe('ping address', () => {
  const bench = gateBench();
  let house: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql, { name: 'Shop' });
    await bench.addProbe('Europe');
  });

  const keyIn = (address: string): string =>
    pingFingerprint(address.slice(address.lastIndexOf('/') + 1));

  describe('rotateBeatAddress', () => {
    test('gives a new address at once, and lets the old one count for a day', async () => {
      const { id } = await bench.call(createMonitor, house.owner, {
        type: 'heartbeat',
        name: 'Backup',
        interval_s: 300,
      });
      const before = await bench.call(getPingAddress, house.viewer, { monitor_id: id });
      const rotated = await bench.call(rotatePingAddress, house.member, { monitor_id: id });
      expect(rotated.address).not.toBe(before.address);
      expect(await bench.call(getPingAddress, house.viewer, { monitor_id: id })).toEqual({
        id,
        address: rotated.address,
      });
      const keys = await bench.sql<{ key: string; until: number | null }[]>`
      select encode(fingerprint, 'hex') as key, until from beat_tokens where monitor_id = ${id} order by until nulls last`;
      expect(keys).toEqual([
        { key: keyIn(before.address), until: Date.parse(rotated.old_until) },
        { key: keyIn(rotated.address), until: null },
      ]);
      expect(Math.abs(Date.parse(rotated.old_until) - Date.now() - tokenOverlapMs)).toBeLessThan(
        60_000,
      );
      const lines = await bench.sql<{ key: string }[]>`
        select payload ->> 'key' as key from outbox where topic = 'ping_key'
          and payload ->> 'key' in (${keyIn(before.address)}, ${keyIn(rotated.address)}) order by id`;
      expect(lines.map(({ key }) => key)).toEqual([
        keyIn(before.address),
        keyIn(before.address),
        keyIn(rotated.address),
      ]);
    });

    test('ends the old address at once when asked to, and those that still had a grace period with it', async () => {
      const { id } = await bench.call(createMonitor, house.owner, {
        type: 'heartbeat',
        name: 'Backup',
        interval_s: 300,
      });
      const first = await bench.call(getPingAddress, house.owner, { monitor_id: id });
      const second = await bench.call(rotatePingAddress, house.owner, { monitor_id: id });
      const third = await bench.call(rotatePingAddress, house.owner, {
        monitor_id: id,
        overlap_s: 0,
      });
      expect(third.old_until).toBe(new Date(bench.now).toISOString());
      const keys = await bench.sql<{ key: string; until: number | null }[]>`
      select encode(fingerprint, 'hex') as key, until from beat_tokens where monitor_id = ${id}`;
      expect(new Map(keys.map(({ key, until }) => [key, until]))).toEqual(
        new Map([
          [keyIn(first.address), bench.now],
          [keyIn(second.address), bench.now],
          [keyIn(third.address), null],
        ]),
      );
      // The ping receivers hear of both.
      const told = await bench.sql<{ key: string }[]>`
        select payload ->> 'key' as key from outbox where topic = 'ping_key' order by id desc limit 3`;
      expect(new Set(told.map(({ key }) => key))).toEqual(
        new Set([keyIn(first.address), keyIn(second.address), keyIn(third.address)]),
      );
      // A longer overlap later does not bring them back.
      bench.now += 60_000;
      await bench.call(rotatePingAddress, house.owner, { monitor_id: id, overlap_s: 3_600 });
      const [still] =
        await bench.sql`select until from beat_tokens where fingerprint = decode(${keyIn(second.address)}, 'hex')`;
      expect(still).toEqual({ until: Date.parse(third.old_until) });
      for (const overlap_s of [-1, 86_401, 0.5, 'soon'])
        expect(
          await bench.refusal(rotatePingAddress, house.owner, { monitor_id: id, overlap_s }),
        ).toBe('faults');
    });

    test('requires a heartbeat', async () => {
      const { id } = await bench.call(createMonitor, house.owner, {
        type: 'https',
        target: 'https://example.com',
      });
      expect(await bench.refusal(rotatePingAddress, house.owner, { monitor_id: id })).toBe(
        'not_a_heartbeat',
      );
    });
  });

  describe('getMonitorPings', () => {
    test('shows the last pings, newest first, with body and run time', async () => {
      const { id } = await bench.call(createMonitor, house.owner, {
        type: 'heartbeat',
        name: 'Backup',
        interval_s: 300,
      });
      expect(await bench.call(getMonitorPings, house.viewer, { monitor_id: id })).toEqual({
        items: [],
        next_cursor: null,
      });
      const pings = Array.from({ length: keptPings + 5 }, (_, index) => ({
        id: newId(),
        monitor: id,
        kind: index % 2 === 0 ? ('start' as const) : ('success' as const),
        exit_code: null,
        at: 1_800_000_000_000 + index * 1_000,
        rid: null,
        run_ms: index % 2 === 0 ? null : 1_000,
        method: 'POST',
        body: `line ${index}`,
        ear: 'eu-1',
      }));
      await bench.sql.begin((tx) => writePings(tx, pings));
      await bench.sql.begin((tx) => writePings(tx, pings.slice(-3)));
      const { items } = await bench.call(getMonitorPings, house.viewer, {
        monitor_id: id,
        limit: 200,
      });
      expect(items).toHaveLength(keptPings);
      const walked: OutputOf<typeof getMonitorPings>['items'][number][] = [];
      for (
        let cursor: string | null = null, pages = 0;
        pages === 0 || cursor !== null;
        pages += 1
      ) {
        const page: OutputOf<typeof getMonitorPings> = await bench.call(
          getMonitorPings,
          house.viewer,
          { monitor_id: id, limit: 30, cursor },
        );
        walked.push(...page.items);
        cursor = page.next_cursor;
      }
      expect(walked).toEqual(items);
      expect(items[0]).toMatchObject({
        body: `line ${keptPings + 4}`,
        kind: 'start',
        received_by: 'eu-1',
      });
      expect(items[1]).toMatchObject({ kind: 'success' as const, run_ms: 1_000 });
    });
  });
});
