import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createChannel } from '../../../../shared/api/channels.ts';
import { createMonitor } from '../../../../shared/api/monitors.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
} from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

let web: TestWeb;
let other: TestOrganisation;

beforeAll(async () => {
  web = await startWeb();
  other = await createTestOrganisation(web.sql, { name: 'Elsewhere' });
});
afterAll(() => web.close());

const post = (path: string, form: Readonly<Record<string, string>>, as: Person = web.house.owner) =>
  web.send(path, form, as);
const makeJob = (name: string, of: TestOrganisation = web.house) =>
  web.gate.execute(
    createMonitor,
    of.owner.caller,
    rawInput(createMonitor, { type: 'heartbeat', name, interval_s: 60 }),
  );

describe('the audit log', () => {
  test('as a file contains all entries of this organisation alone, and no formula', async () => {
    await makeJob('=HYPERLINK("https://evil.example")');
    await makeJob('Not ours', other);
    for (let at = 0; at < 250; at += 1)
      await web.sql`insert into audit_log (at, organisation_id, who, through, operation, changed)
      values (now(), ${web.house.organisation}, '=1+1', 'api', 'updateMonitor', '{"about": {}, "after": {"n": 1}}')`;
    const { status, text, headers } = await web.get('/audit.csv', { as: 'owner' });
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'no-store',
    ]);
    expect(headers.get('content-disposition')).toMatch(
      /^attachment; filename="audit-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const lines = text.trimEnd().split('\r\n');
    expect(lines[0]).toBe(
      '"at","who","through","token","address","operation","what","about","before","after"',
    );
    expect(lines.length).toBeGreaterThan(250);
    expect(text).not.toContain('Not ours');
    expect(text).toContain(`"'=1+1","api"`);
    expect(text).not.toMatch(/(^|,)"?[=+@]/m);
  });

  test('tells a change of several monitors by their names, and how long other lists are', async () => {
    const ids = [1, 2].map(() => '01a21a37-c977-7540-b267-ce568fb87067');
    for (const [operation, changed] of [
      ['changeMonitors', { before: {}, after: { paused: ids, names: ['Cart', 'Login'] } }],
      ['updateMaintenanceWindow', { before: { groups: [] }, after: { groups: ids } }],
      ['updateMonitor', { before: { json: [{ path: 'a' }] }, after: { json: [{ path: 'b' }] } }],
    ] as const)
      await web.sql`insert into audit_log (at, organisation_id, who, through, operation, changed)
        values (now(), ${web.house.organisation}, 'x', 'page', ${operation}, ${JSON.stringify({ about: {}, ...changed })}::text::jsonb)`;
    const page = await web.get('/audit', { as: 'admin' });
    const text = page.text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(text).toContain('Paused 2 monitors Names Cart, Login');
    expect(text).toContain('Groups none to 2 items');
    expect(text).toContain('Json 1 item to 1 item');
    expect(text).not.toContain(ids[0]);
  });

  test('is filtered by user, action and time', async () => {
    const page = async (query: string): Promise<string> =>
      await web.text(`/audit?${query}`, 'admin');
    const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
    // The entries may be of the day before, a moment after midnight.
    const [from, to] = [dayOf(Date.now() - 3_600_000), dayOf(Date.now())];
    expect(await page(`operation=createMonitor&from=${from}&to=${to}`)).toContain('HYPERLINK');
    expect(await page('operation=updateMonitor')).not.toContain('HYPERLINK');
    expect(await page(`who=${encodeURIComponent(web.house.owner.email)}`)).toContain('HYPERLINK');
    expect(await page('who=nobody@example.org')).toContain('No changes match this filter');
    expect(await page('from=2020-01-01&to=2020-01-02')).toContain('No changes match this filter');
  });
});

