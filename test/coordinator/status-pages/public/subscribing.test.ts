import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMailer } from '../../../../coordinator/account-mail/mail-sending.ts';
import type { MailTemplate } from '../../../../coordinator/account-mail/sender.ts';
import type { Sending } from '../../../../coordinator/deliveries/sending.ts';
import { notifySubscribers } from '../../../../coordinator/status-pages/public/subscribing.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { createLog } from '../../../../shared/base/log.ts';
import { createTestOrganisation } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

const minute = 60_000;

let web: TestWeb;
let mailer: Sending;
const letters: MailTemplate[] = [];
const clock = { at: Date.now(), now: () => clock.at };

beforeAll(async () => {
  web = await startWeb({ clock });
  mailer = createMailer({
    place: newId(),
    sql: web.sql,
    clock,
    accountSecrets: web.accountSecrets,
    log: createLog({ name: 't', level: 'silent' }),
    sender: { send: async (letter) => void letters.push(letter), close: () => undefined },
    baseUrl: () => web.url,
  });
});
afterAll(() => web.close());

const fresh = (): string => `ada-${newId()}@reader.example`;
const to = (address: string): readonly MailTemplate[] =>
  letters.filter((letter) => letter.to === address);

/** With one monitor, named Checkout there and something else within. */
const page = async (
  slug: string,
  organisation = web.house.organisation,
): Promise<{ readonly id: string; readonly monitor: string }> => {
  const [id, monitor] = [newId(), newId()];
  await web.sql`insert into status_pages (id, organisation_id, name, slug) values (${id}, ${organisation}, 'Shop status', ${slug})`;
  await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${organisation}, 0, 'xyzzy-inner', 'https', 'https://xyzzy.example/', 60)`;
  await web.sql`insert into status_page_monitors (page_id, monitor_id, display_name, position) values (${id}, ${monitor}, 'Checkout', 0)`;
  return { id, monitor };
};

const outage = async (monitor: string): Promise<string> => {
  const id = newId();
  const cause = JSON.stringify({
    class: 'unexpected_status',
    params: { status: 503, expected: 'xyzzy' },
  });
  await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, cause)
    values (${id}, ${web.house.organisation}, ${monitor}, ${new Date(clock.at - minute)}, ${new Date(clock.at)}, ${cause}::text::jsonb)`;
  return id;
};

const alert = (incident: string, monitor: string, event: string, state: string) =>
  web.sql`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at, created_at)
    values (${web.house.organisation}, ${monitor}, ${incident}, ${event}, ${state}, ${new Date(clock.at)}, ${new Date(clock.at)})`;

const subscribe = (slug: string, email: string, lang = 'en') =>
  web.post(`/status/${slug}/subscribe`, { email, lang });

/** The path of the link in the newest letter to them. */
const linkTo = (address: string, what: 'confirm' | 'leave'): string =>
  new RegExp(`${web.url}(/status/[a-z-]+/${what}/[\\w.-]+)`).exec(
    to(address).at(-1)?.text ?? '',
  )?.[1] ?? 'there is no link';

const subscriber = async (slug: string): Promise<string> => {
  const address = fresh();
  await subscribe(slug, address);
  await mailer.tick();
  expect((await web.post(linkTo(address, 'confirm'), {})).status).toBe(200);
  return address;
};

/** As two coordinators do it at once. */
const tellAll = async (): Promise<void> => {
  await Promise.all([
    notifySubscribers(web.sql, { now: clock.at, hasMail: true }),
    notifySubscribers(web.sql, { now: clock.at, hasMail: true }),
  ]);
  await mailer.tick();
};

