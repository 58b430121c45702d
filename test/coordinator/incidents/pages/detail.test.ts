import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import { createTestOrganisation, type Person, type TestOrganisation } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** The incident page: what it says, to whom, and what it never says. */

let web: TestWeb;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  web = await startWeb();
  unknownSender = await createTestOrganisation(web.sql);
});
afterAll(() => web.close());

const post = (path: string, form: Record<string, string>, as: Person) =>
  web.post(path, form, { as, headers: { 'sec-fetch-site': 'same-origin' } });

const hostile = '<script>alert(1)</script>';

const incident = async (name = 'Checkout'): Promise<string> => {
  const [id, monitor] = [newId(), newId()];
  const cause = '{"class":"unexpected_status","params":{"status":503,"expected":"2xx"}}';
  await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at)
    values (${monitor}, ${web.house.organisation}, 0, ${name}, 'https', 'https://shop.example/secret?key=1', 60, now() - interval '1 day')`;
  await web.sql`
    insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent, confirmed_probe, confirmed_continent, cause,
      scope, layer)
    values (${id}, ${web.house.organisation}, ${monitor}, now() - interval '372 seconds', now() - interval '371.737 seconds', 'Frankfurt', 'Europe',
      'Virginia', 'North America', ${cause}::text::jsonb, 'some_continents', 'http')`;
  const saw = (part: string, continent: string, probe: string, outcome: number, evidence: object) =>
    web.sql`insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, cause, phases, evidence)
      values (${id}, ${part}, ${continent}, ${probe}, now() - interval '371 seconds', ${outcome}, 12, ${outcome === 1 ? cause : 'null'}::text::jsonb,
        '{"dns":3.2,"tcp":11,"tls":24,"first_byte":12,"total":51}', ${JSON.stringify(evidence)}::text::jsonb)`;
  await saw('seen', 'Europe', 'Frankfurt', 1, { status: 503, address: '203.0.113.10', body: `${hostile} upstream` });
  await saw('confirmed', 'North America', 'Virginia', 1, { status: 503, address: '203.0.113.10' });
  await saw('matrix', 'Asia', 'Singapore', 0, { status: 200, address: '203.0.113.77' });
  return id;
};

describe('the page of an incident', () => {
  test('says in its first words what the matter is, where it is seen and how deep it lies', async () => {
    const id = await incident();
    const { status, text } = await web.get(`/incidents/${id}`, { as: web.house.viewer });
    expect(status).toBe(200);
    expect(text).toContain('<title>Down: Checkout · Antipode</title>');
    expect(text).toMatch(/<h1>Checkout is down from some continents\.<\/h1>/);
    expect(text).toContain('From some continents, in the answer itself: the network, DNS and TLS are well.');
    expect(text).toContain('confirmed from Virginia <b>263 ms</b> later');
  });

  test('puts what every continent saw side by side, and marks what is not alike', async () => {
    const { text } = await web.get(`/incidents/${await incident()}`, { as: web.house.viewer });
    const rows = [...text.matchAll(/<tr><th scope="row">([^<]*)<\/th>(.*?)<\/tr>/gs)].map(
      ([, label, cells]) => [label, cells ?? ''] as const,
    );
    const of = (label: string) => rows.find(([name]) => name === label)?.[1] ?? '';
    expect(of('Status').match(/class="differs"/g)).toHaveLength(3);
    expect(of('Address')).toContain('203.0.113.77');
    expect(of('Verdict')).toMatch(/Fails.*Fails.*Passes/s);
    // Times are never alike, which is no news.
    expect(rows.find(([name]) => name?.startsWith('DNS'))?.[1]).not.toContain('differs');
  });

  test('shows text of the target and names as text', async () => {
    const { text } = await web.get(`/incidents/${await incident(`${hostile}שלום👩‍👩‍👧`)}`, { as: web.house.owner });
    expect(text).not.toContain(hostile);
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; upstream');
  });

  test('is not there for another organisation, nor for an id of nothing', async () => {
    const id = await incident();
    const foreign = await web.get(`/incidents/${id}`, { as: unknownSender.owner });
    const nothing = await web.get(`/incidents/${newId()}`, { as: unknownSender.owner });
    expect([foreign.status, nothing.status]).toEqual([404, 404]);
    expect(foreign.text.replaceAll(id, '')).not.toContain('Checkout');
    expect((await web.get('/incidents/x', { as: unknownSender.owner })).status).toBe(404);
  });

  test('offers to write and to share to those alone who may', async () => {
    const id = await incident();
    const reader = await web.get(`/incidents/${id}`, { as: web.house.viewer });
    expect(reader.text).not.toContain('Write it down');
    expect(reader.text).not.toContain('/share"');
    expect((await post(`/incidents/${id}/share`, {}, web.house.viewer)).status).toBe(403);
    expect((await post(`/incidents/${id}/notes`, { text: 'x' }, web.house.viewer)).status).toBe(403);
    expect((await post(`/incidents/${id}/notes`, { text: 'x' }, unknownSender.owner)).status).toBe(404);
  });

  test('takes a note into the story, and an empty one back with what is wrong', async () => {
    const id = await incident();
    const empty = await post(`/incidents/${id}/notes`, { text: '  ' }, web.house.member);
    expect(empty.status).toBe(400);
    expect(empty.text).toContain('aria-invalid="true"');
    const written = await post(`/incidents/${id}/notes`, { text: `Deployed at noon ${hostile}` }, web.house.member);
    expect([written.status, written.headers.get('location')]).toEqual([303, `/incidents/${id}`]);
    const { text } = await web.get(`/incidents/${id}`, { as: web.house.viewer });
    expect(text).toContain('Deployed at noon &lt;script&gt;');
  });
});

describe('a share link', () => {
  test('is shown once, opens for everybody, and shows nothing once it was ended', async () => {
    const id = await incident();
    const made = await post(`/incidents/${id}/share`, {}, web.house.member);
    expect(made.status).toBe(200);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const [, path = ''] = new RegExp(`${web.url}(/shared/incidents/[A-Za-z0-9_-]+)`).exec(made.text) ?? [];
    expect(path).not.toBe('');
    expect((await web.get(`/incidents/${id}`, { as: web.house.member })).text).not.toContain(path);
    const open = await web.get(path);
    expect(open.status).toBe(200);
    expect(open.text).toContain('Checkout is down from some continents.');
    for (const hidden of ['203.0.113', 'upstream', 'secret?key', 'shop.example', 'Frankfurt', web.house.member.email])
      expect(open.text).not.toContain(hidden);
    expect(open.headers.get('x-robots-tag')).toBe('noindex');
    expect(open.headers.get('cache-control')).toBe('no-store');
    expect(open.headers.get('referrer-policy')).toBe('no-referrer');
    await post(`/incidents/${id}/share/withdraw`, {}, web.house.member);
    expect((await web.get(path)).status).toBe(404);
    expect((await web.get('/shared/incidents/x')).status).toBe(404);
  });
});

describe('the list of incidents', () => {
  test('answers first whether anything is down, and lists the newest first, by state and time', async () => {
    await incident('Zebra');
    const { text } = await web.get('/incidents', { as: web.house.viewer });
    expect(text).toMatch(/<h1>Zebra and \d+ more are down\.<\/h1>/);
    expect(text.indexOf('>Zebra</a>')).toBeLessThan(text.indexOf('>Checkout</a>'));
    expect((await web.get('/incidents?state=resolved', { as: web.house.viewer })).text).toContain('No incident is of this kind');
  });

  test('of a new organisation is one sentence and one thing to do', async () => {
    const { text } = await web.get('/incidents', { as: unknownSender.owner });
    expect(text).toContain('Nothing is down.');
    expect(text).toContain('href="/monitors/new"');
  });

  test('of a time or a place that there is none of is not there', async () => {
    expect((await web.get('/incidents?cursor=x&days=many', { as: unknownSender.owner })).status).toBe(404);
  });
});
