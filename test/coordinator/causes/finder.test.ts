import { beforeAll, describe, expect, test } from 'vitest';
import { createCauseFinder } from '../../../coordinator/causes/finder.ts';
import { writeServed } from '../../../coordinator/causes/writes.ts';
import { executeAll } from '../../../coordinator/database/connect.ts';
import { getCause, listCauses } from '../../../shared/api/causes.ts';
import { listEvents } from '../../../shared/api/events.ts';
import { getIncident, listIncidents } from '../../../shared/api/incidents.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** Over incidents and evidence as the engine writes them. */
describe('what incidents have in common', () => {
  const bench = gateBench();
  const now = Date.now();
  const minute = 60_000;
  let house: TestOrganisation;
  let finder: ReturnType<typeof createCauseFinder>;

  beforeAll(async () => {
    await bench.addProbe('Europe');
    house = await createTestOrganisation(bench.sql);
    const clock = { now: () => now };
    finder = createCauseFinder({
      ...{ sql: bench.sql, clock, isLeader: () => true, ask: () => undefined },
      onReviewed: async () => undefined,
    });
  });

  const monitor = async (address: string): Promise<string> => {
    const { id } = await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: `https://${newId()}.example/`,
    });
    await bench.sql.begin((transaction) =>
      executeAll(
        writeServed(transaction, [
          { monitor: id, at: now, addresses: [`${address}:443`], server: 'nginx', redirect: null },
        ]),
      ),
    );
    return id;
  };

  const passing = async (address: string): Promise<void> => {
    const id = await monitor(address);
    await bench.sql`update monitor_status set status = 'up' where monitor_id = ${id}`;
  };

  const failing = async (
    address: string,
    cause = 'connection_refused',
    { params = {}, places }: { params?: Record<string, unknown>; places?: string[] } = {},
  ): Promise<string> => {
    const [incident, id] = [newId(), await monitor(address)];
    if (places) await bench.sql`update monitors set places = ${places} where id = ${id}`;
    const evidence = { attempts: [{ address, code: 'ECONNREFUSED', ms: 1 }] };
    await bench.sql`
      insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, cause,
        seen_probe, seen_continent, confirmed_probe, confirmed_continent)
      values (${incident}, ${house.organisation}, ${id}, ${new Date(now - 5 * minute)},
        ${new Date(now - 5 * minute)}, ${JSON.stringify({ class: cause, params })}::text::jsonb,
        'Oslo', 'Europe', 'Tokyo', 'Asia')`;
    for (const [part, continent] of [
      ['seen', 'Europe'],
      ['confirmed', 'Asia'],
    ] as const)
      await bench.sql`
        insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms,
          evidence)
        values (${incident}, ${part}, ${continent}, 'p', ${new Date(now)}, 1, 1,
          ${JSON.stringify({ url: 'https://a.example/', ...evidence })}::text::jsonb)`;
    return incident;
  };

  test('rules 48 to 50: is found, said in words, and ends with its last member', async () => {
    for (let nth = 0; nth < 20; nth += 1) await passing(`198.51.100.${nth}`);
    const incidents = [];
    for (let nth = 0; nth < 4; nth += 1) incidents.push(await failing('203.0.113.7'));
    const [first = '', ...others] = incidents;
    const alone = await failing('198.51.100.99');
    // As after the end of a coordinator that alone knew what the second place saw.
    await bench.sql`update incident_evidence set evidence = null
      where incident_id = ${first} and part = 'confirmed'`;
    await finder.tick();
    const { items } = await bench.call(listCauses, house.viewer, {});
    expect(items).toMatchObject([
      {
        kind: 'address',
        value: '203.0.113.7:443',
        name: 'Address 203.0.113.7:443',
        explanation: 'All 4 monitors at address 203.0.113.7:443 fail, and 1 of the 21 others.',
        ended_at: null,
        incidents: 4,
        open_incidents: 4,
      },
    ]);
    const cause_id = items[0]?.id ?? '';
    const idOf = async (incident: string) =>
      (await bench.call(getIncident, house.viewer, { incident_id: incident })).cause_id;
    expect(await idOf(first)).toBe(cause_id);
    expect(await idOf(alone)).toBeNull();
    const of = await bench.call(listIncidents, house.viewer, { cause: cause_id });
    expect(of.items.map(({ id }) => id).toSorted()).toEqual(incidents.toSorted());

    // One has become another outage, one is over, and one joins.
    await bench.sql`update incidents set cause = '{"class":"name_not_found","params":{}}'
      where id = ${first}`;
    await bench.sql`update incidents set resolved_at = now() where id = ${others[0] ?? ''}`;
    const later = await failing('203.0.113.7', 'connection_reset');
    await finder.tick();
    expect(await idOf(first)).toBeNull();
    expect(await idOf(later)).toBe(cause_id);
    expect(await bench.call(getCause, house.viewer, { cause_id })).toMatchObject({
      incidents: 4,
      open_incidents: 3,
    });

    await bench.sql`update incidents set resolved_at = now() where resolved_at is null`;
    await finder.tick();
    const ended = await bench.call(getCause, house.viewer, { cause_id });
    expect(ended.ended_at).toBe(new Date(now).toISOString());
    expect(ended.explanation).toMatch(/failed/);

    const told = await eventually(async () => {
      const { items: events } = await bench.call(listEvents, house.viewer, { limit: 200 });
      const ofCauses = events.filter(({ cause }) => cause !== null);
      return ofCauses.some(({ event }) => event === 'cause.ended') && ofCauses;
    });
    const name = 'Address 203.0.113.7:443';
    expect(told).toMatchObject([
      { event: 'cause.found', cause: cause_id, name },
      { event: 'cause.ended', cause: cause_id, name },
    ]);
  });

  test('rule 48: a block page, and the network of several private places', async () => {
    for (let nth = 0; nth < 20; nth += 1) await passing(`198.51.100.${nth}`);
    const [office, attic] = [newId(), newId()];
    for (const [place, addresses] of [
      [office, ['192.0.2.7', '192.0.2.8']],
      [attic, ['192.0.2.7']],
    ] as const) {
      await bench.sql`insert into places (id, organisation_id, name, continent)
        values (${place}, ${house.organisation}, ${place}, 'Europe')`;
      await bench.sql`insert into probes (id, organisation_id, name, continent, place_id, addresses)
        values (${newId()}, ${house.organisation}, ${place}, 'Europe', ${place}, ${addresses})`;
    }
    for (let nth = 0; nth < 4; nth += 1)
      await failing(`203.0.113.${nth}`, 'blocked_by_firewall', {
        params: { vendor: 'Cloudflare', status: 403 },
      });
    const chosen = [[office], [attic], [office, attic], [attic], [office, 'Asia']];
    for (const [nth, places] of chosen.entries())
      await failing(`203.0.113.${100 + nth}`, 'connection_refused', { places });
    await finder.tick();
    const { items } = await bench.call(listCauses, house.viewer, { state: 'open' });
    expect(items.map(({ name, incidents }) => [name, incidents]).toSorted()).toEqual([
      ['Block page of “Cloudflare”', 4],
      ['Network 192.0.2.7', 4],
    ]);
  });
});
