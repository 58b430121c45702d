import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { createMailSender, type MailSender } from '../../../../coordinator/account-mail/sender.ts';
import type { Verdict } from '../../../../coordinator/deliveries/model.ts';
import { email } from '../../../../coordinator/notifications/kinds/email.ts';
import { subject } from '../../../../coordinator/notifications/kinds/text.ts';
import type { Notification } from '../../../../coordinator/notifications/message.ts';
import {
  createSender,
  mailsAtOnce,
  type Sender,
} from '../../../../coordinator/notifications/transport.ts';
import { systemClock } from '../../../../shared/base/time.ts';
import { at, monitorOf, overOf, toldOf } from '../../../support/channels.ts';
import { type MailServer, openMailServer } from '../../../support/receivers.ts';

/** Mails to a real server that asks for TLS and a password, read back by a parser. */

const signing = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const dkim = {
  domain: 'antipode.example',
  selector: 'alerts',
  key: signing.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
};

let server: MailServer;
let mail: MailSender;
let sender: Sender;
const from = 'Antipode <antipode@antipode.example>';
beforeAll(async () => {
  server = await openMailServer();
  mail = createMailSender({ url: server.url, from, dkim, connections: mailsAtOnce });
  sender = createSender({ clock: systemClock, allow: [], mail, vapid: undefined });
});
afterAll(async () => {
  mail.close();
  await sender.close();
  await server.close();
});
beforeEach(() => server.refuse(null));

const tell = async (notification: Notification, address = 'ops@shop.example'): Promise<Verdict> =>
  email.judge(await sender.send(email.message(notification, { address }, at)));

const headerOf = (
  message: { readonly headers: readonly { readonly key: string; readonly value: string }[] },
  name: string,
): string | undefined => message.headers.find(({ key }) => key === name)?.value;

test('a mail goes out over TLS, signed in, and is taken', async () => {
  expect(await tell(toldOf())).toEqual({ is: 'delivered' });
  expect(server.sessions.at(-1)).toEqual({ secure: true, user: 'antipode' });
  const got = await server.newest();
  expect(got).toMatchObject({
    from: { address: 'antipode@antipode.example' },
    to: [{ address: 'ops@shop.example' }],
  });
  expect(got.subject).toBe('Checkout is down: status 503, expected 2xx');
});

test('the subject counts what else is down', async () => {
  await tell(toldOf({ others_down: { count: 1, names: ['Search'] } }));
  expect((await server.newest()).subject).toBe(
    'Checkout is down: status 503, expected 2xx (2 down in all)',
  );
  // What somebody is on is down all the same.
  const taken = monitorOf({ event: 'acknowledged' });
  expect(
    subject(
      toldOf({
        event: 'acknowledged',
        monitors: [taken],
        others_down: { count: 1, names: ['Search'] },
      }),
    ),
  ).toContain('(2 down');
});

test('an outage and its end are one thread, and another attempt is the same mail', async () => {
  await tell(toldOf());
  const down = await server.newest();
  await tell(overOf());
  const up = await server.newest();
  expect(down.messageId).toBe('<a-41@antipode.example>');
  expect(down.inReplyTo).toBeUndefined();
  expect(up).toMatchObject({
    messageId: '<a-42@antipode.example>',
    inReplyTo: down.messageId,
    references: down.messageId,
  });
  await tell(overOf());
  expect((await server.newest()).messageId).toBe(up.messageId);
});

