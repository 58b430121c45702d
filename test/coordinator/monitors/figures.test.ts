import { beforeAll, expect, test } from 'vitest';
import { figuresText } from '../../../coordinator/api/document-words.ts';
import { listMonitorFigures } from '../../../coordinator/monitors/contract.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { operations } from '../../../shared/api/index.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Outcome } from '../../../shared/checks/result.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let other: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { plan: 'free' });
  other = await createTestOrganisation(bench.sql);
});

const add = async (name: string, who = house): Promise<string> =>
  (
    await bench.call(operations.createMonitor, who.owner, {
      type: 'heartbeat',
      name,
      interval_s: 300,
    })
  ).id;

const outage = (monitor: string, isConfirmed: boolean) => bench.sql`
  insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_continent)
  select ${newId()}, organisation_id, id, now(), case when ${isConfirmed} then now() end, 'Europe' from monitors where id = ${monitor}`;

test('the monitors of an organisation: down only once confirmed, unknown without checks', async () => {
  const [down, verifying, paused] = [
    await add('Down'),
    await add('Verifying'),
    await add('Paused'),
  ];
  await add('of others', other);
  await outage(down, true);
  await outage(verifying, false);
  await bench.call(operations.updateMonitor, house.owner, { monitor_id: paused, enabled: false });
  const { items, left_out } = await bench.call(listMonitorFigures, house.viewer);
  expect(items.map(({ name, status, is_up }) => [name, status, is_up])).toEqual([
    ['Down', 'down', false],
    ['Verifying', 'verifying', true],
    ['Paused', 'paused', null],
  ]);
  expect(left_out).toBe(0);
});

test('have the response time of the newest check, if that passed and is not of long ago', async () => {
  const at = Date.parse('2026-11-20T12:10:00Z');
  bench.now = at;
  await makeResultDays(bench.sql, at - 4 * 86_400_000, at);
  const mine = await createTestOrganisation(bench.sql);
  const [probe] = await bench.sql<{ key: number }[]>`
    insert into probes (id, name, continent, region)
    values (${newId()}, 'prague', 'Europe', 'Czechia') returning key`;
  const checked = async (
    name: string,
    ...results: readonly (readonly [minutes: number, took_ms: number, outcome: Outcome])[]
  ) => {
    const target = `https://${name.toLowerCase()}.example/`;
    const { id } = await bench.call(operations.createMonitor, mine.owner, {
      type: 'https',
      name,
      target,
    });
    const checks = results.map(([minutes, took_ms, outcome]) => ({
      probe: probe?.key ?? 0,
      at: at - minutes * 60_000,
      took_ms,
      outcome,
    }));
    await storeChecks(bench.sql, id, checks);
    await bench.sql`update monitor_status set response_ms = 999 where monitor_id = ${id}`;
  };
  await checked('Passed', [90, 300, 'ok'], [2, 200, 'ok'], [1, 120, 'ok'], [0.5, 7, 'unknown']);
  await checked('Failed', [2, 200, 'ok'], [1, 5_000, 'fail']);
  await checked('New');
  await checked('Old', [3 * 1_440, 300, 'ok']);
  const { items } = await bench.call(listMonitorFigures, mine.viewer);
  expect(items.map(({ name, response_ms, place }) => [name, response_ms, place])).toEqual([
    ['Passed', 120, 'Czechia'],
    ['Failed', null, null],
    ['New', null, null],
    ['Old', null, null],
  ]);
});

test('are limited by the plan of the organisation, and the number left out is exported', async () => {
  const crowded = await createTestOrganisation(bench.sql);
  for (let count = 0; count < 22; count += 1) await add(`Monitor ${count}`, crowded);
  await bench.sql`update organisations set plan = 'free' where id = ${crowded.organisation}`;
  const { owner } = crowded;
  const caller = {
    ...owner.caller,
    organisation: { ...owner.caller.organisation, plan: 'free' as const },
  };
  const { items, left_out } = await bench.call(listMonitorFigures, caller);
  expect([items.length, left_out]).toEqual([20, 2]);
});

test('are rows that Prometheus reads, whatever a monitor is called, and absent where unknown', () => {
  const item = {
    id: 'a',
    name: 'quote " slash \\ line\nend',
    type: 'https',
    status: 'up',
    is_up: true,
    response_ms: 120,
    place: 'Europe',
    warnings: ['slow'],
  };
  const text = figuresText({
    items: [
      item,
      {
        ...item,
        id: 'b',
        name: 'new',
        status: 'pending',
        is_up: null,
        response_ms: null,
        place: null,
        warnings: [],
      },
    ],
    left_out: 3,
  });
  expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual([
    'antipode_monitor_up{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https"} 1',
    'antipode_monitor_status{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https",status="up"} 1',
    'antipode_monitor_status{monitor="b",name="new",type="https",status="pending"} 1',
    'antipode_monitor_response_seconds{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https"} 0.12',
    ...[0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, '+Inf'].map(
      (most, nth) =>
        `antipode_response_seconds_bucket{place="Europe",le="${most}"} ${nth < 2 ? 0 : 1}`,
    ),
    'antipode_response_seconds_sum{place="Europe"} 0.12',
    'antipode_response_seconds_count{place="Europe"} 1',
    'antipode_monitor_warning{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https",code="slow"} 1',
    'antipode_monitors_left_out 3',
    '',
  ]);
});
