import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readExport } from '../../../coordinator/offboarding/contract.ts';
import { eventTypes, listEvents } from '../../../shared/api/events.ts';
import type { Operation } from '../../../shared/api/operation.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import {
  createWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhook,
  resendWebhookDelivery,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from '../../../shared/api/webhooks.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { type Behaviour, openReceiver, type Receiver, says } from '../../support/receivers.ts';

const bench = gateBench();
const url = 'https://hooks.example.org/in?key=s3cret';
let receiver: Receiver;
let of: TestOrganisation;

beforeAll(async () => {
  receiver = await openReceiver();
  of = await createTestOrganisation(bench.sql);
});
afterAll(() => receiver.close());

const deliveryTo = async (webhook: string): Promise<string> => {
  const id = newId();
  await bench.sql`insert into deliveries (id, organisation_id, webhook_id, event_key, event_id, event, state,
      created_at, next_at, attempts, log, settled_at)
    values (${id}, ${of.organisation}, ${webhook}, 1, ${newId()}, 'deploy', 'delivered', now(), now(), 1,
      '[{"at": 0, "took_ms": 48, "status": 200, "class": null, "answer": "inner words"}]', now())`;
  return id;
};

describe('webhooks', () => {
  test('show their address and what its server answers to owners and admins, others see the host', async () => {
    const { id } = await bench.call(createWebhook, of.owner, { url });
    await deliveryTo(id);
    const shown = async (who: typeof of.owner) => [
      (await bench.call(getWebhook, who, { webhook_id: id })).url,
      (await bench.call(listWebhookDeliveries, who, { webhook_id: id })).items[0]?.answer,
    ];
    for (const who of [of.owner, of.admin]) expect(await shown(who)).toEqual([url, 'inner words']);
    for (const who of [of.member, of.viewer])
      expect(await shown(who)).toEqual(['https://hooks.example.org/***', null]);
  });

  test('have secrets that are shown once, and stand open in no table, log or export', async () => {
    const { id, secret } = await bench.call(createWebhook, of.owner, { url });
    const { secret: next } = await bench.call(rotateWebhookSecret, of.owner, { webhook_id: id });
    await bench.call(updateWebhook, of.owner, { webhook_id: id, url: `${url}&more` });
    const [row] = await bench.sql`select * from webhooks where id = ${id}`;
    const texts = [
      JSON.stringify(row),
      String(row?.secrets),
      JSON.stringify(await bench.call(getWebhook, of.viewer, { webhook_id: id })),
      JSON.stringify(await bench.call(listAudit, of.owner, { limit: 200 })),
      JSON.stringify(await bench.call(readExport, of.owner, { part: 'webhooks', limit: 200 })),
    ];
    for (const text of texts)
      for (const hidden of [secret.slice(6), next.slice(6), 's3cret'])
        expect(text.includes(hidden)).toBe(false);
    expect(texts[4]).toContain('hooks.example.org');
  });

  test('refuse what is no address, no known type, and one more than the plan allows', async () => {
    const own = await createTestOrganisation(bench.sql);
    const refused = (input: object) => bench.refusal(createWebhook, own.owner, input);
    expect(await refused({ url: 'hooks.example.org' })).toBe('webhook_invalid');
    expect(await refused({ url: 'https://me:pass@hooks.example.org/' })).toBe('webhook_invalid');
    expect(await refused({ url, description: 'two\nlines' })).toBe('webhook_invalid');
    expect(await refused({ url, event_types: ['monitor.exploded'] })).toBe('faults');
    const made = await bench.call(createWebhook, own.owner, {
      url,
      event_types: ['deploy', 'deploy'],
    });
    expect(made.event_types).toEqual(['deploy']);
    await bench.sql`update organisations set plan = 'free' where id = ${own.organisation}`;
    const codes = [await refused({ url }), await refused({ url })];
    expect(codes).toEqual(['taken', 'plan_limit_webhooks']);
  });

  test('are changed field by field', async () => {
    const { id } = await bench.call(createWebhook, of.owner, { url, event_types: ['deploy'] });
    const change = (input: object) =>
      bench.call(updateWebhook, of.owner, { webhook_id: id, ...input });
    expect(await change({ description: 'Tickets' })).toMatchObject({
      description: 'Tickets',
      url,
      event_types: ['deploy'],
      enabled: true,
    });
    expect(await change({ event_types: [], url: 'http://hooks.example.org/other' })).toMatchObject({
      description: 'Tickets',
      url: 'http://hooks.example.org/other',
      event_types: [],
    });
    expect(await change({ enabled: false })).toMatchObject({
      enabled: false,
      disabled_because: null,
    });
  });

  test('that are off get nothing again before they are on', async () => {
    const { id } = await bench.call(createWebhook, of.owner, { url, enabled: false });
    const delivery_id = await deliveryTo(id);
    const refused = [
      await bench.refusal(resendWebhookDelivery, of.owner, { webhook_id: id, delivery_id }),
      await bench.refusal(replayWebhook, of.owner, { webhook_id: id, since: '2026-01-01' }),
    ];
    expect(refused).toEqual(['webhook_disabled', 'webhook_disabled']);
  });

  test('are replayed from a place or a moment, not from both, and from a place of their own list alone', async () => {
    const { id } = await bench.call(createWebhook, of.owner, { url });
    const other = await createTestOrganisation(bench.sql);
    const replayed = (input: object) =>
      bench.refusal(replayWebhook, of.owner, { webhook_id: id, ...input });
    const { after } = await bench.call(listEvents, of.viewer);
    const { after: foreign } = await bench.call(listEvents, other.viewer);
    expect(await replayed({ after })).toBe('taken');
    bench.now += 60_000;
    expect(await replayed({ since: '2026-01-01T00:00Z' })).toBe('taken');
    expect(await replayed({})).toBe('faults');
    expect(await replayed({ after, since: '2026-01-01T00:00Z' })).toBe('faults');
    bench.now += 60_000;
    expect(await replayed({ after: foreign })).toBe('faults');
  });

  test('are replayed once a minute each, and ten times an hour by an organisation', async () => {
    const own = await createTestOrganisation(bench.sql);
    const hook = async () => (await bench.call(createWebhook, own.owner, { url })).id;
    const [one, other] = [await hook(), await hook()];
    const replayed = (webhook_id: string) =>
      bench.call(replayWebhook, own.owner, { webhook_id, since: '2026-01-01T00:00Z' });
    await replayed(one);
    await expect(replayed(one)).rejects.toMatchObject({
      code: 'too_many_attempts',
      kind: 'limited',
      waitS: 60,
      message: 'Too many tries; wait a minute, then try again.',
    });
    await replayed(other);
    for (let count = 2; count < 10; count += 1) {
      bench.now += 60_000;
      await replayed(one);
    }
    bench.now += 60_000;
    await expect(replayed(other)).rejects.toMatchObject({ waitS: 3_600 - 9 * 60 });
    bench.now += 51 * 60_000;
    await replayed(other);
  });

  test('are sent again 60 events an hour by an organisation', async () => {
    const own = await createTestOrganisation(bench.sql);
    const { id } = await bench.call(createWebhook, own.owner, { url });
    const resent = () =>
      bench.refusal(resendWebhookDelivery, own.owner, { webhook_id: id, delivery_id: newId() });
    for (let count = 0; count < 60; count += 1)
      expect(await resent()).toBe('webhook_delivery_not_found');
    expect(await resent()).toBe('too_many_attempts');
  });

  test('are tested by a signed POST, and the answer is told; ten an hour are the most', async () => {
    const own = await createTestOrganisation(bench.sql);
    const { id } = await bench.call(createWebhook, own.owner, { url: `${receiver.url}/tested` });
    receiver.answer(says(500, 'not today'));
    const tried = await bench.call(testWebhook, own.owner, { webhook_id: id });
    expect(tried).toMatchObject({
      delivered: false,
      status: 500,
      failure: null,
      answer: 'not today',
      sent: { type: 'webhook.test', data: { event: 'webhook.test', monitor: null } },
    });
    const got = receiver.got.at(-1);
    expect(JSON.parse(got?.body.toString() ?? '')).toEqual(tried.sent);
    expect(got?.headers['webhook-id']).toBe(tried.sent.data.id);
    const codes = [];
    for (let count = 0; count < 10; count += 1)
      codes.push(await bench.refusal(testWebhook, own.owner, { webhook_id: id }));
    expect(codes.filter((code) => code === 'taken')).toHaveLength(9);
    expect(codes.at(-1)).toBe('channel_test_limit');
  });
});