describe('the export', () => {
  test('is one JSON of what the organisation owns, without secrets, and says what is left out', async () => {
    const hook = {
      kind: 'slack',
      config: { url: 'https://hooks.slack.com/services/T1/B1/s3cr3t-path' },
      try: false,
    };
    await web.gate.execute(createChannel, web.house.owner.caller, rawInput(createChannel, hook));
    const secret = {
      type: 'https',
      target: 'https://shop.example/',
      config: { bearer_token: 'a-very-secret-bearer' },
      interval_s: 60,
    };
    await web.sql`insert into probes (id, name, continent) values (gen_random_uuid(), 'P', 'Europe')`;
    await web.gate.execute(createMonitor, web.house.owner.caller, rawInput(createMonitor, secret));
    for (let at = 0; at < 205; at += 1)
      await web.sql`insert into groups (id, organisation_id, name, name_folded) values (gen_random_uuid(), ${web.house.organisation}, ${`G${at}`}, ${`g${at}`})`;
    const { organisation } = web.house;
    await web.sql`
      insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at, ended_at)
      select gen_random_uuid(), organisation_id, id, code, '{"took_ms": 3000}', now(), now(), ended
      from monitors, (values ('slow', now()), ('certificate', null)) w (code, ended)
      where organisation_id in (${organisation}, ${other.organisation})`;
    const { status, text, headers } = await post('/organisation/export', {});
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const all = JSON.parse(text) as Record<string, { length: number }> & {
      organisation: { id: string };
    };
    expect(all.organisation.id).toBe(web.house.organisation);
    expect([all.members?.length, all.groups?.length, all.monitors?.length]).toEqual([4, 205, 2]);
    // One that ended, and one that lasts, of each of two monitors.
    expect(all.warnings).toHaveLength(4);
    expect(all.warnings).toContainEqual(
      expect.objectContaining({ code: 'certificate', details: { took_ms: 3000 }, ended_at: null }),
    );
    expect(all.left_out?.length).toBeGreaterThan(3);
    for (const hidden of [
      'a-very-secret-bearer',
      's3cr3t-path',
      'Not ours',
      other.owner.email,
      'password_hash',
      'fingerprint":',
    ])
      expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
    const [trace] =
      await web.sql`select who from audit_log where organisation_id = ${web.house.organisation} and operation = 'beginExport'`;
    expect(trace).toEqual({ who: web.house.owner.email });
  });

  test('masks what was stored openly before it counted as a secret', async () => {
    const mine = await createTestOrganisation(web.sql);
    const { caller } = mine.owner;
    const hook = {
      kind: 'webhook',
      config: { url: 'https://hooks.example.org/hook-s3cret' },
      try: false,
    };
    await web.gate.execute(createChannel, caller, rawInput(createChannel, hook));
    await web.sql`update channels set config = ${JSON.stringify(hook.config)}::text::jsonb where organisation_id = ${mine.organisation} and kind = 'webhook'`;
    const job = { type: 'https', target: 'https://shop.example/' };
    await web.gate.execute(createMonitor, caller, rawInput(createMonitor, job));
    await web.sql`update monitors set config = '{"headers": {"X-Secret": "hunter5", "Accept": "text/html"}}' where organisation_id = ${mine.organisation}`;
    const { text } = await post('/organisation/export', {}, mine.owner);
    expect(text).not.toMatch(/hook-s3cret|hunter5/);
    const all = JSON.parse(text) as Record<string, { config: object }[]>;
    expect(all.channels?.map(({ config }) => config)).toContainEqual({
      url: 'https://hooks.example.org/***',
    });
    expect(all.monitors).toMatchObject([
      { config: { headers: { 'X-Secret': '***', Accept: 'text/html' } } },
    ]);
  });
});

test('the name and the clock are changed, and the log says from what', async () => {
  expect((await post('/organisation/edit', { name: '', time_zone: 'Mars/Olympus' })).status).toBe(
    400,
  );
  expect(
    (await post('/organisation/edit', { name: 'Shop', time_zone: 'Europe/Berlin' })).status,
  ).toBe(303);
  expect(await web.text('/organisation', 'viewer')).toContain('Europe/Berlin');
  const [trace] = await web.sql<
    { changed: object }[]
  >`select changed from audit_log where operation = 'updateOrganisation' order by key desc limit 1`;
  expect(trace?.changed).toMatchObject({ after: { name: 'Shop', time_zone: 'Europe/Berlin' } });
});

