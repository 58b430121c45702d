import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { notificationInWords } from '../../../../coordinator/incidents/pages/detail.ts';
import { createChannel, deleteChannel } from '../../../../shared/api/channels.ts';
import { createGroup } from '../../../../shared/api/groups.ts';
import { type Operation, type OutputOf, rawInput } from '../../../../shared/api/operation.ts';
import { type Demo, seedDemo } from '../../../support/demo.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import { sameSite, startWeb, type TestWeb } from '../../../support/web.ts';

/** Why somebody was told, who is on it, and where the links of messages lead. */

let web: TestWeb;
let demo: Demo;
beforeAll(async () => {
  web = await startWeb();
  demo = await seedDemo(web.sql, web.house.organisation, Date.now());
});
afterAll(() => web.close());
beforeEach(async () => {
  await web.sql`update incidents set acknowledged_at = null, acknowledged_by = null, acknowledged_as = null`;
});

const onIt = async () => {
  const [row] = await web.sql<{ by: string | null; as: string | null }[]>`
    select acknowledged_by as by, acknowledged_as as as from incidents where id = ${demo.incident}`;
  return row;
};
const ask = async <Op extends Operation>(operation: Op, input: object): Promise<OutputOf<Op>> =>
  // The gate's handlers are typed by their operations; a table of unlike operations cannot say so.
  (await web.gate.execute(operation, web.house.owner.caller, rawInput(operation, input))).body as OutputOf<Op>;
const incident = () => `/incidents/${demo.incident}`;

describe('the page of an incident', () => {
  test('rule 40: tells for every channel why it was told or not, with its latency, to viewers too', async () => {
    const { text } = await web.get(incident(), { as: web.house.viewer });
    expect(text).toContain('#ops was told. One is told later, if it is needed then.');
    expect(text).toContain('Told, taken in 191 ms');
    for (const line of [
      'Attempt 1: it was not taken, and is tried again (status 503: it answers with an error).',
      'Attempt 2: it was taken (status 200).',
      'It waited: this channel is told only later',
      'Not told: nobody has said yet that this mailbox is theirs.',
      'Not told: the channel is turned off.',
    ])
      expect(text).toContain(line);
  });

  test('rule 34: is where a member says that they are on it, once; a viewer only sees who is', async () => {
    const button = `action="${incident()}/acknowledge"`;
    expect((await web.get(incident(), { as: web.house.viewer })).text).not.toContain(button);
    expect((await web.get(incident(), { as: web.house.member })).text).toContain(button);
    const done = await web.post(`${incident()}/acknowledge`, {}, { as: web.house.member, headers: sameSite });
    expect([done.status, done.headers.get('location')]).toEqual([303, incident()]);
    expect((await onIt())?.by).toBe(web.house.member.user);
    const { text } = await web.get(incident(), { as: web.house.viewer });
    expect(text).toContain(`<b>${web.house.member.email}</b> is on it`);
    expect((await web.get(incident(), { as: web.house.owner })).text).not.toContain(button);
  });
});