test('every type of event that the database writes can be chosen', async () => {
  const functions = await bench.sql<{ text: string }[]>`
    select pg_get_functiondef(p.oid) as text from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = current_schema() and p.prokind = 'f' and p.prosrc like '%insert into events%'`;
  const written = functions.flatMap(({ text }) =>
    [...text.matchAll(/'([a-z]+\.[a-z]+)'/g)].map(([, type]) => type ?? ''),
  );
  const types = new Set(written.filter((type) => type !== 'antipode.restoring'));
  expect(types.size).toBeGreaterThan(15);
  const ofPrograms = eventTypes.filter((type) => type === 'deploy' || type.startsWith('cause.'));
  expect([...types, ...ofPrograms].toSorted()).toEqual(eventTypes.toSorted());
});

describe('the address of a webhook', () => {
  let own: TestOrganisation;
  let asked: Receiver;
  beforeAll(async () => {
    own = await createTestOrganisation(bench.sql);
    asked = await openReceiver({ isChallenged: true });
  });
  afterAll(() => asked.close());

  const contentOf = (body: Buffer | undefined) => JSON.parse(body?.toString() ?? '{}');
  const answersWell: Behaviour = (response, { body }) => {
    response.end(`${contentOf(body).data.challenge}\n`);
  };
  const refusalOf = (operation: Operation, input: object): Promise<string> =>
    bench.call(operation, own.owner, input).then(
      () => 'taken',
      (error: unknown) => (error instanceof Refusal ? `${error.code} ${error.message}` : 'a fault'),
    );

  test('answers a signed challenge before anything is stored', async () => {
    bench.now = Date.now();
    asked.answer(answersWell);
    const { id, secret } = await bench.call(createWebhook, own.owner, { url: `${asked.url}/in` });
    const [got] = asked.got;
    const { type, data } = contentOf(got?.body);
    expect([type, data]).toEqual(['webhook.challenge', { challenge: expect.any(String) }]);
    const headers = Object.fromEntries(
      Object.entries(got?.headers ?? {}).map(([name, value]) => [name, String(value)]),
    );
    expect(new Webhook(secret).verify(got?.body.toString() ?? '', headers)).toBeTruthy();

    const before = asked.got.length;
    await bench.call(updateWebhook, own.owner, { webhook_id: id, description: 'Other' });
    await bench.call(updateWebhook, own.owner, { webhook_id: id, url: `${asked.url}/in` });
    expect(asked.got.length).toBe(before);
    await bench.call(updateWebhook, own.owner, { webhook_id: id, url: `${asked.url}/other` });
    expect(asked.got.slice(before).map(({ path }) => path)).toEqual(['/other']);
  });

  test('is refused in words when it answers otherwise, and nothing changes', async () => {
    asked.answer(answersWell);
    const { id } = await bench.call(createWebhook, own.owner, { url: `${asked.url}/kept` });
    const count = async () => (await bench.call(listWebhooks, own.owner)).items.length;
    const before = await count();
    for (const [behaviour, words] of [
      [says(200, 'ok'), 'HTTP 200 with another text'],
      [says(404), 'HTTP 404'],
      [says(302, '', { location: 'https://other.example/' }), 'HTTP 302'],
    ] as const) {
      asked.answer(behaviour);
      const refusal = await refusalOf(createWebhook, { url: `${asked.url}/x` });
      expect(refusal).toMatch(/^webhook_unproved .*webhook\.challenge.*data\.challenge/);
      expect(refusal).toContain(words);
      expect(await refusalOf(updateWebhook, { webhook_id: id, url: `${asked.url}/x` })).toContain(
        words,
      );
    }
    // Of this machine's own network, which the bench does not allow.
    expect(await refusalOf(createWebhook, { url: 'http://169.254.169.254/' })).toContain(
      'ALERT_ALLOW_CIDRS',
    );
    expect(await count()).toBe(before);
    expect((await bench.call(getWebhook, own.owner, { webhook_id: id })).url).toBe(
      `${asked.url}/kept`,
    );
  });

  test('is asked thirty times an hour for an organisation', async () => {
    const other = await createTestOrganisation(bench.sql);
    asked.answer(says(404));
    const tries = [];
    for (let count = 0; count < 31; count += 1)
      tries.push(await bench.refusal(createWebhook, other.owner, { url: `${asked.url}/${count}` }));
    expect(new Set(tries.slice(0, 30))).toEqual(new Set(['webhook_unproved']));
    expect(tries[30]).toBe('too_many_attempts');
  });
});
