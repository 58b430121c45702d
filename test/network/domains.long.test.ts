import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { eventually } from '../support/eventually.ts';
import {
  incidentsOf,
  incidentThat,
  isConfirmed,
  isResolved,
  seenFrom,
} from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** Domains are checked by probes, from what one coordinator asks of their registries. */

const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
const domain = 'shop-of-tests.com';
let network: Network;
let statuses: string[] = [];
const asked: string[] = [];

beforeAll(async () => {
  network = await createNetwork();
  const readRegistry = async (url: string) => {
    asked.push(url);
    const ends = new Date(Date.now() + 12.5 * 86_400_000).toISOString();
    const body = {
      objectClassName: 'domain',
      ldhName: domain,
      status: statuses,
      events: [{ eventAction: 'expiration', eventDate: ends }],
    };
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) };
  };
  await network.startCoordinator({ readRegistry });
  await network.startCoordinator({ readRegistry });
  await network.addProbes(...places);
});
afterAll(() => network.close());

/** As if the registry had been asked a day ago. */
const age = () => network.sql`
  update registrations set asked_at = asked_at - interval '1 day',
    answer = answer || jsonb_build_object('asked_at', (answer->>'asked_at')::bigint - 86400000)`;

test('a domain is asked about once for all its monitors and probes, and its end is a warning', async () => {
  const watched = () =>
    network.addMonitor({ type: 'domain', target: 'Shop-of-Tests.com', interval_s: 1 });
  const monitors = [await watched(), await watched()];
  for (const monitor of monitors) await seenFrom(network.sql, monitor, places.length);
  const server = 'https://rdap.verisign.com/com/v1/';
  expect(asked.filter((url) => url.startsWith(server))).toEqual([`${server}domain/${domain}`]);
  const warnings = await eventually(async () => {
    const rows = await network.sql`
      select code, details->>'stage' as stage from warnings where monitor_id = ${monitors[0] ?? ''}`;
    return rows.length > 0 && rows;
  });
  expect(warnings).toEqual([{ code: 'domain_expires', stage: '14' }]);
  expect(await incidentsOf(network.sql, monitors[0] ?? '')).toEqual([]);
});

test('one that is put on hold is an incident, confirmed from another continent, until it is released', async () => {
  const monitor = await network.addMonitor({ type: 'domain', target: domain, interval_s: 1 });
  await seenFrom(network.sql, monitor, places.length);
  statuses = ['client hold'];
  await age();
  const down = await incidentThat(network.sql, monitor, isConfirmed);
  expect(down.confirmed_continent).not.toBe(down.seen_continent);
  statuses = [];
  await age();
  await incidentThat(network.sql, monitor, isResolved);
});
