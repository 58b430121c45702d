import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMailer } from '../../../coordinator/account-mail/mail-sending.ts';
import { postMail } from '../../../coordinator/account-mail/queries.ts';
import { createMailSender, type MailSender } from '../../../coordinator/account-mail/sender.ts';
import { channelMail, invitationMail } from '../../../coordinator/account-mail/templates.ts';
import type { Sending } from '../../../coordinator/deliveries/sending.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { optInMail } from '../../../coordinator/status-pages/mails.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { testSecretKey } from '../../support/people.ts';
import { type Mailbox, openMailbox } from '../../support/receivers.ts';
import { freePort, ownDatabase } from '../../support/services.ts';

describe('mail', async () => {
  const { sql } = await ownDatabase();
  let mailbox: Mailbox;
  let now = Date.now();
  const clock = { now: () => now };
  const senders: MailSender[] = [];

  const mailerTo = (url: string): Sending => {
    const sender = createMailSender({ url, from: 'Antipode <antipode@antipode.test>' });
    senders.push(sender);
    const accountSecrets = createAccountSecrets(sql, { secretKey: testSecretKey });
    return createMailer({
      place: newId(),
      sql,
      clock,
      sender,
      accountSecrets,
      log: createLog({ name: 't', level: 'silent' }),
      baseUrl: () => 'https://antipode.test',
    });
  };

  const post = async (recipient: string): Promise<void> =>
    postMail(sql, {
      kind: 'notice',
      recipient,
      about: { what: 'password', detail: '' },
      at: now,
    });

  const fresh = (): string => `ada-${newId()}@shop.example`;
  const receivedBy = (recipient: string) =>
    mailbox.received.filter(({ to }) => to.includes(recipient));
  const stateOf = async (recipient: string) => {
    const [row] = await sql<
      { attempts: number; done: boolean; failed: boolean; failure: string | null }[]
    >`
    select attempts, state = 'delivered' as done, state in ('refused', 'failed') as failed, words as failure from deliveries where recipient = ${recipient}`;
    return row;
  };

  beforeAll(async () => {
    mailbox = await openMailbox();
  });
  beforeEach(() => mailbox.refuse(null));
  afterAll(async () => {
    for (const sender of senders) sender.close();
    await mailbox.close();
  });

  test('goes out as text and as HTML, marked as automatic, with an id of its own', async () => {
    const to = fresh();
    await post(to);
    await mailerTo(mailbox.url).tick();
    const [mail] = receivedBy(to);
    expect(mail).toMatchObject({
      from: 'antipode@antipode.test',
      subject: 'Your password was changed',
    });
    expect(mail?.text).toContain('https://antipode.test/sign-in');
    expect(mail?.raw).toMatch(/^message-id: <[0-9a-f-]{36}@antipode\.test>/im);
    expect(mail?.raw).toMatch(/^auto-submitted: auto-generated/im);
    expect(mail?.raw).toContain('text/html');
    expect(await stateOf(to)).toMatchObject({ attempts: 1, done: true });
  });

  test('goes over one connection, however many there are, and each once, also with two coordinators', async () => {
    const before = mailbox.connections();
    const all = Array.from({ length: 12 }, fresh);
    for (const to of all) await post(to);
    const [one, other] = [mailerTo(mailbox.url), mailerTo(mailbox.url)];
    await Promise.all([one.tick(), other.tick(), one.tick(), other.tick()]);
    expect(all.map((to) => receivedBy(to).length)).toEqual(all.map(() => 1));
    expect(mailbox.connections() - before).toBe(2);
  });

  test('waits while the server is away, and goes out when it is back', async () => {
    const to = fresh();
    await post(to);
    const away = mailerTo(`smtp://127.0.0.1:${await freePort()}`);
    await away.tick();
    expect(await stateOf(to)).toMatchObject({ attempts: 1, done: false, failed: false });
    await mailerTo(mailbox.url).tick();
    expect(receivedBy(to)).toHaveLength(0);
    now += 1_000;
    await mailerTo(mailbox.url).tick();
    expect(receivedBy(to)).toHaveLength(1);
  });

  test('that is deferred is retried for a day, at growing intervals, with the same id', async () => {
    const to = fresh();
    await post(to);
    mailbox.refuse({ code: 451, text: 'try again later' });
    const mailer = mailerTo(mailbox.url);
    const began = now;
    for (let hour = 0; hour < 23; now += 3_600_000, hour += 1) await mailer.tick();
    expect(await stateOf(to)).toMatchObject({ done: false, failed: false });
    mailbox.refuse(null);
    await mailer.tick();
    expect(receivedBy(to)).toHaveLength(1);
    expect(await stateOf(to)).toMatchObject({ done: true, failure: null });
    now = began;
  });

  test('that is rejected permanently is not retried, and says why', async () => {
    const to = fresh();
    await post(to);
    mailbox.refuse({ code: 550, text: 'no such mailbox' });
    const mailer = mailerTo(mailbox.url);
    await mailer.tick();
    mailbox.refuse(null);
    now += 86_400_000;
    await mailer.tick();
    expect(receivedBy(to)).toHaveLength(0);
    const state = await stateOf(to);
    expect(state).toMatchObject({ attempts: 1, failed: true });
    expect(state?.failure).toContain('no such mailbox');
  });

  test('informs owners of the end of an organisation once it is done, in its time zone', async () => {
    const about = {
      organisation: 'Shop',
      by: 'Ada',
      ends_at: '2026-12-01T09:00:00.000Z',
      time_zone: 'Europe/Berlin',
    };
    const [ends, soon, kept, gone] = [fresh(), fresh(), fresh(), fresh()];
    const all = [
      [ends, 'ends'],
      [soon, 'ends-soon'],
      [kept, 'kept'],
      [gone, 'gone'],
    ] as const;
    for (const [recipient, what] of all)
      await postMail(sql, {
        kind: 'organisation',
        recipient,
        about: { ...about, what },
        at: now,
      });
    await mailerTo(mailbox.url).tick();
    const texts = all.map(([recipient]) => receivedBy(recipient)[0]?.text ?? '');
    expect(all.map(([recipient]) => receivedBy(recipient)[0]?.subject)).toEqual([
      'Shop will be deleted in seven days',
      'Shop will be deleted tomorrow',
      'Shop is no longer being deleted',
      'Shop is deleted',
    ]);
    expect(texts[0]).toContain(
      'Ada deleted Shop. It and all its data will be gone on 1 December 2026 at 10:00 (Europe/Berlin).',
    );
    expect(texts.map((text) => text.includes('https://antipode.test/organisation'))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});

describe('templates', () => {
  const address = 'https://antipode.test/x';
  const page = (title: string) => ({
    email: 'a@shop.example',
    language: 'en' as const,
    slug: 'shop',
    domain: null,
    title,
    organisation: 'o',
    time_zone: 'UTC',
  });
  /** Mails that anyone with an account has us send to a mailbox of someone else's. */
  const sentToOthers = (name: string) => [
    invitationMail(name, null, 'member', address),
    channelMail(name, address),
    optInMail(page(name), address),
  ];

  test('no subject and no button of a mail to others carries a link that its sender wrote', () => {
    for (const name of [
      'https://evil.example/win',
      'Win at evil.example',
      'Приз на выигрыш.рф',
      'mail me@evil.example',
      '//evil',
      'win。example',
    ])
      for (const { subject, action } of sentToOthers(name)) {
        expect(`${subject} ${action?.label}`).not.toMatch(/[\p{L}\p{N}][.。．｡]\p{L}{2}|\/\/|@/u);
      }
  });

  test('names that are no links stand in subjects as they are', () => {
    for (const name of ['Shop & Sons Ltd.', 'Büro 2.0', 'R.U.R', 'U. S. Robots'])
      for (const { subject } of sentToOthers(name)) expect(subject).toContain(name);
  });
});
