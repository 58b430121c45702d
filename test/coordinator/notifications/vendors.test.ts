import { createECDH } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { channelKinds, kindOf } from '../../../coordinator/notifications/kinds/index.ts';
import type { Verdict } from '../../../coordinator/notifications/kinds/types.ts';
import { createSender, type Sender } from '../../../coordinator/notifications/transport.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { configs, overOf, toldOf } from '../../support/channels.ts';
import { type Behaviour, breaksOff, hangs, openReceiver, type Receiver, redirected, says } from '../../support/receivers.ts';
import { vendorAnswers } from '../../support/vendors.ts';

/** Each kind by the real sender against a real server that behaves as its vendor does. */

let receiver: Receiver;
let sender: Sender;
let hasty: Sender;
beforeAll(async () => {
  receiver = await openReceiver();
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  const vapid = {
    subject: 'mailto:ops@antipode.example',
    public_key: keys.getPublicKey().toString('base64url'),
    private_key: keys.getPrivateKey().toString('base64url'),
  };
  const parts = { clock: systemClock, allow: ['127.0.0.1'], mail: undefined, vapid };
  sender = createSender(parts);
  hasty = createSender({ ...parts, limitMs: 200 });
});
afterAll(async () => {
  await sender.close();
  await hasty.close();
  await receiver.close();
});

const judged = async (id: string, behaviour: Behaviour, by: Sender = sender): Promise<Verdict> => {
  const kind = kindOf(id);
  if (kind === undefined) throw new Error(`no kind ${id}`);
  receiver.answer(behaviour);
  return kind.judge(await by.send(redirected(kind.message(toldOf(), configs[id] ?? {}, Date.now()), receiver.url)));
};

test('every kind that goes by HTTP has a vendor here', () => {
  expect(Object.keys(vendorAnswers).toSorted()).toEqual(channelKinds.flatMap(({ id }) => (id === 'email' ? [] : [id])).toSorted());
});

describe.each(Object.entries(vendorAnswers))('%s', (id, answers) => {
  test('is taken, under the name that the vendor gives it', async () => {
    expect(await judged(id, answers.taken)).toEqual(
      answers.reference === undefined ? { is: 'taken' } : { is: 'taken', reference: answers.reference },
    );
  });

  test('is refused for good where the vendor means it so, in words', async () => {
    for (const [behaviour, words] of answers.refused)
      expect(await judged(id, behaviour)).toEqual({ is: 'refused', words: expect.stringMatching(words) });
  });

  test('is tried again where it may pass, not before the vendor wants it', async () => {
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
    expect(await judged(id, hangs, hasty)).toMatchObject({ is: 'retry', words: expect.stringMatching(/10 s/) });
    expect(await judged(id, (response) => void response.socket?.destroy())).toMatchObject({ is: 'retry' });
    expect(await judged(id, breaksOff(200))).toEqual({ is: 'taken' });
    expect(await judged(id, says(200, 'x'.repeat(1_000_000)))).toEqual({ is: 'taken' });
  });
});

test('a name that no message could have is none, whatever a receiver says', async () => {
  for (const id of ['\u0000', 'x'.repeat(60_000), 'two words', '', null, { a: 1 }, true])
    expect(await judged('gotify', says(200, { id }))).toEqual({ is: 'taken' });
  expect(await judged('gotify', says(200, '{"__proto__": {"id": 7}}'))).toEqual({ is: 'taken' });
  expect(await judged('telegram', says(400, { parameters: { migrate_to_chat_id: '\u0000<b>' } }))).toEqual({
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
  for (const nonsense of ['soon', '-5', '1e3', 'Infinity', '']) expect(await later(nonsense)).not.toHaveProperty('after_s');
});

describe('what goes over the wire', () => {
  const sent = async (id: string, told = toldOf()) => {
    const kind = kindOf(id);
    if (kind === undefined) throw new Error(`no kind ${id}`);
    const before = receiver.got.length;
    receiver.answer(vendorAnswers[id]?.taken ?? says(200));
    await sender.send(redirected(kind.message(told, configs[id] ?? {}, Date.now()), receiver.url));
    return receiver.got.slice(before);
  };

  test('a webhook is verified by the library of Standard Webhooks, and a changed one is not', async () => {
    const [got] = await sent('webhook');
    const body = got?.body.toString() ?? '';
    const headers = Object.fromEntries(
      Object.entries(got?.headers ?? {}).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    );
    const verifier = new Webhook(configs.webhook?.secret ?? '');
    expect(verifier.verify(body, headers)).toMatchObject({
      type: 'incident.down',
      data: { organisation: 'Shop & Söhne', incidents: [{ monitor: { name: 'Checkout' }, cause: 'status 503, expected 2xx' }] },
    });
    expect(headers['webhook-id']).toBe('a-41');
    expect(() => verifier.verify(body.replace('Checkout', 'Other'), headers)).toThrow();
    expect(() => new Webhook(`whsec_${Buffer.alloc(32, 8).toString('base64')}`).verify(body, headers)).toThrow();
  });

  test('another attempt is the same webhook, signed for its own time', () => {
    const kind = kindOf('webhook');
    const [one, two] = [0, 3_600_000].map((later) => kind?.message(toldOf(), configs.webhook ?? {}, 1_795_370_704_000 + later));
    if (one?.by !== 'https' || two?.by !== 'https') throw new Error('is no request');
    expect(two.body).toBe(one.body);
    expect(two.headers['webhook-id']).toBe(one.headers['webhook-id']);
    expect(two.headers['webhook-signature']).not.toBe(one.headers['webhook-signature']);
    expect(new Webhook(configs.webhook?.secret ?? '').sign('a-41', new Date(1_795_374_304_000), two.body)).toBe(
      two.headers['webhook-signature'],
    );
  });

  test('secrets travel where the vendor wants them, and nowhere else', async () => {
    const header = async (id: string, name: string) => (await sent(id))[0]?.headers[name];
    expect(await header('matrix', 'authorization')).toBe('Bearer syt_secret');
    expect(await header('gotify', 'x-gotify-key')).toBe('Asecret');
    expect(await header('ntfy', 'authorization')).toBe('Bearer tk_secret');
    expect(await header('zulip', 'authorization')).toBe(`Basic ${Buffer.from('bot@zulip.shop.example:k3y').toString('base64')}`);
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
    expect((await sent('pushover', overOf())).map(({ path }) => path)).toEqual(['/1/messages.json', '/1/receipts/cancel_by_tag/a-41.json']);
  });
});
