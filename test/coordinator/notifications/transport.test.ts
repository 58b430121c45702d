import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nextAttempt, usualPauses } from '../../../coordinator/deliveries/model.ts';
import type {
  OutgoingRequest,
  SendFailure,
  SendOutcome,
} from '../../../coordinator/notifications/kinds/types.ts';
import {
  afterAttempt,
  isDelivering,
  isLastResort,
  isOwnerNotificationDue,
  reminderAfter,
} from '../../../coordinator/notifications/policy.ts';
import {
  createSender,
  type Sender,
  type SenderDependencies,
} from '../../../coordinator/notifications/transport.ts';
import { UnknownName } from '../../../coordinator/outbound/connection.ts';
import { systemClock } from '../../../shared/base/time.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { breaksOff, hangs, openReceiver, type Receiver, says } from '../../support/receivers.ts';

/**
 * The performer against real sockets: what comes of every way in which a receiver can behave, and
 * where nothing may ever go.
 */
describe('transport', () => {
  let receiver: Receiver;
  const senders: Sender[] = [];
  const loopback = ['127.0.0.0/8', '::1'];

  const senderOf = (dependencies: Partial<SenderDependencies> = {}): Sender => {
    const sender = createSender({
      clock: systemClock,
      allow: loopback,
      mail: undefined,
      vapid: undefined,
      ...dependencies,
    });
    senders.push(sender);
    return sender;
  };

  const post = (url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest => ({
    by: 'https',
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
    ...more,
  });

  const failure = (name: SendFailure): SendOutcome => ({ is: 'failure', failure: name });

  beforeAll(async () => {
    receiver = await openReceiver();
  });
  afterAll(async () => {
    for (const sender of senders) await sender.close();
    await receiver.close();
  });
  beforeEach(() => receiver.answer(says(200)));

  describe('responses', () => {
    test('an answer whole: status, headers in lower case, body; the request as it was made', async () => {
      receiver.answer(says(202, { id: 'x' }, { 'X-Id': '7', 'Retry-After': '3' }));
      const answer = await senderOf().send(
        post(`${receiver.url}/in?a=b`, { method: 'PUT', headers: { authorization: 'Bearer t' } }),
      );
      expect(answer).toMatchObject({
        is: 'answer',
        status: 202,
        headers: { 'x-id': '7', 'retry-after': '3' },
        body: '{"id":"x"}',
      });
      const got = receiver.got.at(-1);
      expect(got).toMatchObject({
        method: 'PUT',
        path: '/in?a=b',
        headers: { authorization: 'Bearer t', 'accept-encoding': 'identity' },
      });
      expect(got?.headers['user-agent']).toMatch(/^Antipode\//);
      expect(got?.body.toString()).toBe('{"a":1}');
    });

    test('a redirect is an answer, and is not followed', async () => {
      const elsewhere = await openReceiver();
      receiver.answer(says(302, '', { location: `${elsewhere.url}/stolen` }));
      expect(await senderOf().send(post(receiver.url))).toMatchObject({
        is: 'answer',
        status: 302,
      });
      expect(elsewhere.connections()).toBe(0);
      await elsewhere.close();
    });

    test('a huge body is cut at 64 KB', async () => {
      receiver.answer(says(200, 'x'.repeat(5_000_000)));
      const answer = await senderOf().send(post(receiver.url));
      expect(answer).toMatchObject({ is: 'answer', status: 200 });
      expect(answer.is === 'answer' && answer.body.length).toBe(65_536);
    });

    test('a body that breaks off leaves the status known: an accepted message is not sent again', async () => {
      receiver.answer(breaksOff(200));
      expect(await senderOf().send(post(receiver.url))).toMatchObject({
        is: 'answer',
        status: 200,
        body: '{"half":',
      });
    });

    test('an answer without a complete head counts as no answer', async () => {
      receiver.answer((response) => void response.socket?.end('HTTP/1.1 20'));
      expect(await senderOf().send(post(receiver.url))).toEqual(failure('broken_off'));
      receiver.answer((response) => void response.socket?.destroy());
      expect(await senderOf().send(post(receiver.url))).toEqual(failure('broken_off'));
      receiver.answer(
        (response) =>
          void response.socket?.end(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}\r\n`),
      );
      expect(await senderOf().send(post(receiver.url))).toEqual(failure('broken_off'));
    });

    test('a server that hangs is given up in time, and one that trickles its head as well', async () => {
      const sender = senderOf({ limitMs: 200 });
      receiver.answer(hangs);
      expect(await sender.send(post(receiver.url))).toEqual(failure('timeout'));
      receiver.answer((response) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => response.socket?.write('x: y\r\n'), 20);
        response.socket?.on('close', () => clearInterval(drip));
        response.socket?.on('error', () => undefined);
      });
      expect(await sender.send(post(receiver.url))).toEqual(failure('timeout'));
    });

    test('a body that drips without end is left where time is over', async () => {
      receiver.answer((response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(drip));
      });
      const answer = await senderOf({ limitMs: 300 }).send(post(receiver.url));
      expect(answer).toMatchObject({
        is: 'answer',
        status: 200,
        body: expect.stringMatching(/^x+$/),
      });
    });

    test('the follow-up is sent once when the first was accepted, and not when it was refused', async () => {
      const sender = senderOf();
      const pair = post(`${receiver.url}/first`, { afterwards: post(`${receiver.url}/then`) });
      const paths = (from: number) => receiver.got.slice(from).map(({ path }) => path);
      let before = receiver.got.length;
      receiver.answer((response, got) => says(got.path === '/first' ? 200 : 500)(response, got));
      expect(await sender.send(pair)).toMatchObject({ status: 200 });
      expect(paths(before)).toEqual(['/first', '/then']);
      before = receiver.got.length;
      receiver.answer(says(429));
      expect(await sender.send(pair)).toMatchObject({ status: 429 });
      expect(paths(before)).toEqual(['/first']);
    });

    test('no listener, no such name, no possible address', async () => {
      const gone = await openReceiver();
      await gone.close();
      expect(await senderOf().send(post(gone.url))).toEqual(failure('connect_failed'));
      const nameless = senderOf({ lookup: () => Promise.reject(new UnknownName()) });
      expect(await nameless.send(post('https://nowhere.example/'))).toEqual(failure('dns_failed'));
      const empty = senderOf({ lookup: () => Promise.resolve([]) });
      expect(await empty.send(post('https://nowhere.example/'))).toEqual(failure('dns_failed'));
      for (const url of [
        'not an address',
        'ftp://127.0.0.1/',
        'file:///etc/passwd',
        'https://name:word@127.0.0.1/',
        '',
      ])
        expect(await senderOf().send(post(url)), url).toEqual(failure('bad_address'));
    });

    test('mail and push that are not set up say so', async () => {
      const letter = {
        to: 'a@b.example',
        subject: 's',
        text: 't',
        html: 'h',
        id: 'i',
        in_reply_to: null,
        headers: {},
      };
      expect(await senderOf().send({ by: 'mail', ...letter })).toEqual(failure('mail_not_set_up'));
      const push = {
        endpoint: receiver.url,
        p256dh: '',
        auth: '',
        payload: '',
        topic: 't',
        urgency: 'high',
        ttl_s: 1,
      } as const;
      expect(await senderOf().send({ by: 'push', ...push })).toEqual(failure('push_not_set_up'));
    });
  });

  describe('TLS', () => {
    test('a certificate that is not trusted, or of another name, is refused; a trusted one is accepted', async () => {
      const authority = mintAuthority('Authority of a test');
      const good = mint({ names: ['inside.example'], issuer: authority });
      const server = await openReceiver({ tls: good });
      const url = (name: string) => `https://${name}:${server.port}/`;
      const lookup = () => Promise.resolve(['127.0.0.1']);
      const sender = senderOf({ lookup });
      expect(await sender.send(post(url('inside.example')))).toEqual(failure('tls_invalid'));
      const usual = getCACertificates('default');
      setDefaultCACertificates([...usual, authority.certificate]);
      try {
        expect(await sender.send(post(url('inside.example')))).toMatchObject({
          is: 'answer',
          status: 200,
        });
        expect(await sender.send(post(url('other.example')))).toEqual(failure('tls_invalid'));
      } finally {
        setDefaultCACertificates(usual);
      }
      expect(server.got).toHaveLength(1);
      await server.close();
    });
  });

  describe('forbidden addresses', () => {
    const inside = [
      '127.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '0.0.0.0',
      '[::]',
      '127.1',
      '2130706433',
      '0x7f.1',
      '017700000001',
      '169.254.169.254',
      '10.0.0.1',
      '192.168.1.1',
      '172.16.0.1',
      '100.64.0.1',
      '100.100.100.200',
      '168.63.129.16',
      '224.0.0.1',
      '[fe80::1]',
      '[fd00:ec2::254]',
      '[fc00::1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      'localhost',
      'localhost.',
      'a.localhost',
    ];

    test.each(inside)('%s is refused without a connection', async (host) => {
      const before = receiver.connections();
      const answer = await senderOf({ allow: [] }).send(post(`http://${host}:${receiver.port}/`));
      expect(answer).toEqual(failure('blocked_address'));
      expect(receiver.connections()).toBe(before);
    });

    test('a name that leads inside is refused, also when one of several addresses does', async () => {
      const before = receiver.connections();
      for (const addresses of [
        ['127.0.0.1'],
        ['10.1.2.3'],
        ['93.184.216.34', '127.0.0.1'],
        ['2606:4700::1', '::ffff:10.0.0.1'],
        ['no address'],
      ]) {
        const sender = senderOf({ allow: [], lookup: () => Promise.resolve(addresses) });
        expect(
          await sender.send(post(`http://rebinding.example:${receiver.port}/`)),
          addresses.join(),
        ).toEqual(failure('blocked_address'));
      }
      expect(receiver.connections()).toBe(before);
    });

    test('a name is resolved once a message, and the connection goes to the address that was checked', async () => {
      const second = await openReceiver({ host: '127.0.0.2' });
      let asked = 0;
      // Good when it is judged, and somewhere else whenever it is asked again.
      const lookup = () => {
        asked += 1;
        return Promise.resolve([asked % 2 === 1 ? '127.0.0.2' : '127.0.0.1']);
      };
      const sender = senderOf({ allow: ['127.0.0.2'], lookup });
      expect(await sender.send(post(`http://rebinding.example:${second.port}/`))).toMatchObject({
        status: 200,
      });
      expect(asked).toBe(1);
      expect(second.got.map(({ at }) => at)).toEqual(['127.0.0.2']);
      // The next message is judged anew: no connection is kept that would reach where the name no
      // longer leads.
      expect(await sender.send(post(`http://rebinding.example:${second.port}/`))).toEqual(
        failure('blocked_address'),
      );
      expect(second.connections()).toBe(1);
      await second.close();
    });

    test('ALERT_ALLOW_CIDRS opens what it names and nothing beside it; metadata only singly', async () => {
      const some = senderOf({ allow: ['127.0.0.0/30'] });
      expect(await some.send(post(receiver.url))).toMatchObject({ status: 200 });
      expect(await some.send(post(`http://127.0.0.9:${receiver.port}/`))).toEqual(
        failure('blocked_address'),
      );
      expect(
        await senderOf({ allow: ['0.0.0.0/0', '::/0'] }).send(post('http://169.254.169.254/')),
      ).toEqual(failure('blocked_address'));
    });

    test('names of this machine are known to the system alone, and are judged like others', async () => {
      expect(await senderOf().send(post(`http://localhost:${receiver.port}/`))).toMatchObject({
        status: 200,
      });
    });
  });

  test('one slow host holds up no other, and gets no more than ten connections at once', async () => {
    const slow = await openReceiver();
    slow.answer(hangs);
    const sender = senderOf({ limitMs: 1_500 });
    const hanging = Array.from({ length: 40 }, () => sender.send(post(slow.url)));
    const quick = Array.from({ length: 40 }, () => sender.send(post(receiver.url)));
    const first = await Promise.race([
      Promise.all(quick),
      Promise.all(hanging).then(() => 'the slow ones'),
    ]);
    expect(first).not.toBe('the slow ones');
    for (const answer of await Promise.all(hanging)) expect(answer).toEqual(failure('timeout'));
    expect(slow.mostAtOnce()).toBeLessThanOrEqual(10);
    await slow.close();
  });
});

describe('rule 38: a channel that cannot deliver', () => {
  const hour = 3_600_000;
  const well = { failing_since: null, refused_at: null };

  test('rule 38: after an hour of failures, or one refusal for good, until something is taken', () => {
    const failing = afterAttempt(well, 'retry', 0);
    expect(isDelivering(failing, hour - 1)).toBe(true);
    expect(isDelivering(afterAttempt(failing, 'retry', hour), hour)).toBe(false);
    const refused = afterAttempt(well, 'refused', 5);
    expect(isDelivering(refused, 5)).toBe(false);
    expect(isDelivering(afterAttempt(refused, 'delivered', 6), 6)).toBe(true);
  });
  test('rule 38: owners are mailed once a day', () => {
    const refused = { ...afterAttempt(well, 'refused', 0), owners_told_at: null };
    expect(isOwnerNotificationDue(refused, 0)).toBe(true);
    expect(isOwnerNotificationDue({ ...refused, owners_told_at: 0 }, 23 * hour)).toBe(false);
    expect(isOwnerNotificationDue({ ...refused, owners_told_at: 0 }, 24 * hour)).toBe(true);
    expect(isOwnerNotificationDue({ ...well, owners_told_at: null }, 0)).toBe(false);
  });
  test('rule 38: a "down" that no channel delivered within two minutes is mailed to all owners', () => {
    expect(isLastResort({ first_told_at: 0, delivered: false }, 119_999)).toBe(false);
    expect(isLastResort({ first_told_at: 0, delivered: false }, 120_000)).toBe(true);
    expect(isLastResort({ first_told_at: 0, delivered: true }, hour)).toBe(false);
  });
});

describe('back off', () => {
  describe('rule 31: when a message is tried again', () => {
    const again = (attempts: number, after_s?: number) =>
      nextAttempt(usualPauses, { attempts, after_s }, 0, 1);

    test('rule 31: after 1 s, 5 s, 30 s, 2 min, 10 min, then hourly for a day, then no more', () => {
      const pauses: number[] = [];
      for (let attempts = 1; ; attempts += 1) {
        const at = again(attempts);
        if (at === null) break;
        pauses.push(at / 1_000);
      }
      expect(pauses.slice(0, 6)).toEqual([1, 5, 30, 120, 600, 3_600]);
      expect(pauses).toHaveLength(5 + 24);
    });
    test('rule 31: not before the receiver wants it, and not later than an hour', () => {
      expect(again(1, 20)).toBe(20_000);
      expect(again(5, 20)).toBe(600_000);
      expect(again(1, 86_400)).toBe(3_600_000);
    });
  });

  test('rule 35: reminders come at doubling distances up to a day', () => {
    expect([1, 2, 3, 4].map((n) => reminderAfter(1_800, n) / 60_000)).toEqual([30, 60, 120, 240]);
    expect(reminderAfter(1_800, 30)).toBe(86_400_000);
  });
});
