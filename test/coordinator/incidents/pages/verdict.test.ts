import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** What the page of an incident says of where it is seen: no more than is so. */
describe('the verdict of an incident', () => {
  let web: TestWeb;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web.close());

  const cause = '{"class":"unexpected_status","params":{"status":503,"expected":"2xx"}}';

  const incident = async (name: string): Promise<string> => {
    const [id, monitor] = [newId(), newId()];
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
      values (${monitor}, ${web.house.organisation}, 0, ${name}, 'https', 'http://203.0.113.10', 60)`;
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
        seen_probe, seen_continent, confirmed_probe, confirmed_continent, cause, scope, layer)
      values (${id}, ${web.house.organisation}, ${monitor}, now() - interval '90 seconds',
        now() - interval '89 seconds', 'Frankfurt', 'Europe', 'Virginia', 'North America',
        ${cause}::text::jsonb, 'everywhere', 'http')`;
    await web.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome,
        took_ms, cause, phases)
      values (${id}, 'seen', 'Europe', 'Frankfurt', now() - interval '90 seconds', 1, 12,
        ${cause}::text::jsonb, '{"dns":3,"tcp":11,"tls":24}')`;
    return id;
  };

  test('says where it fails and where it answers, in one sentence, where both sides are checked', async () => {
    const id = await incident('Intranet');
    const place = newId();
    await web.sql`insert into places (id, organisation_id, name, continent)
      values (${place}, ${web.house.organisation}, 'Office Berlin', 'Europe')`;
    const progress = {
      progress: {
        failed: ['Europe', 'North America'],
        passed: [],
        asked: ['Europe', 'North America'],
        across: { failed: [], passed: [place] },
      },
    };
    await web.sql`update incidents set scope = 'everywhere',
      progress = ${JSON.stringify(progress)}::text::jsonb where id = ${id}`;
    const text = await web.text(`/incidents/${id}`, 'viewer');
    expect(text).toContain('<h1>Intranet is down outside, up inside (Office Berlin)</h1>');
    expect(text).toContain('Check edge, firewall or DNS.');
    expect(text).not.toMatch(/everywhere|returns an error|down from two continents/i);
    await web.sql`update incident_evidence set evidence = '{"address":"203.0.113.40"}'
      where incident_id = ${id}`;
    expect(await web.text(`/incidents/${id}`, 'viewer')).toContain('Check edge or firewall.');
  });

  test('calls fine only the phases that took part', async () => {
    const id = await incident('By address');
    await web.sql`update incident_evidence set phases = '{"dns":null,"tcp":1,"tls":null}'
      where incident_id = ${id}`;
    const text = await web.text(`/incidents/${id}`, 'viewer');
    expect(text).toContain('Network is fine; the server returns an error.');
  });

  test('calls DNS fine only where it gave all places one address', async () => {
    const id = await incident('Two addresses');
    const read = () => web.text(`/incidents/${id}`, 'viewer');
    expect(await read()).toContain('DNS, network and TLS are fine');
    await web.sql`update incident_evidence set evidence = '{"address":"203.0.113.10"}'
      where incident_id = ${id}`;
    await web.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome,
        took_ms, evidence)
      values (${id}, 'matrix', 'Asia', 'Singapore', now(), 0, 12, '{"address":"203.0.113.77"}')`;
    expect(await read()).toContain('Network and TLS are fine; the server returns an error.');
  });

  test('tells of a job by its pings, and of no place in the world', async () => {
    const id = await incident('Invoice run');
    const cause = '{"class":"heartbeat_late","params":{"silent_ms":90000,"every_ms":60000}}';
    await web.sql`update incidents set scope = 'everywhere', layer = 'heartbeat',
      cause = ${cause}::text::jsonb where id = ${id}`;
    const [row] = await web.sql<{ monitor: string }[]>`
      update monitors m set type = 'heartbeat' from incidents i
      where i.id = ${id} and m.id = i.monitor_id returning m.id as monitor`;
    await web.sql`
      insert into beats (id, monitor_id, kind, at, exit_code, body, method, ear)
      values (${newId()}, ${row?.monitor ?? ''}, 'fail', now() - interval '10 seconds', 3,
        'disk full', 'POST', 'coordinator')`;
    const page = await web.get(`/incidents/${id}`, { as: 'viewer' });
    const text = page.text.replaceAll(/\s+/g, ' ');
    expect(text).toContain('<h1>Invoice run is down</h1>');
    expect(text).toContain('No heartbeat for 90 seconds (expected every minute)');
    expect(text).toContain('disk full');
    expect(text).toContain('Deadline missed');
    expect(text).toContain('Waiting for the next successful ping');
    expect(text).not.toMatch(/everywhere|Frankfurt|Virginia|By continent|from all continents/i);
  });
});