describe('deleting the organisation', () => {
  test('requires its name, is announced on every page, and is undone by a button there', async () => {
    const house = await createTestOrganisation(web.sql, { name: 'Short-lived' });
    await makeJob('Job', house);
    const wrong = await post('/organisation/delete', { name: 'Short' }, house.owner);
    expect([wrong.status, wrong.text.includes('The name does not match')]).toEqual([400, true]);
    expect(await web.text('/organisation', house.admin)).not.toContain('/organisation/delete');
    expect((await post('/organisation/delete', { name: 'Short-lived' }, house.owner)).status).toBe(
      303,
    );
    for (const path of ['/', '/organisation', '/members', '/incidents']) {
      const text = await web.text(path, house.owner);
      expect([
        path,
        text.includes('Short-lived will be deleted on'),
        text.includes('action="/organisation/keep"'),
      ]).toEqual([path, true, true]);
      expect([path, text.includes('All alerts are muted')]).toEqual([path, false]);
    }
    const seen = await web.text('/', house.viewer);
    expect([
      seen.includes('Its owners can undo the deletion'),
      seen.includes('/organisation/keep'),
    ]).toEqual([true, false]);
    // What cannot be done is not offered; who comes to its address all the same is told why.
    expect(await web.text('/', house.owner)).not.toContain('/monitors/new');
    const refused = await web.get('/monitors/new', { as: house.owner });
    expect([refused.status, refused.text.includes('nothing in it can be changed')]).toEqual([
      409,
      true,
    ]);
    expect((await post('/groups/new', { name: 'G' }, house.member)).status).toBe(409);
    expect((await post('/organisation/keep', {}, house.admin)).status).toBe(403);
    expect((await post('/organisation/keep', {}, house.owner)).status).toBe(303);
    expect(await web.text('/', house.owner)).not.toContain('will be deleted');
  });

  test('wants a proof that is fresh', async () => {
    const house = await createTestOrganisation(web.sql, { name: 'Guarded' });
    await web.cookieOf(house.owner);
    await web.sql`update sessions set proven_at = now() - interval '1 hour' where user_id = ${house.owner.user}`;
    const { status, headers } = await post(
      '/organisation/delete',
      { name: 'Guarded' },
      house.owner,
    );
    expect([status, headers.get('location')]).toEqual([
      303,
      '/confirm?next=%2Forganisation%2Fdelete',
    ]);
    const [row] = await web.sql`select ends_at from organisations where id = ${house.organisation}`;
    expect(row?.ends_at).toBeNull();
  });
});

describe('another organisation', () => {
  test('is created by an owner of one, with its plan, and is shown from then on; five are the limit', async () => {
    const house = await createTestOrganisation(web.sql, { name: 'First', plan: 'team' });
    const make = (name: string, by: Person) =>
      post('/organisations/new', { name, time_zone: 'Europe/Oslo' }, by);
    expect(await web.text('/organisations', house.admin)).not.toContain('/organisations/new');
    expect((await make('Mine', house.admin)).text).toContain(
      'Only owners of an organisation can create another one',
    );
    expect(await web.text('/organisations', house.owner)).toContain('/organisations/new');
    expect((await make(' ', house.owner)).status).toBe(400);
    expect((await make('Second', house.owner)).headers.get('location')).toBe('/');
    const shown = await web.text('/organisation', house.owner);
    expect([
      shown.includes('<h1>Second</h1>'),
      shown.includes('Europe/Oslo'),
      shown.includes('Team'),
    ]).toEqual([true, true, true]);
    expect(await web.text('/', house.owner)).not.toContain('First');
    for (const name of ['Third', 'Fourth', 'Fifth'])
      expect((await make(name, house.owner)).status).toBe(303);
    const over = await make('Sixth', house.owner);
    expect([over.status, over.text.includes('5 are the most')]).toEqual([409, true]);
    await post('/organisations', { organisation_id: house.organisation }, house.owner);
    expect(await web.text('/organisation', house.owner)).toContain('<h1>First</h1>');
  });
});