describe('updates by e-mail', () => {
  test('begin when the owner of the mailbox confirms, by a button and not by a preview', async () => {
    const { id } = await page('opt-in');
    const address = fresh();
    const asked = await subscribe('opt-in', address, 'de');
    await mailer.tick();
    expect(to(address)).toMatchObject([
      { subject: 'Bestätigen Sie Ihr Abonnement von Shop status' },
    ]);
    const link = linkTo(address, 'confirm');
    const confirmed = async () =>
      (
        await web.sql`select 1 from status_page_subscribers where page_id = ${id} and confirmed_at is not null`
      ).length;
    expect([(await web.get(link)).status, await confirmed()]).toEqual([200, 0]);
    expect([(await web.post(link, {})).status, await confirmed()]).toEqual([200, 1]);
    expect([(await web.post(link, {})).status, await confirmed()]).toEqual([404, 1]);
    clock.at += 61 * minute;
    const again = await subscribe('opt-in', address.toUpperCase(), 'de');
    await mailer.tick();
    expect([again.status, again.text]).toEqual([asked.status, asked.text]);
    expect(to(address.toUpperCase())).toEqual([]);
  });

  test('are confirmed by mail once an hour for each of three pages for an address, and always with the same answer', async () => {
    await Promise.all(
      ['hourly', 'hourly-too', 'hourly-third', 'hourly-fourth'].map((slug) => page(slug)),
    );
    const address = fresh();
    const answers = [await subscribe('hourly', address), await subscribe('hourly', address)];
    // A page of someone else's keeps no subscription away, and many of them are no flood.
    for (const slug of ['hourly-too', 'hourly-third', 'hourly-fourth'])
      expect((await subscribe(slug, address)).status).toBe(200);
    await mailer.tick();
    expect(to(address)).toHaveLength(3);
    expect(answers[1]?.text).toBe(answers[0]?.text);
    clock.at += 61 * minute;
    await subscribe('hourly-fourth', address);
    await mailer.tick();
    expect(to(address)).toHaveLength(4);
    expect((await subscribe('hourly', 'no address')).status).toBe(422);
  });

  test('of further pages share a mail: a link that was sent shows them, and confirms those that it showed', async () => {
    const slugs = ['shared', 'shared-too', 'shared-third', 'shared-fourth', 'shared-fifth'];
    await Promise.all(slugs.map((slug) => page(slug)));
    const address = fresh();
    for (const slug of slugs.slice(0, 4)) await subscribe(slug, address);
    await mailer.tick();
    expect(to(address)).toHaveLength(3);
    const confirmed = async (): Promise<string[]> => {
      const rows = await web.sql<{ slug: string }[]>`
        select p.slug from status_page_subscribers s join status_pages p on p.id = s.page_id
        where s.email = ${address} and s.confirmed_at is not null order by p.slug`;
      return rows.map(({ slug }) => slug);
    };
    const link = linkTo(address, 'confirm');
    const { text } = await web.get(link);
    const shown = [...text.matchAll(/name="page" value="([a-z-]+)"/g)].map(([, slug = '']) => slug);
    expect(shown.toSorted()).toEqual(slugs.slice(0, 4).toSorted());
    expect(await web.text(`${link}x`)).not.toContain('name="page"');
    // Asked for after the link was opened: not shown, so not confirmed.
    clock.at += minute;
    await web.post('/status/shared-fifth/subscribe', { email: address, lang: 'en' });
    expect((await web.post(link, { page: ['\0', ...shown] })).status).toBe(200);
    expect(await confirmed()).toEqual(slugs.slice(0, 4).toSorted());
    // A page of another organisation is not confirmed, whatever is sent.
    const { organisation } = await createTestOrganisation(web.sql);
    await page('shared-elsewhere', organisation);
    await subscribe('shared-elsewhere', address);
    await page('shared-sixth');
    clock.at += 61 * minute;
    await subscribe('shared-sixth', address);
    await mailer.tick();
    expect(
      (await web.post(linkTo(address, 'confirm'), { page: ['shared-elsewhere', 'shared-fifth'] }))
        .status,
    ).toBe(200);
    expect(await confirmed()).toEqual([...slugs, 'shared-sixth'].toSorted());
  });

  test('are asked to confirm whatever pages of another organisation asked before', async () => {
    const { organisation } = await createTestOrganisation(web.sql);
    await Promise.all(
      ['away-first', 'away-second', 'away-third', 'away-fourth'].map((slug) =>
        page(slug, organisation),
      ),
    );
    await page('wanted');
    const address = fresh();
    for (const slug of ['away-first', 'away-second', 'away-third', 'wanted'])
      await subscribe(slug, address);
    await mailer.tick();
    expect(to(address).filter(({ text }) => text.includes('/status/wanted/'))).toHaveLength(1);
    // Nor does it all come from one place: a mailbox is asked five times an hour for whoever sits
    // there.
    expect((await subscribe('away-fourth', address)).status).toBe(200);
    expect((await subscribe('away-fourth', address)).status).toBe(429);
    await mailer.tick();
    expect(to(address)).toHaveLength(4);
  });

  test('are limited to twenty requests in a quarter of an hour from one place', async () => {
    await page('often');
    clock.at += 20 * minute;
    for (let asked = 0; asked < 20; asked += 1)
      expect((await subscribe('often', fresh())).status).toBe(200);
    expect((await subscribe('often', fresh())).status).toBe(429);
    clock.at += 20 * minute;
  });

  test('cannot be confirmed after two days', async () => {
    await page('late');
    const address = fresh();
    await subscribe('late', address);
    await mailer.tick();
    clock.at += 49 * 60 * minute;
    expect((await web.post(linkTo(address, 'confirm'), {})).status).toBe(404);
  });

  test('are sent for a beginning and an end once each, with two coordinators, under the name of the page, to confirmed subscribers', async () => {
    const { id, monitor } = await page('told');
    const [reader, other, silent] = [await subscriber('told'), await subscriber('told'), fresh()];
    await subscribe('told', silent);
    const incident = await outage(monitor);
    await alert(incident, monitor, 'down', 'held');
    await tellAll();
    expect(to(reader)).toHaveLength(1);
    await web.sql`update alerts set state = 'due' where incident_id = ${incident}`;
    await tellAll();
    await web.sql`update incidents set resolved_at = ${new Date(clock.at + minute)} where id = ${incident}`;
    await alert(incident, monitor, 'up', 'due');
    await tellAll();
    await tellAll();
    for (const address of [reader, other])
      expect(to(address).map(({ subject }) => subject)).toEqual([
        'Confirm your subscription to Shop status',
        'Shop status: Checkout is down',
        'Shop status: Checkout is up again',
      ]);
    expect(to(silent)).toHaveLength(1);
    expect(JSON.stringify(letters)).not.toContain('xyzzy');
    expect(
      await web.sql`select event from status_page_told where page_id = ${id} order by event`,
    ).toMatchObject([{ event: 'began' }, { event: 'over' }]);
  });

  test('are sent for each update of a report once, to those confirmed by then', async () => {
    const { id } = await page('reported');
    const reader = await subscriber('reported');
    const late = fresh();
    const report = newId();
    const update = async (kind: string): Promise<void> => {
      await web.sql`insert into status_page_report_updates (id, report_id, kind, text, written_at)
        values (${newId()}, ${report}, ${kind}, 'Words of people.', ${new Date(clock.at)})`;
    };
    await web.sql`insert into status_page_reports (id, page_id, organisation_id, title, started_at)
      values (${report}, ${id}, ${web.house.organisation}, 'Slow checkout', ${new Date(clock.at)})`;
    await update('investigating');
    clock.at += minute;
    await subscribe('reported', late);
    await mailer.tick();
    await web.post(linkTo(late, 'confirm'), {});
    await tellAll();
    await tellAll();
    expect(to(late)).toHaveLength(1);
    await update('resolved');
    await tellAll();
    expect(
      to(reader)
        .slice(1)
        .map(({ subject }) => subject),
    ).toEqual([
      'Shop status: Investigating: Slow checkout',
      'Shop status: Resolved: Slow checkout',
    ]);
    expect(to(reader).at(-1)?.text).toContain('Words of people.');
    expect(to(late).slice(1)).toHaveLength(1);
  });

  test('are not sent for what began before the confirmation, nor for its end', async () => {
    const { id, monitor } = await page('old-news');
    const over = await outage(monitor);
    await alert(over, monitor, 'down', 'due');
    await alert(over, monitor, 'up', 'due');
    await web.sql`update incidents set resolved_at = ${new Date(clock.at)} where id = ${over}`;
    await web.sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at)
      values (${newId()}, ${id}, ${web.house.organisation}, ${over}, 'resolved', 'Old news', ${new Date(clock.at)})`;
    const open = await outage(monitor);
    await alert(open, monitor, 'down', 'due');
    clock.at += minute;
    const reader = await subscriber('old-news');
    await tellAll();
    await tellAll();
    clock.at += minute;
    await web.sql`update incidents set resolved_at = ${new Date(clock.at)} where id = ${open}`;
    await alert(open, monitor, 'up', 'due');
    await tellAll();
    await tellAll();
    expect(to(reader).map(({ subject }) => subject)).toEqual([
      'Confirm your subscription to Shop status',
    ]);
  });

  test('are sent for each post once, in place of the automatic text', async () => {
    const { id, monitor } = await page('posted');
    const reader = await subscriber('posted');
    const incident = await outage(monitor);
    await web.sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at)
      values (${newId()}, ${id}, ${web.house.organisation}, ${incident}, 'investigating', 'We are <b>on it</b>.', ${new Date(clock.at)})`;
    await alert(incident, monitor, 'down', 'due');
    await tellAll();
    await tellAll();
    expect(to(reader)).toHaveLength(2);
    expect(to(reader).at(-1)).toMatchObject({ subject: 'Shop status: Investigating: Checkout' });
    expect(to(reader).at(-1)?.html).toContain('We are &lt;b&gt;on it&lt;/b&gt;.');
  });

  test('end with one click, also by the button of a mail program, and for no one else', async () => {
    const { monitor } = await page('leaving');
    const [reader, stays] = [await subscriber('leaving'), await subscriber('leaving')];
    const incident = await outage(monitor);
    await alert(incident, monitor, 'down', 'due');
    await tellAll();
    const link = linkTo(reader, 'leave');
    expect(to(reader).at(-1)?.headers).toEqual({
      'List-Unsubscribe': `<${web.url}${link}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    expect((await web.get(link)).status).toBe(200);
    const forged = link.replace(/\.[\w-]+$/, `.${'x'.repeat(22)}`);
    expect((await web.post(forged, {})).status).toBe(404);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    expect((await fetch(`${web.url}${link}`, { method: 'POST', body: form })).status).toBe(200);
    await alert(incident, monitor, 'up', 'due');
    await web.sql`update incidents set resolved_at = ${new Date(clock.at)} where id = ${incident}`;
    await tellAll();
    expect([to(reader).length, to(stays).length]).toEqual([2, 3]);
  });

  test('name no monitor by its id', async () => {
    const { monitor } = await page('own-ids');
    const reader = await subscriber('own-ids');
    const incident = await outage(monitor);
    await alert(incident, monitor, 'down', 'due');
    await tellAll();
    expect(to(reader)).toHaveLength(2);
    const monitors = await web.sql<{ id: string }[]>`select id from monitors`;
    expect(monitors.filter(({ id }) => JSON.stringify(letters).includes(id))).toEqual([]);
  });
});
