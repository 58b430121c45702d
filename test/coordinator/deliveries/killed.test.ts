import { beforeEach, describe, expect, test } from 'vitest';
import { createMailer } from '../../../coordinator/account-mail/mail-sending.ts';
import { postMail } from '../../../coordinator/account-mail/queries.ts';
import type { Sending } from '../../../coordinator/deliveries/sending.ts';
import type { Outgoing } from '../../../coordinator/notifications/kinds/types.ts';
import { newSigningSecret } from '../../../coordinator/notifications/kinds/webhook.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { createSecretsAtRest, pageWebhookOf } from '../../../coordinator/secrets/at-rest.ts';
import { createWebhookDelivery } from '../../../coordinator/status-pages/public/webhooks.ts';
import {
  insertDeliveries,
  insertWebhook,
} from '../../../coordinator/status-pages/webhook-queries.ts';
import { handOn } from '../../../coordinator/webhooks/delivery-queries.ts';
import { createWebhookSending } from '../../../coordinator/webhooks/event-sending.ts';
import { insertWebhook as insertEventWebhook } from '../../../coordinator/webhooks/queries.ts';
import { sealWebhook } from '../../../coordinator/webhooks/secrets.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { testLog } from '../../support/network.ts';
import { answered, notificationBench } from '../../support/notification-parts.ts';
import { testSecretKey } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

/**
 * What becomes of a delivery whose coordinator is killed between the receiver's answer and the
 * commit: for every kind, from its row to its receiver.
 */
describe('what a killed coordinator was sending', async () => {
  const { sql } = await ownDatabase({ name: 'deliveries', connections: 8 });
  const secrets = createSecretsAtRest(testSecretKey);
  const accountSecrets = createAccountSecrets(sql, { secretKey: testSecretKey });
  let bench: Awaited<ReturnType<typeof notificationBench>>;
  /** What receivers recognise a delivery by, each time that it came. */
  let came: (string | undefined)[];
  /** Null: it is killed before it hears of the answer. */
  let answer: 'taken' | null;

  beforeEach(async () => {
    await sql`truncate organisations, alerts, deliveries cascade`;
    bench = await notificationBench(sql);
    [came, answer] = [[], null];
    bench.answers.of = hear;
  });

  async function hear(outgoing: Outgoing) {
    const { headers, id } = { headers: {}, id: undefined, ...outgoing };
    came.push(id ?? new Map(Object.entries(headers)).get('webhook-id'));
    return answer === null ? new Promise<never>(() => undefined) : answered(200);
  }

  const parts = (place: string) => ({
    ...{ sql, place, secrets, accountSecrets, send: hear },
    log: testLog(),
    clock: { now: () => bench.now },
    baseUrl: () => 'https://antipode.test',
  });

  type Case = {
    readonly kind: string;
    /** Has something to be sent, at once. */
    readonly write: () => Promise<void>;
    readonly sending: (place: string) => Sending;
    readonly claimMs: number;
  };
  const cases: readonly Case[] = [
    {
      kind: 'alert',
      claimMs: 60_000,
      write: async () => {
        await bench.channel('chat');
        await bench.down(await bench.monitor('Shop'));
        const { planner, composer } = bench.coordinator();
        while (await planner.plan());
        while (await composer.compose());
      },
      sending: (place) => bench.coordinator(place).courier,
    },
    {
      kind: 'mail',
      claimMs: 120_000,
      write: () =>
        postMail(sql, {
          kind: 'notice',
          recipient: 'ada@shop.example',
          about: { what: 'password', detail: '' },
          at: bench.now,
        }),
      sending: (place) =>
        createMailer({
          ...parts(place),
          sender: {
            send: async (letter) => {
              await hear({ by: 'mail', html: '', in_reply_to: null, headers: {}, ...letter });
            },
            close: () => undefined,
          },
        }),
    },
    {
      kind: 'event',
      claimMs: 30_000,
      write: async () => {
        const id = newId();
        const box = {
          url: 'https://hooks.test/',
          secrets: [{ secret: newSigningSecret(), until: null }],
        };
        const { organisation } = bench;
        await insertEventWebhook(
          sql,
          {
            ...{ id, organisation, description: '', host: 'hooks.test', enabled: true },
            event_types: [],
            secrets: await sealWebhook(secrets, sql, id, box),
          },
          bench.now,
        );
        await sql`insert into events (organisation_id, what, name)
          values (${organisation}, 'deploy', 'one')`;
        // Not before the transactions that were open meanwhile have ended.
        await eventually(() => handOn(sql, bench.now));
      },
      sending: (place) => createWebhookSending({ ...parts(place), hasMail: false }),
    },
    {
      kind: 'update',
      claimMs: 60_000,
      write: async () => {
        const [page, subscriber, at] = [newId(), newId(), bench.now];
        const monitor = await bench.monitor('Shop');
        await sql`insert into status_pages (id, organisation_id, name, slug)
          values (${page}, ${bench.organisation}, 'Shop', ${page})`;
        await sql`insert into status_page_monitors (page_id, monitor_id, display_name, position)
          values (${page}, ${monitor}, 'Checkout', 0)`;
        const incident = await bench.down(monitor);
        const box = { url: 'https://hooks.test/', secret: newSigningSecret() };
        await insertWebhook(sql, {
          ...{ id: subscriber, page, fingerprint: Buffer.alloc(1), host: 'hooks.test', at },
          box: await secrets.seal(sql, JSON.stringify(box), pageWebhookOf(subscriber)),
          language: 'en',
        });
        const notice = { subscriber, incident, event: 'began', post: null } as const;
        await insertDeliveries(sql, [{ id: newId(), ...notice }], at);
      },
      sending: (place) => createWebhookDelivery(parts(place)),
    },
  ];

  const stateOf = async (kind: string) =>
    (await sql`select attempts, state from deliveries where kind = ${kind}`).map((row) => ({
      ...row,
    }));

  test.each(cases)(
    'rules 28 and 31: $kind: is sent by another once the claim ends, with the same id, and once',
    async ({ kind, write, sending, claimMs }) => {
      await write();
      await sending(newId()).hurry();
      await eventually(async () => came.length === 1);
      answer = 'taken';
      const [one, other] = [sending(newId()), sending(newId())];
      bench.now += claimMs - 1;
      await Promise.all([one.tick(), other.tick()]);
      expect(came).toHaveLength(1);
      bench.now += 1;
      await Promise.all([one.tick(), other.tick(), one.tick()]);
      expect(came).toEqual([expect.any(String), came[0]]);
      expect(await stateOf(kind)).toEqual([{ attempts: 2, state: 'delivered' }]);
    },
  );

  test.each(cases)(
    'rules 28 and 31: $kind: is sent at once by the one that starts in its place, and by no other',
    async ({ kind, write, sending }) => {
      await write();
      const place = newId();
      await sending(place).hurry();
      await eventually(async () => came.length === 1);
      answer = 'taken';
      bench.now += 1_000;
      await sending(newId()).tick();
      expect(came).toHaveLength(1);
      await sending(place).tick();
      expect(came).toEqual([expect.any(String), came[0]]);
      expect(await stateOf(kind)).toEqual([{ attempts: 2, state: 'delivered' }]);
    },
  );
});
