import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { forgetSettled, type Sending } from '../../../coordinator/deliveries/sending.ts';
import { createSender } from '../../../coordinator/notifications/transport.ts';
import { createWebhookSending } from '../../../coordinator/webhooks/event-sending.ts';
import { createEvent, listEvents } from '../../../shared/api/events.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhookDeliveries,
  replayWebhook,
  resendWebhookDelivery,
  rotateWebhookSecret,
  updateWebhook,
} from '../../../shared/api/webhooks.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { eventually } from '../../support/eventually.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { type Behaviour, openReceiver, type Receiver, says } from '../../support/receivers.ts';

/** Events on their way to programs: two coordinators send, and a receiver answers as it is told. */

const bench = gateBench();
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
let receiver: Receiver;
let coordinators: readonly Sending[];
const clock = { now: () => bench.now };
const sender = createSender({
  clock,
  allow: ['127.0.0.0/8'],
  mail: undefined,
  vapid: undefined,
  limitMs: 2_000,
});

const sendingOf = (): Sending =>
  createWebhookSending({
    sql: bench.sql,
    place: newId(),
    clock,
    log: createLog({ name: 'webhooks', level: 'silent' }),
    secrets: bench.secrets,
    send: sender.send,
    hasMail: true,
    chance: () => 0,
  });

beforeAll(async () => {
  receiver = await openReceiver();
  coordinators = [sendingOf(), sendingOf()];
});
beforeEach(() => receiver.answer(says(204)));
afterAll(async () => {
  for (const one of coordinators) await one.close();
  await receiver.close();
  await sender.close();
});

type Made = OutputOf<typeof createWebhook>;
let numbers = 0;

const webhookOf = (of: TestOrganisation, more: object = {}): Promise<Made> => {
  numbers += 1;
  return bench.call(createWebhook, of.owner, { url: `${receiver.url}/in-${numbers}?`, ...more });
};
const deploy = (of: TestOrganisation, name: string) => bench.call(createEvent, of.owner, { name });

const bodyOf = (body: Buffer) => JSON.parse(body.toString());
const gotBy = ({ url }: Pick<Made, 'url'>) =>
  receiver.got
    .filter(({ path }) => path === `${new URL(url).pathname}${new URL(url).search}`)
    .map(({ headers, body }) => ({
      id: headers['webhook-id'],
      headers,
      raw: body.toString(),
      ...bodyOf(body),
    }));
const namesBy = (webhook: Made): string[] => gotBy(webhook).map(({ data }) => data.name);

const once = async (): Promise<void> => {
  await Promise.all(coordinators.map((one) => one.tick()));
};
/**
 * Until so much came: an event is certain only when every transaction of the server that began
 * before it is over, and other tests work there.
 */
const until = async (webhook: Made, count: number): Promise<void> => {
  await eventually(async () => {
    await once();
    return gotBy(webhook).length >= count;
  });
};
const logOf = async (of: TestOrganisation, webhook: Made) =>
  (await bench.call(listWebhookDeliveries, of.owner, { webhook_id: webhook.id, limit: 200 })).items;
/** Until so many are in the log. */
const handed = async (of: TestOrganisation, webhook: Made, count: number): Promise<void> => {
  await eventually(async () => {
    await once();
    return (await logOf(of, webhook)).length >= count;
  });
};

