import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { alertsOf, incidentThat, isConfirmed, isResolved, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** What comes due while the coordinator is away (rules 4 and 25). */

let network: Network;
let target: Target;

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
});
afterEach(async () => {
  await network.close();
});

const hits = async (count: number): Promise<void> => {
  const from = target.hits.length;
  await eventually(() => target.hits.length >= from + count, 30_000);
};

const outageWhileAway = async (then: typeof fine): Promise<string> => {
  const first = await network.startCoordinator();
  await network.addProbe('Europe');
  await network.addProbe('Asia');
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, config: { alert_after_s: 3_600 } });
  await seenFrom(network.sql, monitor, 2);
  target.answer(broken);
  await incidentThat(network.sql, monitor, isConfirmed);
  expect(await alertsOf(network.sql, monitor)).toEqual([{ event: 'down', state: 'held' }]);
  await first.close();
  target.answer(then);
  await network.sql`update alerts set due_at = now() where monitor_id = ${monitor}`;
  // So long that what is told of then is the past.
  await hits(10);
  await network.startCoordinator();
  return monitor;
};

test('a "down" that came due meanwhile is dropped when the outage ended meanwhile: the past is decided first', async () => {
  const monitor = await outageWhileAway(fine);
  await incidentThat(network.sql, monitor, isResolved, 40_000);
  expect(await alertsOf(network.sql, monitor)).toEqual([{ event: 'down', state: 'dropped' }]);
});

test('a "down" that came due meanwhile goes out when the outage lasts', async () => {
  const monitor = await outageWhileAway(broken);
  await eventually(async () => (await alertsOf(network.sql, monitor))[0]?.state === 'due', 40_000);
});