test('a mailbox can end it with one click, and knows that a program wrote', async () => {
  await tell(toldOf());
  const got = await server.newest();
  expect(headerOf(got, 'list-unsubscribe')).toBe('<https://antipode.example/unsubscribe/svu_9Qm4>');
  expect(headerOf(got, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  expect(headerOf(got, 'list-id')).toBe('<alerts.antipode.example>');
  expect(headerOf(got, 'auto-submitted')).toBe('auto-generated');
  expect(headerOf(got, 'importance')).toBe('high');
  const plain = toldOf();
  await tell({
    ...plain,
    links: { ...plain.links, unsubscribe: 'http://antipode.example/unsubscribe/svu_9Qm4' },
  });
  expect(headerOf(await server.newest(), 'list-unsubscribe-post')).toBeUndefined();
  await tell({ ...plain, links: { ...plain.links, unsubscribe: null } });
  expect(headerOf(await server.newest(), 'list-unsubscribe')).toBeUndefined();
});

test('the plain text is complete: what, why, since when, seen from where, what else, where to go', async () => {
  await tell(toldOf({ others_down: { count: 3, names: ['Search', 'Mail'] } }));
  const { text = '' } = await server.newest();
  for (const part of [
    'Checkout is down: status 503, expected 2xx.',
    'Address: https://shop.example/checkout',
    'Started: 2026-11-22 18:04:52 UTC',
    'Detected from: Frankfurt, Europe',
    'Confirmed from: Tokyo, Asia',
    'By continent: down from Europe, Asia; up from North America',
    'Also down: Search, Mail and 1 more.',
    'https://antipode.example/incidents/0190c0de-0000-7000-8000-00000000000a',
    'https://antipode.example/acknowledge/sva_3Nw8k2',
    'https://antipode.example/alerts/41/why',
    'Shop & Söhne',
    'Unsubscribe this address: https://antipode.example/unsubscribe/svu_9Qm4',
  ])
    expect(text).toContain(part);
  expect(text).not.toMatch(/<[a-z]/i);
});

test('the HTML stays readable in the dark: no colour of text or ground without the other, no picture, nothing that runs', async () => {
  const name = '<img src=x onerror=alert(1)> & "Söhne"';
  await tell(
    toldOf({ sentence: `${name} is down.`, monitors: [monitorOf({ name, cause: name })] }),
  );
  const { html = '' } = await server.newest();
  expect(html).toContain('<meta name="color-scheme" content="light dark">');
  const styles: string[] = [];
  const elements = new Set<string>();
  const walk = (node: DefaultTreeAdapterTypes.ChildNode): void => {
    elements.add(node.nodeName);
    if ('attrs' in node) {
      for (const { name: attribute, value } of node.attrs) {
        if (attribute === 'style') styles.push(value);
        expect(attribute).not.toMatch(/^on|^src$/);
      }
    }
    if ('childNodes' in node) for (const child of node.childNodes) walk(child);
  };
  for (const node of parse(html).childNodes) walk(node);
  for (const element of ['img', 'script', 'form', 'iframe', 'link'])
    expect(elements).not.toContain(element);
  for (const style of styles) {
    const ground = /background:/.test(style);
    const colours = [...style.matchAll(/(?<![-\w])color:(#[0-9a-f]{6})/g)].map(
      ([, colour]) => colour,
    );
    // White stands on a ground of ours; the only colour without one is a grey that reads on white
    // and on black.
    expect(
      colours.every((colour) => (ground ? colour === '#ffffff' : colour === '#767f8b')),
      style,
    ).toBe(true);
  }
});

test('a thousand at once are one mail under their groups', async () => {
  const monitors = Array.from({ length: 1_000 }, (_, index) =>
    monitorOf({ name: `Shop ${index + 1}`, group: index < 500 ? 'Europe' : 'Asia' }),
  );
  await tell(toldOf({ sentence: '1000 monitors are down.', monitors }));
  const { text = '', html = '' } = await server.newest();
  expect(text.match(/^- Shop \d+: status 503/gm)).toHaveLength(1_000);
  expect(text).toMatch(/^Asia:$/m);
  // Clients hide what is beyond 100 KB: there the rest is counted.
  expect(Buffer.byteLength(html)).toBeLessThan(100_000);
  expect((html.match(/Shop \d+</g) ?? []).length + Number(/and (\d+) more/.exec(html)?.[1])).toBe(
    1_000,
  );
});

test('550 is the end of it, 452 is not, and a wrong password is our own matter', async () => {
  server.refuse({ code: 550, at: 'RCPT' });
  expect(await tell(toldOf())).toEqual({
    is: 'refused',
    words: 'the mail server rejected this address (550)',
  });
  server.refuse({ code: 452, at: 'RCPT' });
  expect(await tell(toldOf())).toEqual({
    is: 'retry',
    words: 'the mail server did not accept it (452)',
  });
  server.refuse({ code: 554, at: 'DATA' });
  expect(await tell(toldOf())).toMatchObject({ is: 'refused' });
  server.refuse({ code: 451, at: 'DATA' });
  expect(await tell(toldOf())).toMatchObject({ is: 'retry' });
  server.refuse(null);
  const wrong = createMailSender({ url: server.url.replace('right', 'wrong'), from });
  const other = createSender({ clock: systemClock, allow: [], mail: wrong, vapid: undefined });
  expect(
    email.judge(await other.send(email.message(toldOf(), { address: 'a@b.example' }, at))),
  ).toEqual({
    is: 'retry',
    words: 'the mail server did not accept it (535)',
  });
  wrong.close();
  await other.close();
});

test('a mail server that does not answer delays no mail for long: what it did not accept is retried', async () => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `smtp://127.0.0.1:${z.object({ port: z.number() }).parse(silent.address()).port}?greetingTimeout=400`;
  const slow = createMailSender({ url, from });
  const other = createSender({
    clock: systemClock,
    allow: [],
    mail: slow,
    vapid: undefined,
    limitMs: 100,
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      other.send(email.message(toldOf(), { address: 'a@b.example' }, at)),
    ),
  );
  expect(new Set(answers.map((answer) => email.judge(answer).is))).toEqual(new Set(['retry']));
  // Five were with the server; the others never left.
  expect(answers.filter(({ is }) => is === 'mail')).toHaveLength(5);
  slow.close();
  await other.close();
  silent.close();
});

test('a name with a line break makes no header of its own', async () => {
  await tell(toldOf({ sentence: 'Shop\r\nBcc: thief@evil.example\r\n\r\nbody is down.' }));
  const got = await server.newest();
  expect(headerOf(got, 'bcc')).toBeUndefined();
  expect(got.subject).toBe('Shop Bcc: thief@evil.example body is down');
});

/** A mail's DKIM signature checked as a receiver does (RFC 6376, relaxed/relaxed). */
const isSigned = (raw: string, key: typeof signing.publicKey): boolean => {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const fields = head.split(/\r\n(?![ \t])/);
  const relaxed = (field: string): string => {
    const [name = '', ...value] = field.split(':');
    return `${name.toLowerCase().trim()}:${value
      .join(':')
      .replaceAll(/\r\n/g, '')
      .replaceAll(/[ \t]+/g, ' ')
      .trim()}`;
  };
  const own = fields.find((field) => /^dkim-signature:/i.test(field)) ?? '';
  const tag = (name: string): string =>
    new RegExp(`[;:\\s]${name}=([^;]*)`).exec(own)?.[1]?.replaceAll(/\s/g, '') ?? '';
  const body = rest
    .join('\r\n\r\n')
    .replaceAll(/[ \t]+\r\n/g, '\r\n')
    .replaceAll(/[ \t]+/g, ' ')
    .replace(/(\r\n)*$/, '\r\n');
  if (createHash('sha256').update(Buffer.from(body, 'latin1')).digest('base64') !== tag('bh'))
    return false;
  const signed = tag('h')
    .split(':')
    .flatMap((name) =>
      fields.filter((field) => field.toLowerCase().startsWith(`${name.toLowerCase()}:`)).slice(-1),
    )
    .map((field) => `${relaxed(field)}\r\n`);
  const text = `${signed.join('')}${relaxed(own.replace(/([;\s]b=)[^;]*/, '$1'))}`;
  return verify('sha256', Buffer.from(text, 'latin1'), key, Buffer.from(tag('b'), 'base64'));
};

test('a mail is signed for its domain, and a changed one is not what was signed', async () => {
  await tell(toldOf());
  const raw = server.raw.at(-1) ?? '';
  expect(raw).toMatch(/d=antipode\.example; ?[\s\S]*s=alerts;/);
  expect(isSigned(raw, signing.publicKey)).toBe(true);
  expect(isSigned(raw.replace('Subject: Checkout', 'Subject: Checkin'), signing.publicKey)).toBe(
    false,
  );
  expect(isSigned(raw, generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey)).toBe(false);
});
