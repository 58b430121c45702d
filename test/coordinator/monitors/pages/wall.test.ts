import { afterAll, beforeAll, expect, test } from 'vitest';
import { seedDemo } from '../../../support/demo.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** Every monitor as a square, for a screen on a wall. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
  await seedDemo(web.sql, web.house.organisation, Date.now());
});
afterAll(() => web.close());

const headers = { 'sec-fetch-site': 'same-origin' };
const post = (path: string, as = web.house.member) => web.post(path, {}, { as, headers });
const linkIn = (text: string): string =>
  /<code>[^<]*(\/wall\/[\w-]{32})<\/code>/.exec(text)?.[1] ?? '';

test('shows each monitor once by group, with its state, to members of the organisation', async () => {
  const { text } = await web.get('/wall', { as: web.house.viewer });
  expect(text).toContain('2 of 46 failing');
  expect(text.match(/class="square /g)).toHaveLength(46);
  expect(text).toMatch(/square-down"><a [^>]*>.*?Checkout/);
  expect(text).toMatch(/square-maintenance"><a [^>]*>.*?Login/);
  expect(text.indexOf('<h2>Jobs</h2>')).toBeLessThan(text.indexOf('<h2>No group</h2>'));
  expect(text).not.toContain('Create link');
  const foreign = await createTestOrganisation(web.sql);
  expect((await web.get('/wall', { as: foreign.owner })).text).not.toContain('Checkout');
});

test('is shown without a sign-in by a link, which links nowhere, until it is replaced or revoked', async () => {
  expect((await post('/wall/link', web.house.viewer)).status).toBe(403);
  const made = await post('/wall/link');
  expect(made.headers.get('cache-control')).toBe('no-store');
  const first = linkIn(made.text);
  const seen = await web.get(first);
  expect([seen.status, seen.headers.get('refresh')]).toEqual([200, '15']);
  expect(seen.headers.get('x-robots-tag')).toBe('noindex');
  expect(seen.text).toContain('Checkout');
  expect(seen.text).not.toContain('href="/monitors');
  const second = linkIn((await post('/wall/link')).text);
  expect((await web.get(first)).status).toBe(404);
  expect((await web.get(second)).status).toBe(200);
  await post('/wall/link/revoke');
  expect((await web.get(second)).status).toBe(404);
  expect((await web.get(`/wall/${'x'.repeat(32)}`)).status).toBe(404);
  const stored = await web.sql`select fingerprint from wall_links`;
  expect(stored).toEqual([]);
});

test('says who made its link and that they left, so that someone revokes it', async () => {
  const { member, owner, organisation } = web.house;
  const seen = async () => (await web.get('/wall', { as: owner })).text;
  expect(await seen()).not.toContain('Revoke link');
  await post('/wall/link');
  expect(await seen()).toContain(`by ${member.email}. It works until you revoke it.`);
  await web.sql`delete from memberships where organisation_id = ${organisation} and user_id = ${member.user}`;
  expect(await seen()).toContain(`by ${member.email}, who has left the organisation.`);
  expect((await web.get('/wall', { as: web.house.viewer })).text).not.toContain('Revoke link');
  await post('/wall/link/revoke', owner);
  expect(await seen()).not.toContain('has left');
  await web.sql`insert into memberships (organisation_id, user_id, role) values (${organisation}, ${member.user}, 'member')`;
});

test('is asked for again by a television that got an error', async () => {
  const link = linkIn((await post('/wall/link')).text);
  await web.sql`alter table wall_links rename to wall_links_away`;
  const failed = await web.get(link);
  await web.sql`alter table wall_links_away rename to wall_links`;
  expect([failed.status, failed.headers.get('refresh')]).toEqual([500, '15']);
});

test('shows nothing by its link while its organisation awaits deletion', async () => {
  const link = linkIn((await post('/wall/link')).text);
  await web.sql`update organisations set ends_at = now() + interval '1 day' where id = ${web.house.organisation}`;
  const hidden = await web.get(link);
  // Its owners may undo that.
  expect([hidden.status, hidden.headers.get('refresh')]).toEqual([404, '15']);
});
