import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { enqueue } from '../../coordinator/database/outbox.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { fine, type Target } from '../support/targets.ts';

/** A monitor of a day that nobody could look at when it was made, because no probe was well. */

let network: Network;
let target: Target;

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
});
afterEach(() => network.close());

const makeDaily = async (): Promise<string> => {
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 86_400 });
  await eventually(async () => (await network.sql`select 1 from outbox where topic = 'monitor' and done_at is null`).length === 0);
  return monitor;
};

describe('a monitor of a day, made while no probe is well', () => {
  test('is looked at when the first one is, and not again when the next one comes', async () => {
    await network.startCoordinator();
    const monitor = await makeDaily();
    await network.addProbe('Europe');
    await seenFrom(network.sql, monitor, 1);
    const hits = target.hits.length;
    await network.addProbe('Asia');
    const other = await network.addMonitor({ target: target.url('/other'), interval_s: 1 });
    await seenFrom(network.sql, other, 2);
    expect(target.hits.filter(({ url }) => url !== '/other').length).toBe(hits);
  });

  test('is looked at when the first one is, though the coordinator that made it is gone', async () => {
    const first = await network.startCoordinator();
    const monitor = await makeDaily();
    await first.close();
    await network.startCoordinator();
    await network.addProbe('Europe');
    await seenFrom(network.sql, monitor, 1);
  });
});

test('a first look that was lost with its probe is asked for again, though the probe was back before anybody missed it', async () => {
  await network.startCoordinator();
  const { made, close } = await network.addProbe('Europe');
  target.answer({ is: 'hang' });
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 86_400, config: { timeout_ms: 3_000 } });
  await eventually(() => target.hits.length > 0);
  await close();
  target.answer(fine);
  await network.startProbe(made);
  await seenFrom(network.sql, monitor, 1);
});

test('a monitor that is to be checked less often is looked at once more, for what was seen last covers only the old interval', async () => {
  await network.startCoordinator();
  await network.addProbe('Europe');
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 3_600 });
  await seenFrom(network.sql, monitor, 1);
  const hits = target.hits.length;
  await network.sql.begin(async (transaction) => {
    const [row] = await transaction<{ partition: number }[]>`
      update monitors set interval_s = 86_400 where id = ${monitor} returning partition`;
    const payload = { monitor, change: 'edited', what_is_checked_changed: false } as const;
    await enqueue(transaction, { topic: 'monitor', payload, partition: row?.partition ?? 0, organisation: network.organisation });
  });
  await eventually(() => target.hits.length > hits);
});

test('a thousand monitors of a day, made at once, have each been seen within seconds, though one probe has to look at all of them', async () => {
  await network.startCoordinator();
  await network.addProbe('Europe');
  const made = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => network.addMonitor({ target: target.url(`/${index}`), interval_s: 86_400 })),
  );
  await eventually(async () => {
    const [row] = await network.sql<{ seen: number }[]>`select count(distinct monitor_key)::int as seen from results`;
    return row?.seen === made.length;
  }, 60_000);
  // Each once, but for the few whose turn of the day falls into these seconds: a look that waits is no second one.
  expect(target.hits.length).toBeLessThan(made.length * 1.05);
});
