import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMonitor } from '../../../../shared/api/monitors.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import { addStatusPageMonitor, createStatusPage } from '../../../../shared/api/status-pages.ts';
import { pause } from '../../../../shared/base/async.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { eventually } from '../../../support/eventually.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** A page that is never left alone. How many read it in a second, and how soon they see it, `npm run bench -- status` measures. */

const second = 1_000;
let web: TestWeb;
const clock = { at: Date.now(), now: () => clock.at };

beforeAll(async () => {
  web = await startWeb({ clock });
});
afterAll(() => web.close());

const make = async (operation: typeof createMonitor | typeof createStatusPage, input: object): Promise<string> => {
  const { body } = await web.gate.execute(operation, web.house.owner.caller, rawInput(operation, input));
  if (typeof body !== 'object' || body === null || !('id' in body)) throw new Error('nothing was made');
  return String(body.id);
};

/** Readers who ask again and again; what they were answered with, by how often. */
const readAll = (url: string, readers: number) => {
  const statuses = new Map<number, number>();
  let isOver = false;
  const reading = Array.from({ length: readers }, async () => {
    while (!isOver) {
      const { status, body } = await fetch(url);
      await body?.cancel();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await pause(5);
    }
  });
  return async (): Promise<ReadonlyMap<number, number>> => {
    isOver = true;
    await Promise.all(reading);
    return statuses;
  };
};

test('shows each of many changes when ten seconds have gone by, and answers nobody with a failure', async () => {
  const monitor = await make(createMonitor, { type: 'https', name: 'inner name', target: 'https://shop.example/' });
  const page = await make(createStatusPage, { name: 'Shop status', slug: 'shop' });
  const published = { page_id: page, monitor, display_name: 'Checkout' };
  await web.gate.execute(addStatusPageMonitor, web.house.owner.caller, rawInput(addStatusPageMonitor, published));
  const url = `${web.url}/status/shop`;
  const saysDown = async (): Promise<boolean> => (await (await fetch(url)).text()).includes('Checkout is down.');
  expect(await saysDown()).toBe(false);
  const stop = readAll(url, 6);
  for (let round = 0; round < 3; round += 1) {
    const incident = newId();
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${incident}, ${web.house.organisation}, ${monitor}, ${new Date(clock.at)}, ${new Date(clock.at)})`;
    clock.at += 10 * second;
    // Whoever reads first may be the one that has it read: not later by the page's clock than now.
    await eventually(saysDown);
    await web.sql`update incidents set resolved_at = ${new Date(clock.at)} where id = ${incident}`;
    clock.at += 10 * second;
    await eventually(async () => !(await saysDown()));
  }
  const statuses = await stop();
  expect([...statuses.keys()]).toEqual([200]);
});
