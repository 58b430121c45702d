import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeResultDays } from '../../../../coordinator/engine/result-queries.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { createTestOrganisation, type Person, type TestOrganisation } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** The page of a monitor: how it is, what it was, and why its uptime is what it is. */

let web: TestWeb;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  web = await startWeb();
  unknownSender = await createTestOrganisation(web.sql);
  await makeResultDays(web.sql, Date.now() - 3 * 86_400_000, Date.now() + 86_400_000);
  for (const [at, continent] of ['Europe', 'Asia'].entries())
    await web.sql`insert into probes (id, name, continent) values (${newId()}, ${`probe ${at}`}, ${continent})`;
});
afterAll(() => web.close());

const post = (path: string, form: Record<string, string>, as: Person) =>
  web.post(path, form, { as, headers: { 'sec-fetch-site': 'same-origin' } });

const hostile = '"><img src=x onerror=alert(1)>';

const monitor = async (more: { name?: string; type?: string; config?: object } = {}): Promise<string> => {
  const { name = 'Checkout', type = 'https', config = {} } = more;
  const id = newId();
  const target = type === 'https' ? 'https://shop.example/' : '';
  await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, created_at)
    values (${id}, ${web.house.organisation}, 0, ${name}, ${type}, ${target}, 60, ${JSON.stringify(config)}::text::jsonb, now() - interval '2 days')`;
  if (type === 'heartbeat')
    await web.sql`insert into beat_tokens (fingerprint, organisation_id, monitor_id, token) values (${randomBytes(32)}, ${web.house.organisation}, ${id}, ${randomBytes(32)})`;
  return id;
};

const result = (of: string, continent: string, minutes: number, took_ms: number, outcome = 0) =>
  web.sql`insert into results (monitor_key, at, probe_key, took_ms, outcome)
    select m.key, now() - ${`${minutes} minutes`}::interval, p.key, ${took_ms}, ${outcome} from monitors m, probes p where m.id = ${of} and p.continent = ${continent}`;

describe('the page of a monitor', () => {
  test('says how it is and for how long, with its response by continent as a picture and as a table', async () => {
    const id = await monitor();
    await result(id, 'Europe', 0, 61);
    await result(id, 'Asia', 6, 212);
    await result(id, 'Asia', 11, 900, 1);
    const { status, text } = await web.get(`/monitors/${id}`, { as: web.house.viewer });
    expect(status).toBe(200);
    expect(text).toMatch(/<h1>Checkout has been up for .*\.<\/h1>/);
    expect(text).toContain('aria-label="Mean response time: Europe 61 ms, Asia 212 ms"');
    expect(text).toContain('line-europe');
    expect(text).toMatch(/1 failed/);
    expect(text).toContain('Up: Checkout');
  });

  test('rule 43: explains every second of its uptime, with the incident that cost it', async () => {
    const id = await monitor();
    const incident = newId();
    await result(id, 'Europe', 0, 20);
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
      values (${incident}, ${web.house.organisation}, ${id}, now() - interval '3 hours', now() - interval '3 hours', now() - interval '2 hours')`;
    const { text } = await web.get(`/monitors/${id}?days=1`, { as: web.house.viewer });
    const sum = /<p class="sum">(.*?)<\/p>/s.exec(text)?.[1]?.replaceAll(/<[^>]*>/g, '') ?? '';
    expect(sum).toBe('up 23 h + down 1 h + maintenance 0 + unknown 0 + paused 0 = 1 d');
    expect(text).toContain(`<a href="/incidents/${incident}">the incident</a>`);
  });

  test('tells of settings that do nothing, and what was probably meant', async () => {
    const { text } = await web.get(`/monitors/${await monitor({ config: { expectd_status: [200] } })}`, { as: web.house.viewer });
    expect(text).toContain('expectd_status is not used by https checks; did you mean expected_status?');
  });

  test('shows names as text, however they are written', async () => {
    for (const name of [hostile, 'x'.repeat(200), 'متجر', '👩‍👩‍👧‍👦'.repeat(20)]) {
      const { status, text } = await web.get(`/monitors/${await monitor({ name })}`, { as: web.house.viewer });
      expect(status).toBe(200);
      expect(text).not.toContain('<img');
    }
  });

  test('offers nothing that a viewer may not do, and is not there for anybody else', async () => {
    const id = await monitor();
    const { text } = await web.get(`/monitors/${id}`, { as: web.house.viewer });
    for (const word of ['/edit', '/pause', '/delete']) expect(text).not.toContain(`/monitors/${id}${word}`);
    expect((await web.get(`/monitors/${id}`, { as: web.house.member })).text).toContain(`/monitors/${id}/edit`);
    expect((await web.get(`/monitors/${id}`, { as: unknownSender.owner })).status).toBe(404);
    expect((await web.get('/monitors/nothing', { as: unknownSender.owner })).status).toBe(404);
  });

  test('takes a time that is none for the usual one', async () => {
    const id = await monitor();
    for (const query of ['?days=0', '?days=many', '?window=5y', '?days=365&window=1y'])
      expect((await web.get(`/monitors/${id}${query}`, { as: web.house.viewer })).status).toBe(200);
  });
});

describe('the page of a heartbeat', () => {
  test('shows the last pings with what they said, as text', async () => {
    const id = await monitor({ type: 'heartbeat', name: 'Backup' });
    expect((await web.get(`/monitors/${id}`, { as: web.house.viewer })).text).toContain('Backup waits for its first ping.');
    await web.sql`insert into beats (id, monitor_id, kind, exit_code, at, run_ms, method, body, ear)
      values (${newId()}, ${id}, 'fail', 3, now(), 4200, 'POST', ${`disk full ${hostile}`}, 'coordinator')`;
    const { text } = await web.get(`/monitors/${id}`, { as: web.house.viewer });
    expect(text).toContain('Failed, code 3');
    expect(text).toContain('4 s');
    expect(text).toContain('disk full &quot;&gt;&lt;img');
  });

  test('shows its address only when asked, in an answer that nobody keeps, and to nobody else', async () => {
    const id = await monitor({ type: 'heartbeat', name: 'Backup' });
    expect((await web.get(`/monitors/${id}`, { as: web.house.member })).text).not.toMatch(/\/beat\/[A-Za-z0-9_-]{20}/);
    const rotated = await post(`/monitors/${id}/address/rotate`, { overlap_s: '0' }, web.house.member);
    expect(rotated.headers.get('cache-control')).toBe('no-store');
    const [address] = new RegExp(`${web.url}/beat/[A-Za-z0-9_-]+`).exec(rotated.text) ?? [];
    expect(address).toBeDefined();
    expect((await post(`/monitors/${id}/address`, {}, web.house.member)).text).toContain(address);
    expect((await post(`/monitors/${id}/address`, {}, unknownSender.owner)).status).toBe(404);
    expect((await post(`/monitors/${id}/address/rotate`, { overlap_s: '0' }, web.house.viewer)).status).toBe(403);
  });
});
