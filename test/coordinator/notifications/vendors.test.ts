import { createECDH } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Verdict } from '../../../coordinator/deliveries/model.ts';
import { channelKinds, kindOf } from '../../../coordinator/notifications/kinds/index.ts';
import type { Notification } from '../../../coordinator/notifications/message.ts';
import { createSender, type Sender } from '../../../coordinator/notifications/transport.ts';
import { systemClock } from '../../../shared/base/time.ts';
import {
  at,
  bodyOf,
  configs,
  jsonOf,
  made,
  monitorOf,
  overOf,
  requestOf,
  textsOf,
  toldOf,
} from '../../support/channels.ts';
import { hostileMessages } from '../../support/hostile-messages.ts';
import fc from '../../support/random.ts';
import {
  type Behaviour,
  breaksOff,
  hangs,
  openReceiver,
  type Receiver,
  redirected,
  says,
} from '../../support/receivers.ts';
import { vendorAnswers } from '../../support/vendors.ts';

/** Each kind by the real sender against a real server that behaves as its vendor does. */
describe('vendors', () => {
  let receiver: Receiver;
  let sender: Sender;
  let hasty: Sender;
  beforeAll(async () => {
    receiver = await openReceiver();
    const keys = createECDH('prime256v1');
    keys.generateKeys();
    const vapid = async () => ({
      subject: 'mailto:ops@antipode.example',
      public_key: keys.getPublicKey().toString('base64url'),
      private_key: keys.getPrivateKey().toString('base64url'),
    });
    const parts = { clock: systemClock, allow: ['127.0.0.1'], mail: undefined, vapid };
    sender = createSender(parts);
    hasty = createSender({ ...parts, limitMs: 200 });
  });
  afterAll(async () => {
    await sender.close();
    await hasty.close();
    await receiver.close();
  });

  const judged = async (
    id: string,
    behaviour: Behaviour,
    by: Sender = sender,
  ): Promise<Verdict> => {
    const kind = kindOf(id);
    if (kind === undefined) throw new Error(`no kind ${id}`);
    receiver.answer(behaviour);
    return kind.judge(
      await by.send(
        redirected(kind.message(toldOf(), configs[id] ?? {}, Date.now()), receiver.url),
      ),
    );
  };

  test('every kind that goes by HTTP has a vendor here', () => {
    expect(Object.keys(vendorAnswers).toSorted()).toEqual(
      channelKinds.flatMap(({ id }) => (id === 'email' ? [] : [id])).toSorted(),
    );
  });

  describe.each(Object.entries(vendorAnswers))('%s', (id, answers) => {
    test('is accepted, under the id that the vendor gives it', async () => {
      expect(await judged(id, answers.taken)).toEqual(
        answers.reference === undefined
          ? { is: 'delivered' }
          : { is: 'delivered', reference: answers.reference },
      );
    });

    test('is a permanent failure where the vendor says so, in words', async () => {
      for (const [behaviour, words] of answers.refused)
        expect(await judged(id, behaviour)).toMatchObject({
          is: 'refused',
          words: expect.stringMatching(words),
        });
    });

    test('is retried after a temporary failure, not before the vendor allows', async () => {
      for (const [behaviour, after_s] of answers.retry)
        expect(await judged(id, behaviour)).toEqual({
          is: 'retry',
          words: expect.any(String),
          ...(after_s === undefined ? {} : { after_s }),
        });
    });

    test('a redirect, a hang and an answer broken off in its head are tried again; one broken off in its body was taken', async () => {
      expect(await judged(id, says(302, '', { location: 'http://127.0.0.1/' }))).toMatchObject({
        is: 'retry',
        words: expect.stringMatching(/redirect/),
      });
      expect(await judged(id, hangs, hasty)).toMatchObject({
        is: 'retry',
        words: expect.stringMatching(/10 s/),
      });
      expect(await judged(id, (response) => void response.socket?.destroy())).toMatchObject({
        is: 'retry',
      });
      expect(await judged(id, breaksOff(200))).toEqual({ is: 'delivered' });
      expect(await judged(id, says(200, 'x'.repeat(1_000_000)))).toEqual({ is: 'delivered' });
    });
  });

  test('an impossible message id is ignored, whatever a receiver says', async () => {
    for (const id of ['\u0000', 'x'.repeat(60_000), 'two words', '', null, { a: 1 }, true])
      expect(await judged('gotify', says(200, { id }))).toEqual({ is: 'delivered' });
    expect(await judged('gotify', says(200, '{"__proto__": {"id": 7}}'))).toEqual({
      is: 'delivered',
    });
    expect(
      await judged('telegram', says(400, { parameters: { migrate_to_chat_id: '\u0000<b>' } })),
    ).toEqual({
      is: 'refused',
      words: expect.not.stringContaining('number'),
    });
  });

  test('Retry-After may be an instant, by the clock of who says it', async () => {
    const date = 'Sun, 22 Nov 2026 18:00:00 GMT';
    const later = (after: string, more: { readonly [name: string]: string } = { date }) =>
      judged('gotify', says(503, '', { 'retry-after': after, ...more }));
    expect(await later('Sun, 22 Nov 2026 18:01:30 GMT')).toMatchObject({ after_s: 90 });
    expect(await later('Sun, 22 Nov 2026 17:00:00 GMT')).toMatchObject({ after_s: 0 });
    expect(await later('99999999')).toMatchObject({ after_s: 86_400 });
    for (const nonsense of ['soon', '-5', '1e3', 'Infinity', ''])
      expect(await later(nonsense)).not.toHaveProperty('after_s');
  });

  describe('what goes over the wire', () => {
    const sent = async (id: string, notification = toldOf()) => {
      const kind = kindOf(id);
      if (kind === undefined) throw new Error(`no kind ${id}`);
      const before = receiver.got.length;
      receiver.answer(vendorAnswers[id]?.taken ?? says(200));
      await sender.send(
        redirected(kind.message(notification, configs[id] ?? {}, Date.now()), receiver.url),
      );
      return receiver.got.slice(before);
    };

    test('a webhook is verified by the library of Standard Webhooks, and a changed one is not', async () => {
      const [got] = await sent('webhook');
      const body = got?.body.toString() ?? '';
      const headers = Object.fromEntries(
        Object.entries(got?.headers ?? {}).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value]] : [],
        ),
      );
      const verifier = new Webhook(configs.webhook?.secret ?? '');
      expect(verifier.verify(body, headers)).toMatchObject({
        type: 'incident.down',
        data: {
          organisation: 'Shop & Söhne',
          incidents: [
            {
              monitor: { name: 'Checkout' },
              cause: 'status 503, expected 2xx',
              cause_id: '0190c0de-0000-7000-8000-0000000000ca',
            },
          ],
        },
      });
      expect(headers['webhook-id']).toBe('a-41');
      expect(() => verifier.verify(body.replace('Checkout', 'Other'), headers)).toThrow();
      expect(() =>
        new Webhook(`whsec_${Buffer.alloc(32, 8).toString('base64')}`).verify(body, headers),
      ).toThrow();
    });

    test('another attempt is the same webhook, signed for its own time', () => {
      const kind = kindOf('webhook');
      const [one, two] = [0, 3_600_000].map((later) =>
        kind?.message(toldOf(), configs.webhook ?? {}, 1_795_370_704_000 + later),
      );
      if (one?.by !== 'https' || two?.by !== 'https') throw new Error('is no request');
      expect(two.body).toBe(one.body);
      expect(two.headers['webhook-id']).toBe(one.headers['webhook-id']);
      expect(two.headers['webhook-signature']).not.toBe(one.headers['webhook-signature']);
      expect(
        new Webhook(configs.webhook?.secret ?? '').sign(
          'a-41',
          new Date(1_795_374_304_000),
          two.body,
        ),
      ).toBe(two.headers['webhook-signature']);
    });

    test('secrets travel where the vendor wants them, and nowhere else', async () => {
      const header = async (id: string, name: string) => (await sent(id))[0]?.headers[name];
      expect(await header('matrix', 'authorization')).toBe('Bearer syt_secret');
      expect(await header('gotify', 'x-gotify-key')).toBe('Asecret');
      expect(await header('ntfy', 'authorization')).toBe('Bearer tk_secret');
      expect(await header('zulip', 'authorization')).toBe(
        `Basic ${Buffer.from('bot@zulip.shop.example:k3y').toString('base64')}`,
      );
      expect((await sent('discord'))[0]?.path).toMatch(/\?wait=true$/);
      expect((await sent('google_chat'))[0]?.path).toMatch(
        /key=k3&token=t4&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&requestId=a-41$/,
      );
      expect((await sent('matrix'))[0]).toMatchObject({
        method: 'PUT',
        path: '/_matrix/client/v3/rooms/!abc%3Ashop.example/send/m.room.message/a-41',
      });
    });

    test('Pushover: what rings is ended with the outage', async () => {
      expect((await sent('pushover', overOf())).map(({ path }) => path)).toEqual([
        '/1/messages.json',
        '/1/receipts/cancel_by_tag/a-41.json',
      ]);
    });
  });
});

