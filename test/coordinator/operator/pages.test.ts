import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** The operator's page, for the viewer of an organisation: their role there says nothing here. */

const sameOrigin = { 'sec-fetch-site': 'same-origin' };

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
  await web.sql`insert into notices (kind, subject, message) values ('probe_lost', 'p', 'Osaka <1> was not heard.')`;
});
afterAll(() => web.close());

const mark = (is_operator: boolean) => web.sql`update users set is_operator = ${is_operator} where id = ${web.house.viewer.user}`;
beforeEach(async () => {
  await mark(true);
});

const setAside = async (): Promise<string> => {
  const [row] = await web.sql<{ id: number }[]>`insert into set_aside (subject, reason, data)
    values ('results.p.3', 'it is broken', '<b>what came</b>') returning id`;
  return `/operator/set-aside/${row?.id}`;
};

const main = (text: string): string => /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? '';

describe('the operator', () => {
  test('sees what needs them, with what to do, and everything of the house', async () => {
    const { status, text } = await web.get('/operator', { as: web.house.viewer });
    expect(status).toBe(200);
    expect(text).toContain('One notice is open');
    expect(text).toContain('Osaka &lt;1&gt; was not heard.');
    expect(text).toContain('Start the probe again with the same data folder');
    for (const each of ['Figures of the house', 'Organisations', web.house.name, 'Probes', 'Refused on the bus', 'Set aside'])
      expect(main(text)).toContain(each);
  });

  test('has it in the rail, from the mark until it is taken away, with the next request', async () => {
    const as = web.house.viewer;
    const entry = 'href="/operator"';
    expect((await web.get('/profile', { as })).text).toContain(entry);
    await mark(false);
    expect((await web.get('/profile', { as })).text).not.toContain(entry);
    const [gone, unknown] = [await web.get('/operator', { as }), await web.get('/nothing', { as })];
    expect([gone.status, main(gone.text)]).toEqual([404, main(unknown.text)]);
  });

  test('works on a message again, and drops it', async () => {
    const as = web.house.viewer;
    const address = await setAside();
    const page = await web.get(address, { as });
    expect(page.text).toContain('it is broken');
    expect(page.text).toContain('&lt;b&gt;what came&lt;/b&gt;');
    const again = await web.post(`${address}/retry`, {}, { as, headers: sameOrigin });
    expect([again.status, again.headers.get('location')]).toEqual([303, '/operator']);
    expect((await web.get('/operator', { as })).text).toContain('waits to be worked on again');
    const dropped = await web.post(address, {}, { as, headers: sameOrigin });
    expect([dropped.status, dropped.headers.get('location')]).toEqual([303, '/operator']);
    expect((await web.get(address, { as })).status).toBe(404);
  });

  test('proves who they are before they drop one, and comes back to it', async () => {
    const as = web.house.viewer;
    const address = await setAside();
    const cookie = await web.cookieOf(as);
    await web.sql`update sessions set proven_at = now() - interval '1 day' where user_id = ${as.user}`;
    const asked = await web.post(address, {}, { cookie, headers: sameOrigin });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, `/confirm?next=${encodeURIComponent(address)}`]);
    expect((await web.get(address, { cookie })).status).toBe(200);
  });

  test('does nothing that another site sends', async () => {
    const as = web.house.viewer;
    const address = await setAside();
    for (const path of [address, `${address}/retry`])
      expect((await web.post(path, {}, { as, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    const text = (await web.get(address, { as })).text;
    expect(text).not.toContain('It waits to be worked on again');
  });
});

test('a stranger is told the same as of a page that there is not', async () => {
  const [here, nowhere] = [await web.get('/operator'), await web.get('/nothing')];
  expect([here.status, here.text]).toEqual([404, nowhere.text.replaceAll('/nothing', '/operator')]);
});