test('the page of a monitor says who is told of it, when, and who is not', async () => {
  const { text } = await web.get(`/monitors/${demo.idOf('Checkout')}`, { as: web.house.viewer });
  const told = text.slice(text.indexOf('id="told"'), text.indexOf('</section>', text.indexOf('id="told"')));
  expect(
    [...told.matchAll(/<a href="\/alerts\/[^"]+">([^<]+)<\/a> <span class="soft">([^<]+)/g)].map(([, name, when]) => [name, when]),
  ).toEqual([
    ['#ops', 'at once'],
    ['ana@shop.example', 'at once'],
    ['Night shift', 'at once'],
    ['Pager', 'after 5 min'],
  ]);
  expect(told).toContain('Not confirmed yet');
  expect((await web.get(`/monitors/${demo.idOf('CDN')}`, { as: web.house.viewer })).text).not.toContain('Night shift');
});

test('the form of a monitor says who would be told, as the channels chose, in the group that is chosen', async () => {
  const { id: group } = await ask(createGroup, { name: 'Told of' });
  const hook = {
    kind: 'webhook',
    name: 'Group hook',
    config: { url: 'https://hooks.example.org/' },
    covers: 'chosen',
    try: false,
    groups: [group],
  };
  const { id: channel } = await ask(createChannel, hook);
  const told = (text: string): string => /<p id="would-be-told"[^>]*>([^<]*)/.exec(text)?.[1] ?? '';
  const fresh = told((await web.get('/monitors/new', { as: web.house.member })).text);
  expect(fresh).toMatch(/^#ops at once; Pager after 5 min\. Not told: ana@shop\.example \(not confirmed yet\)/);
  expect(fresh).not.toContain('Group hook');
  const chosen = await web.post('/monitors/new', { type: 'https', act: 'look', group }, { as: web.house.member, headers: sameSite });
  expect(told(chosen.text)).toContain('Group hook at once');
  const checkout = `/monitors/${demo.idOf('Checkout')}/edit`;
  expect(told((await web.get(checkout, { as: web.house.member })).text)).toContain('Night shift');
  expect(notificationInWords([])).toBe('Nobody would be told when it is down.');
  await ask(deleteChannel, { channel_id: channel });
});

describe('the link of a message', () => {
  // As a phone or a mail service posts: no browser, no session, nothing that says where it comes from.
  const fromOutside = (path: string, form: Record<string, string> = {}) => web.post(path, form);
  const acknowledge = () => `/acknowledge/${demo.channels.links.acknowledge}`;
  const unsubscribe = () => `/unsubscribe/${demo.channels.links.unsubscribe}`;

  test('rule 34: acknowledges with a POST, from anywhere, and only shows with a GET', async () => {
    const shown = await web.get(acknowledge());
    expect(shown.text).toContain('Checkout is down: status 503, expected 2xx.');
    expect((await onIt())?.as).toBeNull();
    expect([shown.headers.get('cache-control'), shown.headers.get('referrer-policy')]).toEqual(['no-store', 'no-referrer']);
    expect((await fromOutside(acknowledge())).text).toContain('You are on it.');
    expect((await onIt())?.as).toContain('#ops');
    expect((await fromOutside(acknowledge())).text).toContain('somebody is on it already');
    expect((await web.get(acknowledge())).text).toContain('Somebody is on it.');
  });

  test('rule 34: has a short form for an SMS, with the same rights', async () => {
    const { acknowledge_short: short } = demo.channels.links;
    expect(short).toMatch(/^[0-9a-z]{1,10}[\w-]{16}$/);
    await web.sql`update incidents set acknowledged_at = null, acknowledged_as = null`;
    const shown = await web.get(`/a/${short}`);
    expect(shown.text).toContain('Checkout is down: status 503, expected 2xx.');
    expect(await onIt()).toMatchObject({ as: null });
    expect([shown.headers.get('cache-control'), shown.headers.get('referrer-policy')]).toEqual(['no-store', 'no-referrer']);
    for (const path of [`/a/${short.slice(0, -2)}xx`, `/a/1${short}`, `/unsubscribe/${short}`])
      expect([path, (await web.get(path)).status, (await fromOutside(path)).status]).toEqual([path, 404, 404]);
    expect((await fromOutside(`/a/${short}`)).text).toContain('You are on it.');
    expect((await onIt())?.as).toContain('#ops');
  });

  test('is good for what it says alone, and not when a letter of it is another', async () => {
    const { links } = demo.channels;
    for (const path of [
      `/unsubscribe/${links.acknowledge}`,
      `/acknowledge/${links.unsubscribe}`,
      `/acknowledge/${links.acknowledge.slice(0, -2)}xx`,
    ])
      expect([path, (await web.get(path)).status, (await fromOutside(path)).status]).toEqual([path, 404, 404]);
  });

  test('ends the mails of one address in one click, however the mail service sends it', async () => {
    expect((await web.get(unsubscribe())).text).toContain('night@shop.example');
    const suppressed = () => web.sql<{ address: string }[]>`select address from suppressions`;
    expect(await suppressed()).toEqual([]);
    const body = new FormData();
    body.set('List-Unsubscribe', 'One-Click');
    expect((await fetch(`${web.url}${unsubscribe()}`, { method: 'POST', body })).status).toBe(200);
    expect(await suppressed()).toEqual([{ address: 'night@shop.example' }]);
    expect((await fromOutside(unsubscribe(), { 'List-Unsubscribe': 'One-Click' })).status).toBe(200);
  });

  test('asks a mailbox first, and its yes counts once', async () => {
    const secret = 'y'.repeat(43);
    const [{ id } = { id: '' }] = await web.sql<{ id: string }[]>`
      update channels set verification = ${await web.accountSecrets.fingerprint('channel', secret)}, verification_until = now() + interval '1 day'
      where name = 'ana@shop.example' returning id`;
    const verified = async () => (await web.sql`select 1 from channels where id = ${id} and verified_at is not null`).length === 1;
    expect((await web.get(`/confirm-channel/${secret}`)).text).toContain('Yes, send them');
    expect(await verified()).toBe(false);
    const say = () => web.post(`/confirm-channel/${secret}`, {}, { headers: sameSite });
    expect((await say()).text).toContain('is told from now on');
    expect(await verified()).toBe(true);
    expect((await say()).text).toContain('You have said yes already.');
    expect((await web.get(`/confirm-channel/${secret}`)).text).toContain('You have said yes already.');
    const foreign = await web.get(`/confirm-channel/${'z'.repeat(43)}`);
    expect([foreign.status, foreign.text.includes('This link is not good.'), foreign.text.includes('<form')]).toEqual([404, true, false]);
  });

  test('and the page of a message tell nobody of another organisation', async () => {
    const other = await createTestOrganisation(web.sql);
    expect((await web.get(`/alerts/${demo.channels.ops}/messages/${demo.channels.message}`, { as: other.owner })).status).toBe(404);
    expect((await web.get(`/alerts/${demo.channels.ops}/messages/${demo.channels.message}`, { as: web.house.viewer })).text).toContain(
      'Why were you told?',
    );
  });

  test('a message is found under the channel that it went to alone', async () => {
    expect((await web.get(`/alerts/${demo.channels.pager}/messages/${demo.channels.message}`, { as: web.house.viewer })).status).toBe(404);
  });
});