describe('events', () => {
  test('are sent once each, as the list has them, signed, from the making of the webhook on', async () => {
    const of = await createTestOrganisation(bench.sql);
    await deploy(of, 'before');
    const webhook = await webhookOf(of);
    const other = await webhookOf(of, { event_types: ['group.created'] });
    await deploy(of, 'one');
    await bench.call(createGroup, of.owner, { name: 'Shop' });
    await deploy(of, 'two');
    await until(webhook, 3);
    await until(other, 1);
    await once();
    expect(namesBy(webhook).toSorted()).toEqual(['Shop', 'one', 'two']);
    expect(namesBy(other)).toEqual(['Shop']);
    const { items } = await bench.call(listEvents, of.viewer, { limit: 200 });
    for (const got of gotBy(webhook)) {
      const event = items.find(({ id }) => id === got.id);
      expect({ type: got.type, timestamp: got.timestamp, data: got.data }).toEqual({
        type: event?.event,
        timestamp: event?.at,
        data: event,
      });
      const { headers, raw } = got;
      expect(headers['webhook-signature']).toBe(
        new Webhook(webhook.secret).sign(
          String(headers['webhook-id']),
          new Date(Number(headers['webhook-timestamp']) * 1_000),
          raw,
        ),
      );
    }
    const log = await logOf(of, webhook);
    expect(log.map(({ state, attempts, status }) => [state, attempts, status])).toEqual(
      Array.from({ length: 3 }, () => ['delivered', 1, 204]),
    );
    expect(
      (await bench.call(getWebhook, of.owner, { webhook_id: webhook.id })).last_delivered_at,
    ).not.toBeNull();
  });

  test('of a transaction that was open when the webhook was made are sent, and none of before', async () => {
    const of = await createTestOrganisation(bench.sql);
    const opened = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const writing = bench.sql.begin(async (transaction) => {
      await transaction`insert into events (organisation_id, what, name) values (${of.organisation}, 'deploy', 'open')`;
      opened.resolve();
      await released.promise;
    });
    await opened.promise;
    await deploy(of, 'before');
    const webhook = await webhookOf(of);
    await deploy(of, 'after');
    await once();
    // What an open transaction could precede waits for it.
    expect(namesBy(webhook)).toEqual([]);
    released.resolve();
    await writing;
    await until(webhook, 2);
    await once();
    expect(namesBy(webhook).toSorted()).toEqual(['after', 'open']);
  });

  test('that failed are sent again under the same id and time, while later ones are sent', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    receiver.answer(says(503, '<b>down</b>'));
    await deploy(of, 'one');
    await until(webhook, 1);
    const [failed] = await logOf(of, webhook);
    expect(failed).toMatchObject({
      state: 'waiting',
      attempts: 1,
      status: 503,
      failure: null,
      answer: '<b>down</b>',
      next_attempt_at: new Date(bench.now + 5 * second).toISOString(),
    });
    expect(
      (await bench.call(getWebhook, of.owner, { webhook_id: webhook.id })).failing_since,
    ).not.toBeNull();
    receiver.answer(says(200));
    await deploy(of, 'two');
    await until(webhook, 2);
    await once();
    expect(namesBy(webhook)).toEqual(['one', 'two']);
    bench.now += 5 * second;
    await until(webhook, 3);
    await once();
    const [first, , again, ...more] = gotBy(webhook);
    expect(more).toEqual([]);
    expect([again?.id, again?.raw]).toEqual([first?.id, first?.raw]);
    expect(again?.headers['webhook-timestamp']).not.toBe(first?.headers['webhook-timestamp']);
    expect(
      (await bench.call(getWebhook, of.owner, { webhook_id: webhook.id })).failing_since,
    ).toBeNull();
  });

  test('are given up after the tenth attempt, and Retry-After is kept to', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    receiver.answer((response) => response.writeHead(429, { 'retry-after': '90' }).end());
    await deploy(of, 'one');
    await until(webhook, 1);
    const [asked] = await logOf(of, webhook);
    expect(asked?.next_attempt_at).toBe(new Date(bench.now + 90 * second).toISOString());
    receiver.answer((response, { body }) =>
      response.writeHead(bodyOf(body).data.name === 'one' ? 500 : 200).end(),
    );
    let others = 0;
    for (let attempt = 2; attempt <= 10; attempt += 1) {
      bench.now += day;
      if (attempt === 4 || attempt === 7) {
        // Without a success now and then, five days would turn it off.
        others += 1;
        await deploy(of, `other ${others}`);
      }
      await until(webhook, attempt + others);
    }
    await once();
    const one = (await logOf(of, webhook)).find(({ event_id }) => event_id === asked?.event_id);
    expect([one?.state, one?.attempts, one?.next_attempt_at]).toEqual(['failed', 10, null]);
    bench.now += 2 * day;
    await once();
    expect(gotBy(webhook)).toHaveLength(12);
  });
});

