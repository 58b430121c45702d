import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** Without scripts: choose a file, look, import, undo. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const headers = { 'sec-fetch-site': 'same-origin' };
const upload = async (source: string, text: string) => {
  const body = new FormData();
  body.append('document', new Blob([text]), 'export');
  const response = await fetch(`${web.url}/import/file?from=${source}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...headers, accept: 'text/html', cookie: await web.cookieOf('owner') },
    body,
  });
  return {
    status: response.status,
    to: response.headers.get('location') ?? '',
    text: await response.text(),
  };
};

const gatus = `endpoints:
  - name: front <b>
    url: https://front.example/
    headers: { X-Token: very-secret }
    conditions: ["[STATUS] == 200", "len([BODY].x) > 2"]
`;

test('a file is looked at, imported, and undone', async () => {
  const chosen = await web.get('/import?from=gatus', { as: 'owner' });
  expect(chosen.text).toContain('action="/import/file?from=gatus"');
  expect(chosen.text).not.toContain('/import/key');
  const { status, to } = await upload('gatus', gatus);
  expect([status, to]).toEqual([303, expect.stringMatching(/^\/import\/[0-9a-f-]{36}$/)]);

  const draft = await web.get(to, { as: 'owner' });
  expect(draft.text).toContain('1 monitor will be created or changed.');
  expect(draft.text).toContain('The condition len([BODY].x) &gt; 2 is left out');
  expect(draft.text).toContain('front &lt;b&gt;');
  expect(draft.text).not.toContain('very-secret');
  const [, variable = ''] =
    /type="password"[^>]*name="(\w+)"|name="(\w+)"[^>]*type="password"/s
      .exec(draft.text)
      ?.filter(Boolean) ?? [];
  expect(variable).toBe('FRONT_B_X_TOKEN');

  const applied = await web.send(`${to}/apply`, { [variable]: 'another' }, 'owner');
  expect([applied.status, applied.headers.get('location')]).toEqual([
    303,
    expect.stringContaining(to),
  ]);
  const after = await web.get(to, { as: 'owner' });
  expect(after.text).toContain('Undo import');
  const [monitor] = await web.sql`select name from monitors
    where organisation_id = ${web.house.organisation}`;
  expect(monitor).toEqual({ name: 'front <b>' });

  await web.send(`${to}/undo`, {}, 'owner');
  expect(await web.text(to, 'owner')).toContain('What it created is deleted.');
  expect(
    await web.sql`select 1 from monitors where organisation_id = ${web.house.organisation}`,
  ).toEqual([]);
});

test('what is wrong with a file is said beside it, and a database is sent to the command line', async () => {
  const wrong = await upload('gatus', 'endpoints: [');
  expect(wrong.status).toBe(400);
  expect(wrong.text).toMatch(/line 1: /i);
  const database = await upload('uptime-kuma', 'SQLite format 3\0rest');
  expect(database.status).toBe(400);
  expect(database.text).toContain('antipode import uptime-kuma kuma.db');
});

test('a key is never shown again', async () => {
  const refused = await web.send('/import/key?from=healthchecks', { key: 'hc-key-1' }, 'owner');
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('Healthchecks answers 503');
  expect(refused.text).not.toContain('hc-key-1');
  for (const table of ['imports', 'audit_log', 'outbox'])
    expect(JSON.stringify(await web.sql`select * from ${web.sql(table)}`)).not.toContain(
      'hc-key-1',
    );
});

test('the way to it is on the dashboard, the new monitor and in the search', async () => {
  for (const path of ['/', '/monitors/new', '/search?q=kuma'])
    expect(await web.text(path, 'owner'), path).toContain('href="/import"');
});
