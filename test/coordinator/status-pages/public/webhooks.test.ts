import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createSender } from '../../../../coordinator/notifications/transport.ts';
import { createSecretsAtRest } from '../../../../coordinator/secrets/at-rest.ts';
import { notifySubscribers } from '../../../../coordinator/status-pages/public/subscribing.ts';
import { createWebhookDelivery } from '../../../../coordinator/status-pages/public/webhooks.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { testLog } from '../../../support/network.ts';
import { testSecretKey } from '../../../support/people.ts';
import {
  type Behaviour,
  openReceiver,
  type Receiver,
  redirected,
  says,
} from '../../../support/receivers.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** Updates of a status page for programs, which a server confirms itself. */

const minute = 60_000;
const hour = 60 * minute;
const clock = { at: Date.now(), now: () => clock.at };
let web: TestWeb;
let receiver: Receiver;
let delivery: ReturnType<typeof createWebhookDelivery>;
const sender = createSender({ clock, allow: ['127.0.0.0/8'], mail: undefined, vapid: undefined });
/** What goes to hook.example arrives at the receiver; all else goes where it says. */
const send: typeof sender.send = (outgoing) =>
  sender.send(
    outgoing.by === 'https' && new URL(outgoing.url).hostname === 'hook.example'
      ? redirected(outgoing, receiver.url)
      : outgoing,
  );

const bodyOf = (body: Buffer) => JSON.parse(body.toString());
const answersChallenge: Behaviour = (response, { body }) => {
  const { type, data } = bodyOf(body);
  response.end(type === 'subscription.challenge' ? data.challenge : '');
};

beforeAll(async () => {
  receiver = await openReceiver();
  web = await startWeb({ clock, send });
  delivery = createWebhookDelivery({
    sql: web.sql,
    place: newId(),
    log: testLog(),
    clock,
    send,
    accountSecrets: web.accountSecrets,
    secrets: createSecretsAtRest(testSecretKey),
    baseUrl: () => web.url,
  });
});
beforeEach(() => receiver.answer(answersChallenge));
afterAll(async () => {
  await web.close();
  await receiver.close();
  await sender.close();
});

const page = async (slug: string): Promise<{ readonly id: string; readonly monitor: string }> => {
  const [id, monitor] = [newId(), newId()];
  const { organisation } = web.house;
  await web.sql`insert into status_pages (id, organisation_id, name, slug) values (${id}, ${organisation}, 'Shop status', ${slug})`;
  await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${organisation}, 0, 'xyzzy-inner', 'https', 'https://xyzzy.example/', 60)`;
  await web.sql`insert into status_page_monitors (page_id, monitor_id, display_name, position) values (${id}, ${monitor}, 'Checkout', 0)`;
  return { id, monitor };
};

const subscribe = async (slug: string, url = `https://hook.example/${slug}?key=s3cret`) => {
  clock.at += hour;
  return web.post(`/status/${slug}/subscribe`, { url, lang: 'en' });
};
const secretIn = (text: string): string => /whsec_[\w+/]+=*/.exec(text)?.[0] ?? 'none';
const leaveIn = (text: string): string =>
  new RegExp(`${web.url}(/status/[a-z-]+/leave/[\\w.-]+)`).exec(text)?.[1] ?? 'none';

/** As two coordinators do it at once. */
const deliver = async (): Promise<void> => {
  const now = { now: clock.at, hasMail: false };
  await Promise.all([notifySubscribers(web.sql, now), notifySubscribers(web.sql, now)]);
  await Promise.all([delivery.tick(), delivery.tick()]);
};
const sentTo = (slug: string) =>
  receiver.got
    .filter(({ path }) => path.startsWith(`/${slug}?`))
    .map(({ body, headers }) => ({ ...bodyOf(body), id: headers['webhook-id'] }))
    .filter(({ type }) => type !== 'subscription.challenge');