test('the use of a plan is shown as a number and a bar', async () => {
  const small = await createTestOrganisation(web.sql, { plan: 'team' });
  const text = await web.text('/organisation', small.viewer);
  expect(text).toContain('4 of 10');
  expect(text).toMatch(/<rect width="40"/);
});

describe('members', () => {
  test('get another role, and leave; of owners one stays', async () => {
    const house = await createTestOrganisation(web.sql);
    const role = (of: Person, to: string, by: Person) =>
      post(`/members/${of.user}/role`, { role: to }, by);
    expect((await role(house.viewer, 'member', house.admin)).status).toBe(303);
    expect((await role(house.owner, 'viewer', house.owner)).text).toContain(
      'This is the only owner',
    );
    expect((await post(`/members/${house.owner.user}/remove`, {}, house.owner)).status).toBe(409);
    expect((await post(`/members/${house.member.user}/remove`, {}, house.admin)).status).toBe(303);
    expect((await web.get('/', { as: house.member })).status).toBe(403);
    const roles =
      await web.sql`select role from memberships where organisation_id = ${house.organisation} order by role`;
    expect(roles.map((row) => row.role)).toEqual(['admin', 'member', 'owner']);
  });

  test('leave by themselves, whatever their role, and what is theirs ends; the last owner stays', async () => {
    const house = await createTestOrganisation(web.sql, { name: 'Departures' });
    expect(await web.text('/members', house.viewer)).toContain('href="/members/leave"');
    const leave = (by: Person) => post('/members/leave', {}, by);
    const stays = await leave(house.owner);
    expect([stays.status, stays.text.includes('This is the only owner')]).toEqual([409, true]);
    for (const who of [house.viewer, house.member, house.admin]) {
      expect((await leave(who)).headers.get('location')).toBe('/organisations');
      expect((await web.get('/', { as: who })).status).toBe(403);
      expect(await web.sql`select 1 from tokens where user_id = ${who.user}`).toHaveLength(0);
    }
    expect(await web.text('/members', house.owner)).toContain('You are the only member');
  });

  test('who are not owners cannot create, remove or invite owners', async () => {
    const house = await createTestOrganisation(web.sql);
    expect(
      (await post(`/members/${house.admin.user}/role`, { role: 'owner' }, house.admin)).status,
    ).toBe(403);
    expect(
      (await post('/members/invite', { email: 'x@example.org', role: 'owner' }, house.admin))
        .status,
    ).toBe(403);
    expect(
      (await post(`/members/${house.member.user}/role`, { role: 'owner' }, house.owner)).status,
    ).toBe(303);
    expect((await post(`/members/${house.member.user}/remove`, {}, house.admin)).status).toBe(403);
    const owners =
      await web.sql`select 1 from memberships where organisation_id = ${house.organisation} and role = 'owner'`;
    expect(owners).toHaveLength(2);
  });

  test('an invitation that is renewed has another link, and the one before leads nowhere', async () => {
    const house = await createTestOrganisation(web.sql);
    const linkIn = (text: string): string => /\/join\/[\w-]{43}/.exec(text)?.[0] ?? '';
    const first = linkIn(
      (await post('/members/invite', { email: 'new@example.org', role: 'viewer' }, house.owner))
        .text,
    );
    const [row] = await web.sql<
      { id: string }[]
    >`select id from invitations where organisation_id = ${house.organisation}`;
    const second = linkIn(
      (await post(`/members/invitations/${row?.id}/renew`, {}, house.owner)).text,
    );
    expect([(await web.get(first)).status, (await web.get(second)).status]).toEqual([404, 200]);
  });
});