describe('channel messages', () => {
  const runs = { numRuns: 60 };

  describe('addresses', () => {
    test('Discord, Mattermost and incident.io: can be copied as they are: in code, with nothing hidden in them', () => {
      const target = 'http://shop.example:8080/a_b/*c?d=~e&f=@ops';
      const notification = toldOf({
        sentence: `${target} is down: it leads to ${target}.`,
        monitors: [monitorOf({ target, cause: `leads to ${target}` })],
      });
      for (const id of ['discord', 'mattermost', 'incident_io']) {
        const said = textsOf(jsonOf(id, notification)).filter((text) =>
          text.includes('shop.example'),
        );
        expect(said.length, id).toBeGreaterThan(0);
        expect(said.join('\n'), id).toContain(`\`${target}\``);
        expect(said.join('\n'), id).not.toContain(':\u200b//');
      }
    });

    test('Telegram and Google Chat: nothing is hidden in them', () => {
      const target = 'http://shop.example:8080/a_b/*c?d=~e&f=@ops';
      const notification = toldOf({
        sentence: `${target} is down: it leads to ${target}.`,
        monitors: [monitorOf({ target })],
      });
      for (const id of ['telegram', 'google_chat']) {
        const said = textsOf(jsonOf(id, notification))
          .map((text) => text.replaceAll('&amp;', '&'))
          .filter((text) => text.includes('shop.example'));
        expect(said.length, id).toBeGreaterThan(0);
        for (const text of said) expect(text, id).toContain(target);
      }
    });

    test('stay within what a vendor takes, however many there are', () => {
      const discord = z.object({ embeds: z.tuple([z.object({ title: z.string() })]) });
      const {
        embeds: [embed],
      } = discord.parse(jsonOf('discord', toldOf({ sentence: 'a://b '.repeat(60) })));
      expect(embed.title.length).toBeLessThanOrEqual(250);
      expect(embed.title.split('`').length % 2).toBe(1);
    });
  });

  describe('an end uses the key of its beginning', () => {
    test('PagerDuty and incident.io: one key opens, acknowledges and closes', () => {
      const actions = (id: string, notification: Notification) => jsonOf(id, notification);
      expect(actions('pagerduty', toldOf())).toMatchObject({
        event_action: 'trigger',
        dedup_key: 'a-41',
        payload: { severity: 'critical' },
      });
      expect(
        actions(
          'pagerduty',
          toldOf({
            event: 'acknowledged',
            key: 'a-43',
            thread: { key: 'a-41', reference: null, over: false },
          }),
        ),
      ).toMatchObject({
        event_action: 'acknowledge',
        dedup_key: 'a-41',
      });
      expect(actions('pagerduty', overOf())).toMatchObject({
        event_action: 'resolve',
        dedup_key: 'a-41',
      });
      expect(actions('incident_io', toldOf())).toMatchObject({
        status: 'firing',
        deduplication_key: 'a-41',
      });
      expect(actions('incident_io', overOf())).toMatchObject({
        status: 'resolved',
        deduplication_key: 'a-41',
      });
    });

    test.each([
      ['down', 'critical'],
      ['reminder', 'critical'],
      ['flapping', 'warning'],
      ['acknowledged', 'info'],
      ['up', 'info'],
      ['closed', 'info'],
      ['test', 'info'],
    ] as const)('PagerDuty: the severity of "%s" is %s', (event, severity) => {
      const notification = toldOf({
        event,
        thread: { key: 'a-41', reference: null, over: event === 'up' || event === 'closed' },
      });
      expect(jsonOf('pagerduty', notification)).toMatchObject({ payload: { severity } });
    });

    test('PagerDuty: an alert that is already over pages no one, and a test leaves nothing open', () => {
      expect(requestOf(made('pagerduty', toldOf({ event: 'was_down' }))).url).toBe(
        'https://events.pagerduty.com/v2/change/enqueue',
      );
      const { afterwards, url } = requestOf(
        made('pagerduty', toldOf({ event: 'test', monitors: [] }), { region: 'eu' }),
      );
      expect(url).toBe('https://events.eu.pagerduty.com/v2/enqueue');
      expect(JSON.parse(afterwards?.body ?? '')).toMatchObject({
        event_action: 'resolve',
        dedup_key: 'a-41',
      });
    });

    test('Telegram replies, Matrix and Google Chat answer in the thread', () => {
      expect(jsonOf('telegram', overOf())).toMatchObject({ reply_parameters: { message_id: 17 } });
      expect(jsonOf('telegram', toldOf())).not.toHaveProperty('reply_parameters');
      const thread = { key: 'a-41', reference: '$1:x', over: true };
      expect(jsonOf('matrix', overOf({ thread }))).toMatchObject({
        'm.relates_to': { rel_type: 'm.thread', event_id: '$1:x' },
      });
      expect(requestOf(made('matrix', overOf())).url).toMatch(/\/send\/m\.room\.message\/a-42$/);
      expect(jsonOf('google_chat', overOf())).toMatchObject({ thread: { threadKey: 'a-41' } });
    });

    test('Pushover: an emergency ends when it is acknowledged or over', () => {
      const form = (notification: Notification) =>
        Object.fromEntries(new URLSearchParams(requestOf(made('pushover', notification)).body));
      expect(form(toldOf())).toMatchObject({
        priority: '2',
        retry: '60',
        expire: '3600',
        tags: 'a-41',
      });
      expect(form(overOf())).toMatchObject({ priority: '0' });
      expect(requestOf(made('pushover', overOf())).afterwards?.url).toBe(
        'https://api.pushover.net/1/receipts/cancel_by_tag/a-41.json',
      );
      expect(requestOf(made('pushover', toldOf())).afterwards).toBeUndefined();
    });

    test('ntfy: one tap acknowledges', () => {
      expect(jsonOf('ntfy', toldOf())).toMatchObject({
        priority: 4,
        actions: [
          { action: 'http', url: toldOf().links.acknowledge, method: 'POST', clear: true },
          { action: 'view' },
        ],
      });
      expect(
        jsonOf('ntfy', overOf({ links: { ...toldOf().links, acknowledge: null } })),
      ).toMatchObject({
        priority: 3,
        actions: [{ action: 'view' }],
      });
    });
  });

  test('Google Chat: good news is green, whatever the message is', () => {
    expect(bodyOf('google_chat', toldOf())).toContain(
      '<font color=\\"#1a7f4b\\">Everything else is up.</font>',
    );
    expect(
      bodyOf('google_chat', overOf({ others_down: { count: 1, names: ['Search'] } })),
    ).toContain('<font color=\\"#c8291f\\">Also down: Search.</font>');
  });

  test('times are of the clock of the organisation, with UTC beside it', () => {
    const said = (more: Partial<Notification>) =>
      textsOf(jsonOf('gotify', toldOf(more))).join('\n');
    expect(said({ time_zone: 'Europe/Berlin' })).toContain(
      'Started: 2026-11-22 19:04:52 (18:04:52 UTC)',
    );
    expect(said({ time_zone: 'Asia/Tokyo' })).toContain(
      'Started: 2026-11-23 03:04:52 (2026-11-22 18:04:52 UTC)',
    );
    expect(said({ time_zone: 'UTC' })).toContain('Started: 2026-11-22 18:04:52 UTC');
  });

  describe('many at once', () => {
    const many = toldOf({
      sentence: '120 monitors are down.',
      monitors: Array.from({ length: 120 }, (_, index) =>
        monitorOf({
          id: `m${index}`,
          name: `Shop ${index + 1}`,
          group: index < 60 ? 'Europe' : 'Asia',
          started_at: at - 5_000,
        }),
      ),
    });

    test('say since when', () => {
      expect(
        textsOf(jsonOf('gotify', { ...many, time_zone: 'Europe/Berlin' })).join('\n'),
      ).toContain('Since 2026-11-22 19:04:59 (18:04:59 UTC) (first)');
      for (const id of [
        'slack',
        'teams',
        'discord',
        'google_chat',
        'mattermost',
        'telegram',
        'matrix',
        'zulip',
        'ntfy',
      ])
        expect(textsOf(jsonOf(id, many)).join('\n'), id).toContain(
          'Since 2026-11-22 18:04:59 UTC (first)',
        );
    });

    test('stand under their groups, and what does not fit is counted', () => {
      const said = textsOf(jsonOf('gotify', many)).join('\n');
      expect(said).toMatch(/Europe:\n• Shop 1: status 503, expected 2xx\n/);
      for (const id of ['slack', 'discord', 'telegram', 'google_chat', 'ntfy']) {
        const text = textsOf(jsonOf(id, many)).join('\n').replaceAll('\\', '');
        const shown = new Set(text.match(/Shop \d+/g)).size;
        const more = Number(/and (\d+) more/.exec(text)?.[1] ?? 0);
        expect(shown + more, id).toBe(120);
        expect(shown, id).toBeGreaterThan(20);
      }
    });
  });

  describe('SMS', () => {
    const sms = (notification: Notification): string =>
      new URLSearchParams(requestOf(made('twilio_sms', notification)).body).get('Body') ?? '';

    const isGsm = (text: string): boolean =>
      /^[\x20-\x5f\x61-\x7e£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà€]*$/.test(text);
    const units = (text: string): number =>
      isGsm(text)
        ? [...text].reduce((sum, letter) => sum + ('^{}\\[~]|€'.includes(letter) ? 2 : 1), 0)
        : text.length;

    test('carries the link that acknowledges, whatever the name of the host and of what is down', () => {
      const link = `https://antipode.operations.a-longer-name-of-a-host.example.com/a/9ix${'k'.repeat(16)}`;
      fc.assert(
        fc.property(hostileMessages, (notification) => {
          const text = sms({
            ...notification,
            event: 'down',
            links: {
              ...notification.links,
              acknowledge: notification.links.incident,
              acknowledge_short: link,
            },
          });
          expect(text.endsWith(` ${link}`)).toBe(true);
          expect(units(text)).toBeLessThanOrEqual(isGsm(text) ? 306 : 134);
        }),
        runs,
      );
    });

    test('uses two segments rather than lose text', () => {
      const sentence =
        'Payments API (production) is down everywhere: No complete answer within 10 s (waiting for the response) while connecting to payments.';
      const text = sms(toldOf({ sentence }));
      expect(text).toBe(`${sentence.slice(0, -1)} https://antipode.example/a/9ix3Nw8k2Qm4svu7RzT1`);
      expect(units(text)).toBeGreaterThan(160);
    });

    test('names a monitor of a bundle, and is never cut inside brackets', () => {
      const monitors = ['Shop m0', 'Shop m1', 'Shop m2'].map((name, index) =>
        monitorOf({ name, id: `m${index}` }),
      );
      const notification = toldOf({
        sentence: '3 monitors are down.',
        monitors,
        others_down: { count: 11, names: [] },
      });
      expect(sms(notification)).toBe(
        '3 monitors are down: Shop m0 and 2 more (14 down in all) https://antipode.example/a/9ix3Nw8k2Qm4svu7RzT1',
      );
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 400 }), (length) => {
          const text = sms(
            toldOf({
              sentence: `${'x'.repeat(length)} is down: no answer (waiting for the response) in time.`,
              others_down: { count: 13, names: [] },
            }),
          );
          const [words = ''] = text.split(' https:');
          expect(words.split('(').length, words).toBe(words.split(')').length);
        }),
      );
    });

    test('fits: one or two segments with a link that acknowledges, else one', () => {
      expect(sms(toldOf())).toBe(
        'Checkout is down: status 503, expected 2xx https://antipode.example/a/9ix3Nw8k2Qm4svu7RzT1',
      );
      fc.assert(
        fc.property(hostileMessages, (notification) => {
          const text = sms(notification);
          const most = notification.links.acknowledge_short === null ? [160, 70] : [306, 134];
          expect(units(text)).toBeLessThanOrEqual(most[isGsm(text) ? 0 : 1] ?? 0);
        }),
        runs,
      );
    });

    test('replaces letters that GSM lacks, and leaves other scripts as they are', () => {
      expect(sms(toldOf({ sentence: 'Café “Žižka” is down.' }))).toContain('Café "Zizka" is down');
      expect(sms(toldOf({ sentence: '商店 结账 已停止' }))).toContain('商店 结账 已停止');
    });
  });
});