const post = async (of: { id: string; monitor: string }, text: string): Promise<void> => {
  const [incident, at] = [newId(), new Date(clock.at)];
  const { organisation } = web.house;
  await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
    values (${incident}, ${organisation}, ${of.monitor}, ${at}, ${at}, ${at})`;
  await web.sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at)
    values (${newId()}, ${of.id}, ${organisation}, ${incident}, 'investigating', ${text}, ${at})`;
};

describe('updates by webhook', () => {
  test('begin when the server answers a signed challenge, with a secret that is shown once', async () => {
    const { id } = await page('proved');
    const { status, text } = await subscribe('proved');
    expect(status).toBe(200);
    const [challenge] = receiver.got.filter(({ path }) => path.startsWith('/proved'));
    expect(bodyOf(challenge?.body ?? Buffer.from('{}'))).toMatchObject({
      type: 'subscription.challenge',
      data: { page: { name: 'Shop status', url: `${web.url}/status/proved` } },
    });
    const [row] = await web.sql`select * from status_page_subscribers where page_id = ${id}`;
    expect(row).toMatchObject({ email: null, host: 'hook.example', off_at: null });
    expect(row?.confirmed_at).not.toBeNull();
    for (const secret of ['s3cret', secretIn(text)])
      expect(JSON.stringify(row)).not.toContain(secret);
    // A second time, the secret of the first one stays.
    const again = await subscribe('proved');
    expect([again.status, secretIn(again.text)]).toEqual([422, 'none']);
  });

  test('do not begin without the right answer, nor at an address that is not public', async () => {
    const { id } = await page('unproved');
    const cases: readonly (readonly [url: string | undefined, answer: Behaviour])[] = [
      [undefined, says(200, 'OK')],
      [undefined, (response, { body }) => response.end(body)],
      [undefined, (response, { body }) => response.writeHead(500).end(bodyOf(body).data.challenge)],
      ['http://hook.example/', answersChallenge],
      ['https://user:pass@hook.example/', answersChallenge],
      ['no address', answersChallenge],
    ];
    for (const [url, answer] of cases) {
      receiver.answer(answer);
      expect((await subscribe('unproved', url)).status).toBe(422);
    }
    const guarded = await startWeb({ clock });
    try {
      await guarded.sql`insert into status_pages (id, organisation_id, name, slug) values (${newId()}, ${guarded.house.organisation}, 'Guarded', 'guarded')`;
      const url = receiver.url.replace('http:', 'https:');
      const before = receiver.connections();
      const { status } = await guarded.post('/status/guarded/subscribe', { url, lang: 'de' });
      expect([status, receiver.connections()]).toEqual([422, before]);
    } finally {
      await guarded.close();
    }
    expect(await web.sql`select 1 from status_page_subscribers where page_id = ${id}`).toHaveLength(
      0,
    );
  });

  test('are tried at most five times an hour for one address', async () => {
    await page('often');
    receiver.answer(says(200, 'OK'));
    const url = 'https://hook.example/often';
    clock.at += hour;
    const statuses = [];
    for (let tried = 0; tried < 6; tried += 1)
      statuses.push((await web.post('/status/often/subscribe', { url, lang: 'en' })).status);
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429]);
  });

  test('are signed, sent once under the name of the page, and retried until they are accepted', async () => {
    const of = await page('told');
    const secret = secretIn((await subscribe('told')).text);
    receiver.answer(says(503));
    await post(of, 'We are <b>on it</b>.');
    await deliver();
    await deliver();
    expect(sentTo('told')).toHaveLength(1);
    receiver.answer(says(204));
    clock.at += minute;
    await deliver();
    clock.at += minute;
    await deliver();
    const [first, second, ...others] = sentTo('told');
    expect(others).toEqual([]);
    expect(second).toEqual(first);
    expect(second).toMatchObject({
      type: 'incident.updated',
      data: {
        page: { name: 'Shop status', url: `${web.url}/status/told` },
        incident: { name: 'Checkout', status: 'investigating' },
        title: 'Investigating: Checkout',
        text: 'We are <b>on it</b>.',
      },
    });
    const got = receiver.got.findLast(({ path }) => path.startsWith('/told?'));
    expect(got?.path).toBe('/told?key=s3cret');
    const headers = Object.fromEntries(
      Object.entries(got?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    // The library refuses what is older than five minutes by the clock of the machine.
    const verifying = new Webhook(secret);
    const timestamp = new Date(Number(headers['webhook-timestamp']) * 1_000);
    expect(headers['webhook-signature']).toBe(
      verifying.sign(headers['webhook-id'] ?? '', timestamp, got?.body.toString() ?? ''),
    );
    expect(got?.body.toString()).not.toContain('xyzzy');
  });

  test('end by the link in each of them, and when the server says that it is gone', async () => {
    const of = await page('leaving');
    const { text } = await subscribe('leaving');
    await post(of, 'One');
    await deliver();
    const link = new URL(sentTo('leaving')[0]?.data.unsubscribe ?? '').pathname;
    expect(link).toBe(leaveIn(text));
    expect((await web.get(link)).status).toBe(200);
    expect((await web.post(link, {})).status).toBe(200);
    await post(of, 'Two');
    await deliver();
    expect(sentTo('leaving')).toHaveLength(1);
    await subscribe('leaving');
    receiver.answer(says(410));
    await post(of, 'Three');
    await deliver();
    expect(
      await web.sql`select 1 from status_page_subscribers where page_id = ${of.id}`,
    ).toHaveLength(0);
  });

  test('are switched off after three days of failures, and start again with a new challenge', async () => {
    const of = await page('failing');
    await subscribe('failing');
    receiver.answer(says(500));
    for (let day = 0; day < 5; day += 1) {
      await post(of, `Day ${day}`);
      for (let at = 0; at < 30; at += 1) {
        await deliver();
        clock.at += hour;
      }
    }
    const state = async () =>
      (
        await web.sql<
          { off: boolean; waiting: number }[]
        >`select off_at is not null as off, (select count(*)::int from deliveries where subscriber_id = s.id and state = 'waiting') as waiting
          from status_page_subscribers s where page_id = ${of.id}`
      ).map((row) => ({ ...row }));
    expect(await state()).toEqual([{ off: true, waiting: 0 }]);
    const { length } = sentTo('failing');
    await post(of, 'Too late');
    await deliver();
    expect(sentTo('failing')).toHaveLength(length);
    const list = await web.get(`/status-pages/${of.id}/subscribers`, { as: 'owner' });
    expect(list.text).toContain('Switched off');
    expect(await web.text(`/status-pages/${of.id}`, 'owner')).toContain('>No subscribers</a>');
    receiver.answer(answersChallenge);
    expect((await subscribe('failing')).status).toBe(200);
    expect(await state()).toEqual([{ off: false, waiting: 0 }]);
  });

  test('are counted and listed for who may change the page, and can be removed there', async () => {
    const of = await page('owned');
    await subscribe('owned');
    const path = `/status-pages/${of.id}`;
    const editor = await web.get(path, { as: 'owner' });
    expect(editor.text).toContain('>1 subscriber</a>');
    const list = await web.get(`${path}/subscribers`, { as: 'owner' });
    expect(list.text).toContain('hook.example');
    expect(list.text).not.toContain('s3cret');
    const form = /action="(\/status-pages\/[^"]+\/remove)"/.exec(list.text)?.[1] ?? 'none';
    expect((await web.send(form, {}, web.house.owner)).status).toBe(303);
    expect(await web.text(path, 'owner')).toContain('>No subscribers</a>');
  });

  test('are offered in the language of the page, also where no mail is set up', async () => {
    await page('spoken');
    const { text } = await web.get('/status/spoken?lang=fr');
    expect(text).toContain('URL de votre serveur');
    const { status, text: answer } = await web.post('/status/spoken/subscribe', {
      url: 'x',
      lang: 'fr',
    });
    expect([status, answer.includes('Ce n’est pas une URL https://')]).toEqual([422, true]);
  });
});
