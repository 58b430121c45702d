import { beforeAll, describe, expect, test } from 'vitest';
import { acknowledgeIncident, getIncident, getIncidentEvidence, listIncidents } from '../../../shared/api/incidents.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const now = Date.parse('2026-11-20T12:00:00Z');
let house: TestOrganisation;
let unknownSender: TestOrganisation;
let monitor: string;
let other: string;

type Row = {
  readonly started: string;
  readonly resolved?: string;
  readonly confirmed?: string;
  readonly of?: string;
  readonly house?: TestOrganisation;
};

const incident = async ({ started, resolved, confirmed, of = monitor, house: at = house }: Row): Promise<string> => {
  const id = newId();
  const from = { name: 'Oslo', continent: 'Europe' };
  const by = confirmed === undefined ? { name: null, continent: null } : { name: 'Tokyo', continent: 'Asia' };
  await bench.sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_probe, seen_continent, confirmed_probe,
      confirmed_continent, cause, note)
    values (${id}, ${at.organisation}, ${of}, ${started}, ${confirmed ?? null}, ${resolved ?? null}, ${from.name}, ${from.continent}, ${by.name},
      ${by.continent}, '{"class":"probe_internal","params":{}}', null)`;
  return id;
};

beforeAll(async () => {
  bench.now = now;
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
  monitor = (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Shop' })).id;
  other = (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'Other' })).id;
});

const listed = async (input: object = {}, who = house): Promise<string[]> =>
  (await bench.call(listIncidents, who.viewer, input)).items.map(({ id }) => id);

test('who acknowledged it, and when, stands in an incident, in lists of them and beside its evidence', async () => {
  const id = await incident({ started: '2026-11-20T11:00:00Z', confirmed: '2026-11-20T11:00:01Z' });
  const nobody = { acknowledged_at: null, acknowledged_by: null };
  expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toMatchObject(nobody);
  const { acknowledged_at, acknowledged_by } = await bench.call(acknowledgeIncident, house.owner, { incident_id: id });
  const somebody = { acknowledged_at, acknowledged_by };
  expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toMatchObject(somebody);
  expect(await bench.call(getIncidentEvidence, house.viewer, { incident_id: id })).toMatchObject(somebody);
  const { items } = await bench.call(listIncidents, house.viewer, { state: 'open' });
  expect(items.find((item) => item.id === id)).toMatchObject(somebody);
  await bench.sql`delete from incidents where id = ${id}`;
});

describe('listIncidents', () => {
  test('gives newest first; those that touch the days, and open ones whatever the days say', async () => {
    const old = await incident({ started: '2026-01-01', resolved: '2026-01-02' });
    const reaching = await incident({ started: '2026-10-01', resolved: '2026-10-25' });
    const recent = await incident({ started: '2026-11-01', resolved: '2026-11-01', of: other });
    const open = await incident({ started: '2025-01-01', of: other });
    const everything = [open, recent, reaching, old];
    expect(await listed({ days: 365 })).toEqual(everything);
    expect(await listed()).toEqual([open, recent, reaching]);
    expect(await listed({ days: 20 })).toEqual([open, recent]);
    expect(await listed({ days: 1 })).toEqual([open]);
    expect(await listed({ state: 'open', days: 1 })).toEqual([open]);
    expect(await listed({ state: 'resolved', days: 365 })).toEqual([recent, reaching, old]);
    expect(await listed({ monitor, days: 365 })).toEqual([reaching, old]);
    expect(await listed({ monitor: other, state: 'open' })).toEqual([open]);
    expect(await listed({ days: 365 }, unknownSender)).toEqual([]);
    expect(await bench.refusal(listIncidents, house.owner, { monitor: newId() })).toBe('monitor_not_found');
    expect(await bench.refusal(listIncidents, unknownSender.owner, { monitor })).toBe('monitor_not_found');
    expect(await bench.refusal(listIncidents, house.owner, { state: 'closed' })).toBe('faults');
    expect(await bench.refusal(listIncidents, house.owner, { days: 0 })).toBe('faults');
    const first = await bench.call(listIncidents, house.owner, { days: 365, limit: 3 });
    expect(first.items.map(({ id }) => id)).toEqual(everything.slice(0, 3));
    expect(await listed({ days: 365, limit: 3, cursor: first.next_cursor })).toEqual([old]);
  });
});

describe('getIncident', () => {
  test('tells when, by whom and why, in our own words', async () => {
    const id = await incident({ started: '2026-11-19T10:00:00Z', confirmed: '2026-11-19T10:00:01.5Z', resolved: '2026-11-19T10:30:00Z' });
    expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toEqual({
      ...{ id, monitor, monitor_name: 'Shop', cause: 'The probe failed in its own code', open: false, note: null },
      ...{ started_at: '2026-11-19T10:00:00.000Z', confirmed_at: '2026-11-19T10:00:01.500Z', resolved_at: '2026-11-19T10:30:00.000Z' },
      seen_from: { name: 'Oslo', continent: 'Europe' },
      confirmed_from: { name: 'Tokyo', continent: 'Asia' },
      ...{ scope: null, layer: null, acknowledged_at: null, acknowledged_by: null, duration_s: 1_800 },
    });
    await bench.sql`update incidents set scope = 'some_continents', layer = 'tls' where id = ${id}`;
    expect(await bench.call(getIncident, house.viewer, { incident_id: id })).toMatchObject({ scope: 'some_continents', layer: 'tls' });
    const unconfirmed = await incident({ started: '2026-11-20T10:00:00Z' });
    expect(await bench.call(getIncident, house.viewer, { incident_id: unconfirmed })).toMatchObject({
      ...{ open: true, confirmed_at: null, resolved_at: null, confirmed_from: null },
      // So far: until the moment of asking.
      duration_s: (bench.now - Date.parse('2026-11-20T10:00:00Z')) / 1_000,
    });
  });

  test('is not there for strangers, nor when it does not exist', async () => {
    const id = await incident({ started: '2026-11-19', resolved: '2026-11-19' });
    expect(await bench.refusal(getIncident, unknownSender.owner, { incident_id: id })).toBe('incident_not_found');
    expect(await bench.refusal(getIncident, house.owner, { incident_id: newId() })).toBe('incident_not_found');
    expect(await bench.refusal(getIncident, house.owner, { incident_id: 'x' })).toBe('faults');
  });
});
