import { createECDH, createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { webPush } from '../../../coordinator/notifications/kinds/web-push.ts';
import {
  createSender,
  encryptPush,
  type Sender,
  type VapidKeys,
} from '../../../coordinator/notifications/transport.ts';
import { at, toldOf } from '../../support/channels.ts';
import {
  newPushKeys,
  openReceiver,
  type Receiver,
  readPush,
  says,
} from '../../support/receivers.ts';

/**
 * Web Push, read by the receiving side: the browser that has the keys, and the push service that
 * knows ours.
 */

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');

const ours = newPushKeys();
const vapid: VapidKeys = {
  subject: 'mailto:ops@antipode.example',
  public_key: ours.getPublicKey().toString('base64url'),
  private_key: ours.getPrivateKey().toString('base64url'),
};

let service: Receiver;
let sender: Sender;
beforeAll(async () => {
  service = await openReceiver();
  sender = createSender({
    clock: { now: () => at },
    allow: ['127.0.0.1'],
    mail: undefined,
    vapid: async () => vapid,
  });
});
afterAll(async () => {
  await sender.close();
  await service.close();
});

test('the message of RFC 8291 comes out byte for byte', () => {
  const own = createECDH('prime256v1');
  own.setPrivateKey(bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'));
  const message = encryptPush(
    'When I grow up, I want to be a watermelon',
    {
      p256dh:
        'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg',
    },
    { salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'), own },
  );
  expect(message.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  );
});

const claimsShape = z.object({ aud: z.string(), exp: z.number(), sub: z.string() });

/** What a push service reads of who sends, having checked the signature against the key. */
const claimsOf = (authorization: string): z.infer<typeof claimsShape> => {
  const [, token = '', key = ''] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  const [header = '', claims = '', signature = ''] = token.split('.');
  const point = bytes(key);
  const x = point.subarray(1, 33).toString('base64url');
  const y = point.subarray(33, 65).toString('base64url');
  const publicKey = createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } });
  const isOurs = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    bytes(signature),
  );
  expect(isOurs).toBe(true);
  expect(key).toBe(vapid.public_key);
  expect(JSON.parse(bytes(header).toString())).toEqual({ typ: 'JWT', alg: 'ES256' });
  return claimsShape.parse(JSON.parse(bytes(claims).toString()));
};

test('a browser decrypts its message, and its push service can verify the sender', async () => {
  const browser = newPushKeys();
  const auth = Buffer.alloc(16, 9);
  const config = {
    endpoint: `${service.url}/send/abc`,
    p256dh: browser.getPublicKey().toString('base64url'),
    auth: auth.toString('base64url'),
  };
  service.answer(says(201, '', { location: '/message/1' }));
  const answer = await sender.send(webPush.message(toldOf(), config, at));
  expect(webPush.judge(answer)).toEqual({ is: 'delivered' });

  const got = service.got.at(-1);
  expect(got?.path).toBe('/send/abc');
  expect(got?.headers).toMatchObject({
    'content-encoding': 'aes128gcm',
    urgency: 'high',
    ttl: '86400',
  });
  expect(got?.headers.topic).toMatch(/^[\w-]{32}$/);
  const shown: unknown = JSON.parse(
    readPush(got?.body ?? Buffer.alloc(0), { privateKey: browser.getPrivateKey(), auth }),
  );
  expect(shown).toMatchObject({
    title: 'Checkout is down: status 503, expected 2xx',
    url: toldOf().links.incident,
    tag: got?.headers.topic,
  });
  const claims = claimsOf(got?.headers.authorization ?? '');
  expect(claims).toEqual({
    aud: service.url,
    exp: at / 1_000 + 12 * 3_600,
    sub: 'mailto:ops@antipode.example',
  });
});

test('two messages have nothing alike that is to be new', async () => {
  const config = {
    endpoint: service.url,
    p256dh: newPushKeys().getPublicKey().toString('base64url'),
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  };
  const before = service.got.length;
  for (const _ of [1, 2]) await sender.send(webPush.message(toldOf(), config, at));
  const [one, two] = service.got.slice(before);
  expect(one?.body.subarray(0, 86)).not.toEqual(two?.body.subarray(0, 86));
});

test('a browser that is gone is a permanent refusal, and an invalid key is never used', async () => {
  const config = {
    endpoint: service.url,
    p256dh: newPushKeys().getPublicKey().toString('base64url'),
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  };
  for (const status of [404, 410]) {
    service.answer(says(status));
    expect(webPush.judge(await sender.send(webPush.message(toldOf(), config, at)))).toMatchObject({
      is: 'refused',
    });
  }
  const before = service.got.length;
  const broken = webPush.message(toldOf(), { ...config, p256dh: `B${'A'.repeat(86)}` }, at);
  expect(webPush.judge(await sender.send(broken))).toMatchObject({ is: 'refused' });
  expect(service.got).toHaveLength(before);
});
