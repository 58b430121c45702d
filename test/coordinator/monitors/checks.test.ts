import { beforeAll, describe, expect, test } from 'vitest';
import { getMonitorCheck } from '../../../coordinator/monitors/contract.ts';
import { hourMs } from '../../../coordinator/results/chunk.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { getMonitorChecks } from '../../../shared/api/results.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

type Item = OutputOf<typeof getMonitorChecks>['items'][number];

describe('the checks of a monitor', () => {
  const bench = gateBench();
  const now = Date.UTC(2026, 10, 20, 12);
  const day = 24 * hourMs;
  let house: TestOrganisation;
  let id: string;
  let office: string;

  const keyOf = async (table: 'monitors' | 'probes', of: string): Promise<number> =>
    (
      await bench.sql<{ key: number }[]>`
      select key from ${bench.sql(table)} where id = ${of}`
    )[0]?.key ?? 0;

  beforeAll(async () => {
    bench.now = now;
    house = await createTestOrganisation(bench.sql);
    const [europe, asia] = [await bench.addProbe('Europe'), await bench.addProbe('Asia')];
    office = await bench.addProbe('Europe', { house });
    await bench.sql`update probes set region = 'Frankfurt' where id = ${europe}`;
    await makeResultDays(bench.sql, now - 8 * day, now + day);
    ({ id } = await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://example.com',
    }));
    const probes = await Promise.all([europe, asia, office].map((of) => keyOf('probes', of)));
    // Each hour of three days has three checks, one for each probe; a failure each day.
    for (let hour = now - 3 * day; hour < now; hour += hourMs) {
      const checks = probes.map((probe, nth) => {
        const isFailure = nth === 1 && hour % day === 0;
        return {
          probe,
          at: hour + Math.max(0, nth - 1) * 60_000,
          took_ms: 100 + nth,
          outcome: isFailure ? ('fail' as const) : ('ok' as const),
          cause: isFailure ? 'http_status' : null,
          phases: isFailure ? null : { dns: 1, tcp: 2, tls: 3, first_byte: 4.5, total: 100 + nth },
        };
      });
      await storeChecks(bench.sql, id, checks);
    }
  });

  const list = (input: Partial<InputOf<typeof getMonitorChecks>> | object = {}) =>
    bench.call(getMonitorChecks, house.viewer, { monitor_id: id, ...input });

  test('one alone has what it saw where an incident was decided by it, else what is known', async () => {
    const { items } = await list({ outcome: 'fail', limit: 1 });
    const [failed] = items;
    const at = Date.parse(failed?.at ?? '');
    const one = { monitor_id: id, at, probe: failed?.probe ?? '' };
    const get = () => bench.call(getMonitorCheck, house.viewer, one);
    expect(await get()).toEqual({ check: failed, cause: null, evidence: null, incident: null });

    const incident = newId();
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at)
      values (${incident}, ${house.organisation}, ${id}, ${new Date(at)})`;
    expect(await get()).toMatchObject({ evidence: null, incident });
    const cause = '{"class":"unexpected_status","params":{"status":503,"expected":"2xx"}}';
    await bench.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome,
        took_ms, cause, evidence)
      values (${incident}, 'seen', 'Asia', ${one.probe}, ${new Date(at)}, 1, 100,
        ${cause}::text::jsonb, '{"status":503}')`;
    expect(await get()).toEqual({
      check: failed,
      cause: 'Status 503, expected 2xx',
      evidence: { status: 503 },
      incident,
    });
    await bench.sql`delete from incidents where id = ${incident}`;

    for (const input of [{ at: one.at + 1 }, { probe: 'nowhere' }])
      expect(await bench.refusal(getMonitorCheck, house.viewer, { ...one, ...input })).toBe(
        'check_not_found',
      );
  });

  const walk = async (input: object): Promise<readonly Item[]> => {
    const all: Item[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: OutputOf<typeof getMonitorChecks> = await list({
        ...input,
        ...(cursor === null ? {} : { cursor }),
      });
      all.push(...page.items);
      cursor = page.next_cursor;
      if (cursor === null) return all;
    }
  };

  test('are listed newest first, with all that each says', async () => {
    const { items } = await list({ limit: 2 });
    const hour = new Date(now - hourMs).toISOString();
    expect(items).toEqual([
      {
        at: new Date(now - hourMs + 60_000).toISOString(),
        outcome: 'ok',
        took_ms: 102,
        place: office,
        place_name: expect.stringContaining('probe'),
        continent: 'Europe',
        probe: expect.stringContaining('probe'),
        cause: null,
        phases: { dns_ms: 1, tcp_ms: 2, tls_ms: 3, first_byte_ms: 4.5, total_ms: 102 },
      },
      expect.objectContaining({ at: hour, place: 'Asia', place_name: 'Asia', took_ms: 101 }),
    ]);
  });

  test('are each on one page of a walk, also two that began at once', async () => {
    const all = await walk({ limit: 50 });
    expect(all).toHaveLength(3 * 24 * 3);
    expect(await walk({ limit: 7 })).toEqual(all);
    expect(all.map(({ at }) => at)).toEqual(
      all
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
    expect(new Set(all.map(({ at, probe }) => `${at} ${probe}`)).size).toBe(all.length);
  });

  test('are filtered by place, outcome and window', async () => {
    const counts = await Promise.all(
      ['Europe', 'Europe/Frankfurt', 'Asia', office].map(
        async (place) => (await walk({ place, limit: 200 })).length,
      ),
    );
    expect(counts).toEqual([72, 72, 72, 72]);
    const failed = await list({ outcome: 'fail' });
    expect(failed.items).toHaveLength(3);
    expect(failed.next_cursor).toBeNull();
    expect(failed.items[0]).toMatchObject({ cause: 'http_status', place: 'Asia', phases: null });
    const [from, until] = [now - 5 * hourMs, now - 3 * hourMs].map((at) =>
      new Date(at).toISOString(),
    );
    const within = await walk({ from, until });
    expect(within).toHaveLength(6);
    expect(within.at(-1)?.at).toBe(from);
    expect((await list({ outcome: 'unknown' })).items).toEqual([]);
  });

  test('are found behind a long pause, however many there are in a span', async () => {
    const { id: fast } = await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://fast.example.com',
    });
    const start = now - 8 * day;
    const checks = Array.from({ length: 40 * 3_600 }, (_, second) => ({
      at: start + second * 1_000,
    }));
    const [probe] = await bench.sql<{ key: number }[]>`select key from probes limit 1`;
    await storeChecks(
      bench.sql,
      fast,
      checks.map((one) => ({ ...one, probe: probe?.key ?? 0 })),
    );
    const { items } = await list({ monitor_id: fast, limit: 2 });
    expect(items.map(({ at }) => Date.parse(at) - now + 8 * day)).toEqual([
      40 * hourMs - 1_000,
      40 * hourMs - 2_000,
    ]);
  });

  test('from places that there are not are not found', async () => {
    for (const place of ['Atlantis', newId(), 'Africa'])
      expect(await bench.refusal(getMonitorChecks, house.viewer, { monitor_id: id, place })).toBe(
        'place_not_found',
      );
    const { next_cursor: cursor } = await list({ limit: 1 });
    expect(
      await bench.refusal(getMonitorChecks, house.viewer, {
        monitor_id: id,
        cursor,
        place: 'Asia',
      }),
    ).toBe('faults');
  });
});
