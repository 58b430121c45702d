import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { restServerOptions } from '../../../coordinator/api/routes.ts';
import { enrolmentRoute } from '../../../coordinator/enrolment/operations.ts';
import type { AnonymousCaller } from '../../../coordinator/gate/caller.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { enrolmentPath } from '../../../shared/bus/identity.ts';
import { openTab } from '../../support/browser.ts';
import { describeInBrowser } from '../../support/in-browser.ts';
import { rowsFor } from '../../support/rows.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

describe('invitations page', () => {
  let web: TestWeb;

  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web.close());

  const invite = (name: string) =>
    web.send('/probes/invite', { name, continent: 'Africa' }, 'admin');

  /** As the host and the coordinator do it when the line is typed. */
  const spend = async (name: string, probe: string): Promise<void> => {
    await web.sql`insert into probes (id, organisation_id, name, continent) values (${probe}, ${web.house.organisation}, ${name}, 'Africa')`;
    await web.sql`update probe_invitations set used_at = now(), used_key = 'U', probe_id = ${probe} where name = ${name}`;
  };

  /** As the first result of it that is committed. */
  const checks = (probe: string) => web.sql`
  insert into watermarks (probe_key, generation, partition, seq) select key, gen_random_uuid(), 0, 1 from probes where id = ${probe}`;

  test('a private probe is none of its continent: it is counted beside, and cannot confirm what one continent sees', async () => {
    const seen = { last_seen_at: Date.now() };
    const own = { organisation_id: web.house.organisation, continent: 'Asia', ...seen };
    await web.sql`insert into probes ${rowsFor(web.sql, 'probes', { id: newId(), name: 'Lab', ...own })}`;
    const sentence = async () => /<h1[^>]*>([^<]+)</.exec(await web.text('/probes', 'owner'))?.[1];
    expect(await sentence()).toBe('One of your own probes checks');
    const public_ = { id: newId(), name: 'fra-1', continent: 'Europe', ...seen };
    await web.sql`insert into probes ${rowsFor(web.sql, 'probes', public_)}`;
    expect(await sentence()).toBe('One probe checks from one continent, plus one of your own');
    const text = await web.text('/probes', 'owner');
    expect(text).toContain('Only one continent checks');
    expect(text).not.toContain('Asia: ');
    await web.sql`delete from probes`;
  });

  test('the command is on the page that answers the form, and on no page after; revoked, it is gone', async () => {
    const { status, text, headers } = await invite('Office');
    const [token = ''] = /svcj_[0-9A-Za-z]{40}/.exec(text) ?? [];
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(text).toContain(`node antipode-probe.mjs join ${web.url} ${token}`);
    const [, id = ''] = /data-live="\/probes\/invitations\/([^"]+)"/.exec(text) ?? [];
    const watching = await web.get(`/probes/invitations/${id}`, { as: 'owner' });
    expect(watching.text).toContain('Waiting for Office');
    const list = await web.get('/probes', { as: 'owner' });
    expect(list.text).toContain('Pending invitations');
    for (const page of [watching, list]) expect(page.text).not.toContain(token.slice(9));
    expect(await web.text('/probes', 'member')).not.toContain('Pending invitations');
    const taken = await web.send(`/probes/invitations/${id}/withdraw`, {}, 'admin');
    expect(taken.status).toBe(303);
    expect(await web.text('/probes', 'owner')).not.toContain('Pending invitations');
  });

  test('a form that is refused comes back with what was sent', async () => {
    const { status, text } = await invite('');
    expect(status).toBe(400);
    expect(text).toContain('<option selected>Africa');
    expect(text).not.toMatch(/svcj_/);
  });

  test('a place that is there can be joined, and then needs no continent', async () => {
    const place = crypto.randomUUID();
    await web.sql`insert into probes (id, organisation_id, name, continent) values (${place}, ${web.house.organisation}, 'Rack <1>', 'Asia')`;
    const text = await web.text('/probes/invite', 'admin');
    expect(text).toContain('New place, named after the probe');
    expect(text).toContain(`<option value="${place}">Rack &lt;1&gt;`);
    const joining = { name: 'Rack 2', place, continent: 'Africa' };
    const { status } = await web.send('/probes/invite', joining, 'admin');
    expect(status).toBe(200);
    expect(
      await web.sql`select continent, place_id from probe_invitations where name = 'Rack 2'`,
    ).toEqual([{ continent: 'Asia', place_id: place }]);
    await web.sql`insert into probes (id, organisation_id, place_id, name, continent) values (gen_random_uuid(), ${web.house.organisation}, ${place}, 'Rack 2', 'Asia')`;
    expect(await web.text('/probes', 'admin')).toContain('Private, in Rack &lt;1&gt;');
    await web.sql`delete from probes where place_id = ${place} or id = ${place}`;
  });

  test('each step is shown as it comes, the first check with a notice', async () => {
    const { text } = await invite('Nairobi');
    const [, id = ''] = /data-live="\/probes\/invitations\/([^"]+)"/.exec(text) ?? [];
    const page = async () => await web.text(`/probes/invitations/${id}`, 'owner');
    const probe = crypto.randomUUID();
    await spend('Nairobi', probe);
    expect(await page()).toContain('Nairobi has joined');
    await web.sql`update probes set last_seen_at = now() where id = ${probe}`;
    expect(await page()).toContain('Nairobi is connected');
    expect(await page()).not.toContain('First check done');
    expect(await page()).toContain('data-awaits');
    await checks(probe);
    // Long ago, and still so: what is counted of the last minutes does not matter.
    await web.sql`update watermarks set changed_at = now() - interval '3 days'`;
    expect(await page()).toContain('Nairobi is checking');
    expect(await page()).toContain('First check done');
    expect(await page()).not.toContain('data-awaits');
  });

  test('a probe of their own is ended with its name typed, after what only it checks was named', async () => {
    const { house, sql } = web;
    const probe = crypto.randomUUID();
    await sql`insert into probes (id, organisation_id, name, continent) values (${probe}, ${house.organisation}, 'Cellar <1>', 'Africa')`;
    expect(await web.text('/probes', house.admin)).toContain(`/probes/${probe}/end`);
    expect(await web.text('/probes', house.member)).not.toContain(`/probes/${probe}/end`);
    const asked = await web.get(`/probes/${probe}/end`, { as: house.admin });
    expect(asked.text).toContain('Delete the probe Cellar &lt;1&gt;?');
    expect(asked.text).toContain('No monitor uses it');
    const end = (name: string) => web.send(`/probes/${probe}/end`, { name }, house.admin);
    expect((await end('Cellar')).status).toBe(400);
    expect((await end('Cellar <1>')).status).toBe(303);
    expect(await web.text('/probes', house.admin)).not.toContain(probe);
  });

  describeInBrowser('the page with the line', (browser) => {
    test('watches for the host, and goes on showing the line', async () => {
      const { page, close } = await openTab(browser(), web.url, {
        scripts: true,
        cookie: await web.cookieOf('owner'),
      });
      await page.goto(`${web.url}/probes/invite`);
      await page.getByLabel('Name').fill('Watched');
      await page.getByRole('button', { name: 'Create install command' }).click();
      await page.getByRole('heading', { name: 'Waiting for Watched' }).waitFor();
      const line = await page.locator('#join-line code').first().textContent();
      const probe = crypto.randomUUID();
      await spend('Watched', probe);
      await page.getByRole('heading', { name: 'Watched has joined' }).waitFor();
      expect(await page.locator('#join-line code').first().textContent()).toBe(line);
      await web.sql`update probes set last_seen_at = now() where id = ${probe}`;
      await checks(probe);
      await page.getByText('First check done').first().waitFor();
      expect(await page.locator('#join-line code').first().textContent()).toBe(line);
      await close();
    });
  });
});

