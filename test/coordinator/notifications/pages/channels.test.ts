import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusedChannelForm } from '../../../../coordinator/notifications/pages/parts.ts';
import { delayFrom } from '../../../../coordinator/notifications/policy.ts';
import { formFrom } from '../../../../coordinator/web/form-data.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { Refusal } from '../../../../shared/base/errors.ts';
import type { Person } from '../../../support/people.ts';
import { openReceiver, type Receiver, says } from '../../../support/receivers.ts';
import { type Answer, startWeb, type TestWeb, type Values } from '../../../support/web.ts';

/** Channels on pages: made, tested, changed, ended; and the mute. */
describe('channels', () => {
  let web: TestWeb;
  let receiver: Receiver;
  beforeAll(async () => {
    web = await startWeb();
    receiver = await openReceiver();
  });
  afterAll(async () => {
    await receiver.close();
    await web.close();
  });

  const post = (path: string, form: Values, as: Person = web.house.owner): Promise<Answer> =>
    web.send(path, form, as);
  const ntfy = (more: Values = {}): Values => ({
    kind: 'ntfy',
    'config.url': receiver.url,
    'config.topic': 'ops',
    covers: 'all',
    ...more,
  });

  type Row = {
    readonly id: string;
    readonly user_id: string | null;
    readonly hours: object | null;
    readonly delay_s: number;
    readonly enabled: boolean;
  };
  const rowNamed = async (name: string): Promise<Row | undefined> =>
    (
      await web.sql<
        Row[]
      >`select id, user_id, hours, delay_s, enabled from channels where name = ${name} and deleted_at is null`
    )[0];

  const made = async (
    name: string,
    more: Values = {},
    as: Person = web.house.owner,
  ): Promise<Row> => {
    const { status, text } = await post('/alerts/new', ntfy({ name, act: 'save', ...more }), as);
    const row = await rowNamed(name);
    if (status !== 303 || row === undefined) throw new Error(`it was not saved: ${status} ${text}`);
    return row;
  };

  describe('a channel', () => {
    test('before there is any, the page is one sentence and one form, with the own address in it', async () => {
      const text = await web.text('/alerts', 'owner');
      expect(text).toContain('Nobody is notified of outages yet');
      expect(text).toContain(`value="${web.house.owner.email}"`);
      expect(await web.text('/alerts', 'viewer')).not.toContain('<form class="card begin"');
    });

    test('that waits for mail is counted by the bar of every page as by the headline', async () => {
      await made('Phones');
      await made('Ada');
      await made('Ben');
      // As after mail was taken out of the settings; one address was not confirmed before.
      await web.sql`update channels set kind = 'email' where name in ('Ada', 'Ben')`;
      await web.sql`update channels set verified_at = null where name = 'Ben'`;
      const text = await web.text('/alerts', 'owner');
      expect(text).toContain('<h1>2 channels cannot deliver alerts</h1>');
      expect(text).toContain('Until you fix it, only Phones receives alerts.');
      expect(await web.text('/members', 'owner')).toContain(
        '<p>2 channels cannot deliver alerts</p>',
      );
      await web.sql`delete from channels`;
    });

    test('is tested before it is saved: the test really arrives, its answer is shown, and the input is kept', async () => {
      const before = receiver.got.length;
      receiver.answer(says(200));
      const taken = await post(
        '/alerts/new',
        ntfy({
          act: 'try',
          'config.token': 'tk_abc',
          'hours.0.days[]': ['1', '3'],
          'hours.0.from': '09:00',
        }),
      );
      expect(taken.status).toBe(200);
      expect(taken.text).toContain('Test sent (HTTP 200');
      for (const kept of [
        'value="ops"',
        'value="tk_abc"',
        'name="hours.0.days[]" value="3" checked',
        'value="09:00"',
      ])
        expect(taken.text).toContain(kept);
      expect(receiver.got).toHaveLength(before + 1);
      receiver.answer(says(401));
      const refused = await post('/alerts/new', ntfy({ act: 'try' }));
      expect(refused.text).toContain('Test failed permanently (HTTP 401');
      expect((await web.sql`select 1 from channels`).length).toBe(0);
    });

    test('is saved with every field of the form, and the form shows it again', async () => {
      const hours = {
        'hours.zone': 'Europe/Berlin',
        'hours.0.days[]': ['1', '2'],
        'hours.0.from': '18:00',
        'hours.0.to': '00:00',
      };
      const { id, ...row } = await made('Evenings', { delay_s: '300', ...hours });
      expect(row).toMatchObject({ user_id: null, delay_s: 300 });
      expect(row.hours).toEqual({
        zone: 'Europe/Berlin',
        spans: [{ days: [1, 2], from: '18:00', to: '24:00' }],
      });
      const text = await web.text(`/alerts/${id}/edit`, 'admin');
      for (const shown of [
        'value="Evenings"',
        'value="18:00"',
        'value="00:00"',
        '<option value="300" selected>After 5 min',
        '<option selected>Europe/Berlin</option>',
      ])
        expect(text).toContain(shown);
      expect(await web.text(`/alerts/${id}`, 'viewer')).toContain(
        'Mon, Tue 18:00–24:00 (Europe/Berlin)',
      );
    });

    test('says of every field what is wrong with it, beside it', async () => {
      const { status, text } = await post(
        '/alerts/new',
        ntfy({ act: 'save', 'config.url': 'nowhere', 'config.topic': '', 'hours.0.from': '9' }),
      );
      expect(status).toBe(400);
      expect(text).toContain('id="field-config-url-fault"');
      expect(text).toContain('id="field-config-topic-fault"');
      const hours = await post('/alerts/new', ntfy({ act: 'save', 'hours.0.from': '9' }));
      expect(hours.text).toContain('id="field-hours-fault"');
    });

    test('never shows its secret again, keeps it where it is left as it is, and sends it to no other host', async () => {
      const { id } = await made('Secret', { 'config.token': 'tk_verysecret' });
      for (const page of [`/alerts/${id}`, `/alerts/${id}/edit`, '/alerts'])
        expect(await web.text(page, 'owner')).not.toContain('verysecret');
      const before = receiver.got.length;
      receiver.answer(says(200));
      await post(`/alerts/${id}/edit`, ntfy({ act: 'try', 'config.token': '***' }));
      expect(receiver.got.at(before)?.headers.authorization).toBe('Bearer tk_verysecret');
      const moved = await post(
        `/alerts/${id}/edit`,
        ntfy({ act: 'save', 'config.url': 'https://elsewhere.example', 'config.token': '***' }),
      );
      expect(moved.status).toBe(400);
      expect(moved.text).toContain('id="field-config-token-fault"');
    });

    test('shows the secret of a webhook once', async () => {
      const { status, text, headers } = await post('/alerts/new', {
        kind: 'webhook',
        'config.url': receiver.url,
        name: 'Hook',
        act: 'save',
      });
      const secret = /whsec_[\w+/=]+/.exec(text)?.[0];
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(secret).toBeDefined();
      const { id = '' } = (await rowNamed('Hook')) ?? {};
      expect(await web.text(`/alerts/${id}`, 'owner')).not.toContain(secret);
    });

    test('rule 30: a member creates and changes their own, and sees the owners of the others', async () => {
      const own = await made('My phone', { personal: 'true' }, web.house.member);
      expect(own.user_id).toBe(web.house.member.user);
      expect(
        (
          await post(
            `/alerts/${own.id}/edit`,
            ntfy({ name: 'My phone', enabled: 'false', act: 'save' }),
            web.house.member,
          )
        ).status,
      ).toBe(303);
      expect((await rowNamed('My phone'))?.enabled).toBe(false);
      const shared = await made('Everybody');
      for (const path of ['edit', 'delete'])
        expect((await web.get(`/alerts/${shared.id}/${path}`, { as: 'member' })).status).toBe(403);
      const shown = await web.get(`/alerts/${shared.id}`, { as: 'member' });
      expect(shown.text).not.toContain('Send a test');
      expect(
        (
          await post(
            '/alerts/new',
            ntfy({ name: 'Theirs', personal: 'false', act: 'save' }),
            web.house.member,
          )
        ).status,
      ).toBe(403);
    });

    test('covers the selected groups and monitors', async () => {
      const monitor = await post('/monitors/new', {
        type: 'https',
        target: 'https://shop.example/',
        name: 'Shop',
        interval_s: '60',
        act: 'save',
      });
      const id = monitor.headers.get('location')?.split('/').at(-1) ?? '';
      const channel = await made('Chosen', { covers: 'chosen', 'monitors[]': [id] });
      const text = await web.text(`/alerts/${channel.id}/edit`, 'owner');
      expect(text).toContain(`name="monitors[]" value="${id}" checked`);
      expect(await web.text('/alerts', 'owner')).toContain('1 monitor');
    });

    test('is tested from its own page, at most ten times an hour', async () => {
      const { id } = await made('Tested');
      receiver.answer(says(500));
      const once = await post(`/alerts/${id}/test`, {});
      expect(once.text).toContain('Test not delivered');
      await web.sql`insert into trials (organisation_id, kind, at) select ${web.house.organisation}, 'channel', now() from generate_series(1, 10)`;
      const enough = await post(`/alerts/${id}/test`, {});
      expect(enough.status).toBe(429);
      expect(enough.text).toContain('10 tests and confirmation mails an hour');
      for (const { text } of [once, enough]) expect(text).not.toContain('data-live');
    });

    test('is deleted from a page of its own', async () => {
      const { id } = await made('Gone');
      expect(await web.text(`/alerts/${id}/delete`, 'owner')).toContain('Delete Gone?');
      expect((await post(`/alerts/${id}/delete`, {})).headers.get('location')).toBe('/alerts');
      expect((await web.get(`/alerts/${id}`, { as: 'owner' })).status).toBe(404);
    });

    test('once deleted, it leaves its messages, whose page leads to no page that is gone', async () => {
      const { id } = await made('Pager');
      const message = newId();
      await web.sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, next_at, settled_at)
      values (${message}, ${web.house.organisation}, ${id}, 'down', ${message}, '{"sentence": "Shop is down.", "monitors": []}', 'delivered', now(), now(),
        now(), now())`;
      const linksOf = async (): Promise<string[]> => {
        const { status, text } = await web.get(`/alerts/${id}/messages/${message}`, {
          as: 'owner',
        });
        expect(status).toBe(200);
        const [main = ''] = text.split('<main')[1]?.split('</main>') ?? [];
        return [...main.matchAll(/href="(\/[^"#]*)"/g)].map(([, href = '']) => href);
      };
      expect(await linksOf()).toContain(`/alerts/${id}`);
      await post(`/alerts/${id}/delete`, {});
      const links = await linksOf();
      expect(links).toContain('/alerts');
      for (const href of links)
        expect([href, (await web.get(href, { as: 'owner' })).status]).toEqual([href, 200]);
    });
  });

  test('rule 36: a mute is shown on every page while it lasts, and members who may write can end it', async () => {
    await post('/alerts/mute', { minutes: '60' }, web.house.member);
    for (const page of ['/', '/incidents', '/alerts', '/members', '/profile'])
      expect([
        page,
        (await web.text(page, 'viewer')).includes('All alerts are muted until'),
      ]).toEqual([page, true]);
    expect(await web.text('/', 'viewer')).not.toContain('Unmute');
    expect(await web.text('/', 'member')).toContain('Unmute');
    await post('/alerts/unmute', {}, web.house.member);
    expect(await web.text('/', 'viewer')).not.toContain('All alerts are muted');
  });
});

describe('channel refused', () => {
  const kind = {
    id: 'webhook',
    name: 'Webhook',
    about: '',
    family: 'webhook',
    fields: [],
  } as const;
  const form = formFrom('delay_s=99999999');

  const refusalOf = (act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      return error;
    }
  };

  test('a delay that is out of range is an error at its field of the form, a config error at the fields of its kind', () => {
    const late = refusedChannelForm(
      form,
      refusalOf(() => delayFrom(99_999_999)),
      kind,
    );
    expect([[...late.faults], late.objections, late.status]).toEqual([
      [['delay_s', 'Must be from 0 (at once) to 86400 seconds.']],
      [],
      400,
    ]);
    const crooked = new Refusal('channel_invalid', {
      'config.url': 'must be an address',
      'config.else': 'is not known',
    });
    const told = refusedChannelForm(form, crooked, kind);
    expect([[...told.faults], told.objections]).toEqual([
      [],
      ['Config.url: must be an address.', 'Config.else: is not known.'],
    ]);
  });
});
