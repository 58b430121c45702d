import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, seedDemo } from '../../support/demo.ts';
import type { Person } from '../../support/people.ts';
import { openReceiver, type Receiver, says } from '../../support/receivers.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

let web: TestWeb;
let demo: Demo;
let receiver: Receiver;

beforeAll(async () => {
  web = await startWeb();
  demo = await seedDemo(web.sql, web.house.organisation, Date.now());
  receiver = await openReceiver();
});
afterAll(async () => {
  await receiver.close();
  await web.close();
});

const post = (path: string, form: Readonly<Record<string, string | readonly string[]>> = {}) =>
  web.send(path, form, 'owner');
const read = async (path: string, as: Person = web.house.owner): Promise<string> =>
  (await web.get(path, { as })).text;
const sees = (text: string, ...words: readonly string[]): boolean[] =>
  words.map((word) => text.includes(word));

test('a new webhook shows its secret on the page that answers its form, and on no page after', async () => {
  const made = await post('/webhooks/new', {
    url: `${receiver.url}/new`,
    description: 'Chat bot',
    'event_types[]': ['deploy', 'incident.confirmed'],
  });
  const [secret = ''] = /whsec_[\w+/]+=*/.exec(made.text) ?? [];
  expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(secret.length).toBeGreaterThan(40);
  const id = /\/webhooks\/([0-9a-f-]{36})/.exec(made.text)?.[1] ?? 'none';
  const page = await read(`/webhooks/${id}`);
  expect(sees(page, 'Chat bot', 'deploy, incident.confirmed', secret)).toEqual([true, true, false]);
  // What was typed comes back with what is wrong.
  const wrong = await post('/webhooks/new', { url: 'ftp://x.example', description: 'Kept' });
  expect([wrong.status, ...sees(wrong.text, 'value="Kept"', 'Must be an https://')]).toEqual([
    400,
    true,
    true,
  ]);
  const replaced = await post(`/webhooks/${id}/secret`);
  const [next = ''] = /whsec_[\w+/]+=*/.exec(replaced.text) ?? [];
  expect([next.startsWith('whsec_'), next === secret]).toEqual([true, false]);
});

test('a test shows what came back, as text', async () => {
  const { text } = await post('/webhooks/new', { url: `${receiver.url}/tested` });
  const id = /\/webhooks\/([0-9a-f-]{36})/.exec(text)?.[1] ?? 'none';
  receiver.answer(says(500, '<script>alert(1)</script>'));
  const failed = await post(`/webhooks/${id}/test`);
  expect(
    sees(
      failed.text,
      'Test not delivered: HTTP 500',
      '&lt;script&gt;alert(1)&lt;/script&gt;',
      '<script>alert(1)',
    ),
  ).toEqual([true, true, false]);
  receiver.answer(says(204));
  expect((await post(`/webhooks/${id}/test`)).text).toContain('Test delivered (HTTP 204');
});

test('the log shows state, attempts and answers; members without the right see no answer, and no button', async () => {
  const path = `/webhooks/${demo.webhooks.tickets}`;
  const shown = await read(path);
  const answer = '&lt;h1&gt;Service Unavailable&lt;/h1&gt;';
  expect(sees(shown, 'incident.resolved', 'Failed', 'HTTP 503', answer, '/resend"')).toEqual([
    true,
    true,
    true,
    true,
    true,
  ]);
  const others = await read(path, web.house.viewer);
  expect(
    sees(others, 'HTTP 503', 'https://tickets.example.com/***', answer, '/resend"', '/hooks/'),
  ).toEqual([true, true, false, false, false]);
  const waiting = await read(`${path}?state=waiting`);
  expect(sees(waiting, 'HTTP 503', 'HTTP 200')).toEqual([true, false]);
});

test('an event is sent again by its button, and all since a time by a form', async () => {
  const path = `/webhooks/${demo.webhooks.tickets}`;
  const again = await post(`${path}/deliveries/${demo.webhooks.delivery}/resend`);
  expect([again.status, again.headers.get('location')]).toEqual([303, path]);
  const [row] = await web.sql<{ attempts: number; is_due: boolean }[]>`
    select attempts, next_at <= now() + interval '1 minute' as is_due from deliveries
    where id = ${demo.webhooks.delivery}`;
  expect({ ...row }).toEqual({ attempts: 0, is_due: true });
  expect((await post(`${path}/replay`, { since: '2026-01-01T00:00' })).status).toBe(303);
  const [cursor] = await web.sql<{ begins: string | null }[]>`
    select begins::text from webhook_cursors where webhook_id = ${demo.webhooks.tickets}`;
  expect(cursor?.begins).toBeNull();
  const wrong = await post(`${path}/replay`, { since: 'yesterday' });
  expect([wrong.status, wrong.text.includes('Please fix what is marked')]).toEqual([400, true]);
});

test('one that was turned off says why, and is turned on by its button', async () => {
  const path = `/webhooks/${demo.webhooks.old}`;
  expect(sees(await read(path), 'the address is gone (410)', '/turn-on"')).toEqual([true, true]);
  expect((await post(`${path}/turn-on`)).status).toBe(303);
  expect(sees(await read(path), 'the address is gone (410)', '/turn-on"')).toEqual([false, false]);
});