describe('enrolment route', () => {
  let app: FastifyInstance;
  let heard: { visitor: AnonymousCaller; body: unknown }[];
  let answer: () => Promise<{ body: unknown }>;

  beforeEach(() => {
    app = Fastify({ ...restServerOptions });
    heard = [];
    answer = async () => ({ body: { probe: 'p' } });
    enrolmentRoute(app, {
      execute: (_operation, visitor, { body }) => {
        heard.push({ visitor, body });
        return answer();
      },
      log: { error: () => undefined },
    });
  });
  afterEach(() => app.close());

  const post = (payload: string) =>
    app.inject({ method: 'POST', url: enrolmentPath, payload, remoteAddress: '192.0.2.7' });

  test('carries what a host sends to the gate, with the address that it comes from, and the answer back', async () => {
    const { statusCode, headers, body } = await post(
      '{"token":"t","key":"k","proof":"p","more":1}',
    );
    expect([statusCode, body, headers['cache-control']]).toEqual([
      200,
      '{"probe":"p"}',
      'no-store',
    ]);
    expect(heard).toMatchObject([
      { visitor: { address: '192.0.2.7' }, body: { token: 't', key: 'k', proof: 'p' } },
    ]);
  });

  test('refuses in words, and with 409 what was spent', async () => {
    answer = () =>
      Promise.reject(new Refusal('join_token_used', 'token: another host has used it already.'));
    const { statusCode, body } = await post('{}');
    expect([statusCode, JSON.parse(body)]).toEqual([
      409,
      { error: { code: 'join_token_used', message: 'token: another host has used it already.' } },
    ]);
  });

  test('refuses invalid JSON and long bodies without a query', async () => {
    expect((await post('{')).statusCode).toBe(422);
    expect((await post(JSON.stringify({ token: 'x'.repeat(9_000) }))).statusCode).toBe(413);
    expect(heard).toEqual([]);
  });

  test('keeps a fault of its own to itself', async () => {
    answer = () => Promise.reject(new Error('the inside of the house'));
    const { statusCode, body } = await post('{}');
    expect(statusCode).toBe(500);
    expect(body).not.toContain('inside');
  });
});
