import { beforeAll, expect, test } from 'vitest';
import { figuresText } from '../../../coordinator/faces/rest/rest-figures.ts';
import { operations } from '../../../shared/api/api-index.ts';
import { listMonitorFigures } from '../../../shared/api/inner/inner-figures.ts';
import { newId } from '../../../shared/base/ids.ts';
import { gateBench } from '../../support/support-gate.ts';
import { createHouse, type House } from '../../support/support-people.ts';

const bench = gateBench();
let house: House;
let other: House;

beforeAll(async () => {
  house = await createHouse(bench.sql, { plan: 'free' });
  other = await createHouse(bench.sql);
});

const add = async (name: string, who = house): Promise<string> =>
  (await bench.call(operations.createMonitor, who.owner, { type: 'heartbeat', name, interval_s: 300 })).id;

const outage = (monitor: string, isConfirmed: boolean) => bench.sql`
  insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_continent)
  select ${newId()}, organisation_id, id, now(), case when ${isConfirmed} then now() end, 'Europe' from monitors where id = ${monitor}`;

test('the monitors of an organisation: down only once it is confirmed, unknown where nobody looks', async () => {
  const [down, verifying, paused] = [await add('Down'), await add('Verifying'), await add('Paused')];
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

test('are no more than the plan lets the organisation have, and it is said how many are left out', async () => {
  const crowded = await createHouse(bench.sql);
  for (let count = 0; count < 22; count += 1) await add(`Monitor ${count}`, crowded);
  await bench.sql`update organisations set plan = 'free' where id = ${crowded.organisation}`;
  const { owner } = crowded;
  const caller = { ...owner.caller, organisation: { ...owner.caller.organisation, plan: 'free' as const } };
  const { items, left_out } = await bench.call(listMonitorFigures, caller);
  expect([items.length, left_out]).toEqual([20, 2]);
});

test('are rows that Prometheus reads, whatever a monitor is called, and none for what is not known', () => {
  const item = { id: 'a', name: 'quote " slash \\ line\nend', type: 'https', status: 'up', is_up: true, response_ms: 120 };
  const text = figuresText({
    items: [item, { ...item, id: 'b', name: 'new', status: 'pending', is_up: null, response_ms: null }],
    left_out: 3,
  });
  expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual([
    'antipode_monitor_up{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https"} 1',
    'antipode_monitor_status{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https",status="up"} 1',
    'antipode_monitor_status{monitor="b",name="new",type="https",status="pending"} 1',
    'antipode_monitor_response_seconds{monitor="a",name="quote \\" slash \\\\ line\\nend",type="https"} 0.12',
    'antipode_monitors_left_out 3',
    '',
  ]);
});
