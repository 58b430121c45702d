import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { isPublic, parseAddress } from '../../shared/base/network.ts';
import { eventually } from '../support/eventually.ts';
import { alertsOf, downIsSent, incidentsOf, incidentThat, isConfirmed, isResolved, resultsOf } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** An installation where the host of one probe allows private ranges and those of two others do not (rules 1, 5 and 14). */

const isInside = (text: string): boolean => {
  const address = parseAddress(text);
  return address !== undefined && !isPublic(address);
};

/** Where this machine's own name leads, if that is inside its network as nearly everywhere. */
const home = await lookup(hostname(), 4)
  .then(({ address }) => (isInside(address) ? address : undefined))
  .catch(() => undefined);

let network: Network;
let target: Target;
const strangers: readonly Continent[] = ['Africa', 'Europe'];

beforeAll(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  await network.startCoordinator();
  await network.addProbe('Asia', 'Asia', { allow: ['127.0.0.0/8', ...(home === undefined ? [] : [home])].join() });
  for (const continent of strangers) await network.addProbe(continent, continent, { allow: '' });
});
afterAll(() => network.close());

test('a private address is checked by the probe that may, as often as was asked for, and its outage confirmed by it alone', async () => {
  // Ten seconds of failures make it sure, and two turns without one make an end of it: with turns of a second, a short standstill is that long.
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 3 });
  await eventually(async () => (await resultsOf(network.sql, monitor)).length >= 5, 60_000);
  target.answer(broken);
  expect(await incidentThat(network.sql, monitor, isConfirmed, 60_000)).toMatchObject({ confirmed_continent: null });
  await downIsSent(network.sql, monitor);
  target.answer(fine);
  await incidentThat(network.sql, monitor, isResolved, 60_000);
  const results = await resultsOf(network.sql, monitor);
  expect(new Set(results.map(({ continent }) => continent))).toEqual(new Set(['Asia']));
  expect((await alertsOf(network.sql, monitor)).map(({ event }) => event)).toEqual(['down', 'up']);
});

test('a private probe whose host allows it no longer says nothing about its target: nothing is confirmed by it alone, and the operator is shown', async () => {
  const made = await network.makeProbe('Asia', 'office', network.organisation);
  const before = await network.startProbe(made);
  const monitor = await network.addMonitor({ target: target.url('/office'), interval_s: 1, config: { probe: made.id } });
  const seen = async (outcome: number) => (await resultsOf(network.sql, monitor)).filter((each) => each.outcome === outcome).length;
  await eventually(async () => (await seen(0)) >= 2, 60_000);
  await before.close();
  const after = await network.startProbe(made, { allow: '' });
  await eventually(async () => (await seen(2)) >= 3, 60_000);
  await eventually(
    async () => (await network.sql`select 1 from notices where kind = 'nobody_can_check' and ended_at is null`).length > 0,
    60_000,
  );
  expect(await seen(1)).toBe(0);
  expect(await incidentsOf(network.sql, monitor)).toEqual([]);
  await after.close();
});

test.skipIf(!home)(
  'a name that leads to one is unknown to those who may not: no incident, and none to be confirmed',
  async () => {
    const open = await network.startTarget({ host: '0.0.0.0' });
    const monitor = await network.addMonitor({ target: `http://${hostname()}:${open.port}/`, interval_s: 1 });
    const from = async (continent: Continent) => (await resultsOf(network.sql, monitor)).filter((each) => each.continent === continent);
    for (const continent of strangers) await eventually(async () => (await from(continent)).length >= 3, 60_000);
    for (const continent of strangers) expect(new Set((await from(continent)).map(({ outcome }) => outcome))).toEqual(new Set([2]));
    await eventually(async () => (await from('Asia')).some(({ outcome }) => outcome === 0));
    expect(await incidentsOf(network.sql, monitor)).toEqual([]);
    await open.close();
  },
  240_000,
);