describe('a webhook', () => {
  test('that answers 410 is turned off with all that waits, and its owners are mailed', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of, { description: 'Tickets' });
    receiver.answer(says(500));
    await deploy(of, 'one');
    await until(webhook, 1);
    receiver.answer(says(410));
    await deploy(of, 'two');
    await until(webhook, 2);
    await eventually(async () => {
      await once();
      return !(await bench.call(getWebhook, of.owner, { webhook_id: webhook.id })).enabled;
    });
    expect(await bench.call(getWebhook, of.owner, { webhook_id: webhook.id })).toMatchObject({
      enabled: false,
      disabled_because: 'gone',
    });
    expect((await logOf(of, webhook)).map(({ state }) => state)).toEqual(['failed', 'cancelled']);
    const mails = await bench.sql<{ recipient: string; about: object }[]>`
      select recipient, told as about from deliveries where event = 'webhook-off'
        and told->>'webhook' = ${webhook.id}`;
    expect(mails.map((row) => ({ ...row }))).toEqual([
      {
        recipient: of.owner.email,
        about: { webhook: webhook.id, name: 'Tickets', because: 'gone' },
      },
    ]);
    const { length } = gotBy(webhook);
    bench.now += hour;
    await deploy(of, 'three');
    await once();
    expect(gotBy(webhook)).toHaveLength(length);
    // Turned on, it begins with what comes then, and a replay sends what came meanwhile.
    receiver.answer(says(200));
    await bench.call(updateWebhook, of.owner, { webhook_id: webhook.id, enabled: true });
    await deploy(of, 'four');
    await until(webhook, length + 1);
    expect(namesBy(webhook).slice(length)).toEqual(['four']);
    const { events } = await bench.call(replayWebhook, of.owner, {
      webhook_id: webhook.id,
      since: '2020-01-01T00:00:00Z',
    });
    expect(events).toBe(4);
    await until(webhook, length + 5);
    expect(
      namesBy(webhook)
        .slice(length + 1)
        .toSorted(),
    ).toEqual(['four', 'one', 'three', 'two']);
  });

  test('that accepts nothing for five days is turned off', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    receiver.answer(says(500));
    const began = gotBy(webhook).length;
    for (let days = 0; days <= 5; days += 1) {
      await deploy(of, `day ${days}`);
      await until(webhook, began + days + 1);
      bench.now += day;
    }
    await eventually(async () => {
      await once();
      return !(await bench.call(getWebhook, of.owner, { webhook_id: webhook.id })).enabled;
    });
    const { disabled_because } = await bench.call(getWebhook, of.owner, {
      webhook_id: webhook.id,
    });
    expect(disabled_because).toBe('failing');
  });

  test('that is slow holds up no other, of its own organisation or of others', async () => {
    const [of, others] = [
      await createTestOrganisation(bench.sql),
      await createTestOrganisation(bench.sql),
    ];
    const slow = await webhookOf(of);
    const [quick, foreign] = [await webhookOf(of), await webhookOf(others)];
    const held: (() => void)[] = [];
    const isSlow = new URL(slow.url).pathname;
    const behaviour: Behaviour = (response, { path }) => {
      if (!path.startsWith(isSlow)) return response.writeHead(200).end();
      held.push(() => response.writeHead(200).end());
      return undefined;
    };
    receiver.answer(behaviour);
    for (let n = 0; n < 6; n += 1) await deploy(of, `n ${n}`);
    await deploy(others, 'theirs');
    await eventually(async () => {
      for (const one of coordinators) await one.hurry();
      return gotBy(quick).length === 6 && gotBy(foreign).length === 1;
    });
    // A few requests at once by each of the two coordinators, and none answered so far.
    expect(held.length).toBeGreaterThan(0);
    expect(held.length).toBeLessThanOrEqual(8);
    const release = setInterval(() => {
      for (const answer of held.splice(0)) answer();
    }, 20);
    await until(slow, 6);
    clearInterval(release);
    for (const answer of held.splice(0)) answer();
    expect(new Set(namesBy(slow)).size).toBe(6);
  });

  test('is signed with both secrets for a day after one was replaced', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    const { secret, previous_until } = await bench.call(rotateWebhookSecret, of.owner, {
      webhook_id: webhook.id,
    });
    expect(previous_until).toBe(new Date(bench.now + day).toISOString());
    const signedBy = async (name: string): Promise<boolean[]> => {
      const { length } = gotBy(webhook);
      await deploy(of, name);
      await until(webhook, length + 1);
      const got = gotBy(webhook).at(-1);
      const signatures = String(got?.headers['webhook-signature']).split(' ');
      return [secret, webhook.secret].map((each) =>
        signatures.includes(
          new Webhook(each).sign(
            got?.id ?? '',
            new Date(Number(got?.headers['webhook-timestamp']) * 1_000),
            got?.raw ?? '',
          ),
        ),
      );
    };
    expect(await signedBy('both')).toEqual([true, true]);
    bench.now += day;
    expect(await signedBy('new')).toEqual([true, false]);
  });

  test('gets one event again, or all since a place in the list or a time, under the same ids', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    await deploy(of, 'one');
    await until(webhook, 1);
    const { after } = await bench.call(listEvents, of.viewer, { limit: 200 });
    await deploy(of, 'two');
    await deploy(of, 'three');
    await until(webhook, 3);
    const two = (await logOf(of, webhook)).find(
      ({ event_id }) => event_id === gotBy(webhook).find(({ data }) => data.name === 'two')?.id,
    );
    await bench.call(resendWebhookDelivery, of.owner, {
      webhook_id: webhook.id,
      delivery_id: two?.id,
    });
    await until(webhook, 4);
    expect(gotBy(webhook).at(-1)?.id).toBe(two?.event_id);
    expect(await bench.call(replayWebhook, of.owner, { webhook_id: webhook.id, after })).toEqual({
      events: 2,
    });
    await until(webhook, 6);
    await once();
    expect(namesBy(webhook).slice(4).toSorted()).toEqual(['three', 'two']);
    expect(new Set(gotBy(webhook).map(({ id }) => id)).size).toBe(3);
    expect(await logOf(of, webhook)).toHaveLength(3);
    const tomorrow = new Date(Date.now() + day).toISOString();
    bench.now += 60 * second;
    expect(
      await bench.call(replayWebhook, of.owner, { webhook_id: webhook.id, since: tomorrow }),
    ).toEqual({ events: 0 });
    await once();
    expect(gotBy(webhook)).toHaveLength(6);
  });

  test('gets what was before it by a replay, also where an open transaction preceded both', async () => {
    const of = await createTestOrganisation(bench.sql);
    const opened = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const writing = bench.sql.begin(async (transaction) => {
      await transaction`select pg_current_xact_id()`;
      opened.resolve();
      await released.promise;
    });
    await opened.promise;
    await deploy(of, 'before');
    const webhook = await webhookOf(of);
    const since = '2020-01-01T00:00:00Z';
    expect(await bench.call(replayWebhook, of.owner, { webhook_id: webhook.id, since })).toEqual({
      events: 1,
    });
    released.resolve();
    await writing;
    await until(webhook, 1);
    expect(namesBy(webhook)).toEqual(['before']);
  });

  test('that is turned off by a member keeps what it was sent, and is deleted with its log', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    receiver.answer(says(500));
    await deploy(of, 'one');
    await handed(of, webhook, 1);
    await bench.call(updateWebhook, of.owner, { webhook_id: webhook.id, enabled: false });
    expect((await logOf(of, webhook)).map(({ state }) => state)).toEqual(['cancelled']);
    const { length } = gotBy(webhook);
    bench.now += hour;
    await once();
    expect(gotBy(webhook)).toHaveLength(length);
    await bench.call(deleteWebhook, of.owner, { webhook_id: webhook.id });
    expect(await bench.sql`select 1 from deliveries where webhook_id = ${webhook.id}`).toHaveLength(
      0,
    );
  });

  test('has a log of 14 days, in which what waits stays', async () => {
    const of = await createTestOrganisation(bench.sql);
    const webhook = await webhookOf(of);
    await deploy(of, 'one');
    await until(webhook, 1);
    await once();
    receiver.answer(says(500));
    await deploy(of, 'two');
    await until(webhook, 2);
    await once();
    await forgetSettled(bench.sql, 'event', bench.now - 1, 100);
    expect(await logOf(of, webhook)).toHaveLength(2);
    await forgetSettled(bench.sql, 'event', bench.now + 1, 100);
    expect((await logOf(of, webhook)).map(({ state }) => state)).toEqual(['waiting']);
  });
});
