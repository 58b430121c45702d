import { createServer } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { apiDocument } from '../../../coordinator/api/openapi.ts';
import { operatorIn } from '../../../coordinator/gate/caller.ts';
import {
  askMailbox,
  confirmChannel,
  explainNotifications,
  listChannelKinds,
  listNotified,
  showConfirmation,
  tryChannel,
  unsubscribe,
} from '../../../coordinator/notifications/contract.ts';
import { createAlertLinks } from '../../../coordinator/notifications/links.ts';
import { linkChannel } from '../../../coordinator/notifications/queries.ts';
import { createUser } from '../../../coordinator/organisations/contract.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import {
  createChannel,
  deleteChannel,
  getChannel,
  listChannels,
  testChannel,
  updateChannel,
} from '../../../shared/api/channels.ts';
import { acknowledgeIncident } from '../../../shared/api/incidents.ts';
import {
  getIncidentNotifications,
  listMessages,
  muteAlerts,
  showMute,
  unmuteAlerts,
} from '../../../shared/api/notifications.ts';
import { rawInput } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { memberOf } from '../../../shared/base/json.ts';
import { isoText } from '../../../shared/base/time.ts';
import { portOf } from '../../support/connections.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { rowsFor } from '../../support/rows.ts';

describe('channel operations', () => {
  const bench = gateBench();
  let house: TestOrganisation | undefined;
  const here = (): TestOrganisation => {
    if (!house) throw new Error('there is a house in tests only');
    return house;
  };
  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
  });
  /** Nobody takes messages there. */
  const hook = { kind: 'webhook', config: { url: 'https://hooks.example.org/a' }, try: false };

  const incidentOf = async (confirmed = true): Promise<{ monitor: string; incident: string }> => {
    const [monitor, incident] = [newId(), newId()];
    await bench.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${here().organisation}, 3, 'Shop', 'https', 'https://shop.example', 60)`;
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
    values (${incident}, ${here().organisation}, ${monitor}, ${new Date(bench.now)}, ${isoText(confirmed ? bench.now : null)})`;
    return { monitor, incident };
  };

  describe('a channel that is made', () => {
    /** Somebody on this machine who takes messages, or does not. */
    const receiver = async (status: number) => {
      const heard: string[] = [];
      const server = createServer((request, response) => {
        heard.push(request.url ?? '');
        response.writeHead(status).end();
      });
      const port = await portOf(server);
      return {
        heard,
        config: { url: `http://127.0.0.1:${port}/hook` },
        close: () => server.close(),
      };
    };

    test('is tested with a real message first', async () => {
      const { heard, config, close } = await receiver(204);
      const { owner } = await createTestOrganisation(bench.sql);
      const made = await bench.call(createChannel, owner, { kind: 'webhook', config });
      expect(heard).toEqual(['/hook']);
      expect(made.secret).toMatch(/^whsec_/);
      await bench.call(createChannel, owner, { kind: 'webhook', config, try: false });
      expect(heard).toHaveLength(1);
      close();
    });

    test('is not saved when the test is refused, unless the test is skipped', async () => {
      const { heard, config, close } = await receiver(410);
      const { owner } = await createTestOrganisation(bench.sql);
      const sent = { kind: 'webhook', config };
      await expect(bench.call(createChannel, owner, sent)).rejects.toMatchObject({
        code: 'channel_test_failed',
        message: expect.stringMatching(/not delivered: .*\(410\).*try: false/),
      });
      expect(heard).toHaveLength(1);
      expect(
        (await bench.call(listChannels, owner)).items.filter(({ kind }) => kind === 'webhook'),
      ).toEqual([]);
      expect((await bench.call(createChannel, owner, { ...sent, try: false })).kind).toBe(
        'webhook',
      );
      close();
    });

    test('is not tested when it could not be saved', async () => {
      const { heard, config, close } = await receiver(204);
      const { member, owner } = await createTestOrganisation(bench.sql);
      const sent = { kind: 'webhook', config };
      expect(await bench.refusal(createChannel, member, sent)).toBe('role_insufficient');
      expect(
        await bench.refusal(createChannel, owner, {
          ...sent,
          covers: 'chosen',
          monitors: [newId()],
        }),
      ).toBe('monitor_not_found');
      expect(heard).toEqual([]);
      close();
    });
  });

  test('is created from the example of the API document as it is', async () => {
    const { owner } = await createTestOrganisation(bench.sql);
    const { requestBody } =
      apiDocument('https://antipode.example.org').paths['/api/v1/channels']?.post ?? {};
    const sent = memberOf(
      memberOf(memberOf(requestBody, 'content'), 'application/json'),
      'example',
    );
    expect(await bench.call(createChannel, owner, Object(sent))).toMatchObject({
      kind: 'webhook',
      name: 'Pager',
      covers: 'all',
    });
  });

  describe('channels', () => {
    test('the secret of a webhook is shown once, and never again', async () => {
      const made = await bench.call(createChannel, here().admin, hook);
      expect(made.secret).toMatch(/^whsec_/);
      expect(made.config).toEqual({ url: 'https://hooks.example.org/***', secret: '***' });
      const seen = JSON.stringify([
        await bench.call(getChannel, here().viewer, { channel_id: made.id }),
        await bench.call(listChannels, here().viewer),
      ]);
      expect(seen).not.toContain(made.secret?.slice(6, 20));
      const stored = await bench.sql<
        { config: object }[]
      >`select config from channels where id = ${made.id}`;
      expect(stored[0]?.config).toEqual({});
    });

    test('a secret belongs to its host: for another one it must be entered again', async () => {
      const config = { server: 'https://push.example.org', token: 'A'.repeat(15) };
      const kinds = await bench.call(listChannelKinds, here().viewer);
      const gotify = kinds.items.find(({ id }) => id === 'gotify');
      const [url, token] = [
        gotify?.fields.find(({ input }) => input === 'url')?.name ?? '',
        gotify?.fields.find(({ secret }) => secret)?.name ?? '',
      ];
      const made = await bench.call(createChannel, here().admin, {
        kind: 'gotify',
        try: false,
        config: { [url]: config.server, [token]: config.token },
      });
      const moved = {
        channel_id: made.id,
        config: { [url]: 'https://elsewhere.example.org', [token]: '***' },
      };
      expect(await bench.refusal(updateChannel, here().admin, moved)).toBe('channel_invalid');
      const stays = {
        channel_id: made.id,
        name: 'Phone',
        config: { [url]: config.server, [token]: '***' },
      };
      expect((await bench.call(updateChannel, here().admin, stays)).name).toBe('Phone');
    });

    test('rule 30: members create their own, owners and admins those of the organisation, viewers read', async () => {
      expect(await bench.refusal(createChannel, here().member, hook)).toBe('role_insufficient');
      expect(await bench.refusal(createChannel, here().viewer, { ...hook, personal: true })).toBe(
        'role_insufficient',
      );
      const own = await bench.call(createChannel, here().member, {
        ...hook,
        personal: true,
        name: 'Mine',
      });
      expect(own.owner).not.toBeNull();
      const shared = await bench.call(createChannel, here().owner, hook);
      expect(
        await bench.refusal(updateChannel, here().member, {
          channel_id: shared.id,
          enabled: false,
        }),
      ).toBe('role_insufficient');
      expect(
        await bench.refusal(updateChannel, here().member, { channel_id: own.id, enabled: false }),
      ).toBe('taken');
      await bench.call(deleteChannel, here().member, { channel_id: own.id });
      expect(await bench.refusal(getChannel, here().member, { channel_id: own.id })).toBe(
        'channel_not_found',
      );
    });

    test('covers monitors of its own organisation alone', async () => {
      const other = await createTestOrganisation(bench.sql);
      const { monitor } = await incidentOf();
      const chosen = { ...hook, covers: 'chosen', monitors: [monitor] };
      expect(await bench.refusal(createChannel, other.owner, chosen)).toBe('monitor_not_found');
    });

    test('bad input says what to do', async () => {
      expect(await bench.refusal(createChannel, here().owner, { kind: 'pigeon', config: {} })).toBe(
        'channel_kind_unknown',
      );
      expect(
        await bench.refusal(createChannel, here().owner, {
          kind: 'webhook',
          config: { url: 'nowhere' },
        }),
      ).toBe('channel_invalid');
      expect(
        await bench.refusal(createChannel, here().owner, {
          ...hook,
          hours: { spans: [{ days: [1], from: '9', to: '17:00' }] },
        }),
      ).toBe('hours_invalid');
      expect(
        await bench.refusal(createChannel, here().owner, {
          kind: 'email',
          config: { address: 'else@example.org' },
        }),
      ).toBe('mail_missing');
    });

    test('a time to wait that is out of range is refused by the domain, when it is made and when it is changed', async () => {
      const made = await bench.call(createChannel, here().owner, hook);
      const spans = [{ days: [8], from: '09:00', to: '17:00' }];
      for (const [wrong, code] of [
        [{ delay_s: 86_401 }, 'channel_invalid'],
        [{ delay_s: -1 }, 'channel_invalid'],
        [{ reminder_s: 86_401 }, 'channel_invalid'],
        [{ hours: { spans } }, 'hours_invalid'],
      ] as const) {
        expect(await bench.refusal(createChannel, here().owner, { ...hook, ...wrong })).toBe(code);
        expect(
          await bench.refusal(updateChannel, here().owner, { channel_id: made.id, ...wrong }),
        ).toBe(code);
      }
      const kept = await bench.call(getChannel, here().owner, { channel_id: made.id });
      expect([kept.delay_s, kept.reminder_s, kept.hours]).toEqual([0, null, null]);
      expect(await bench.refusal(muteAlerts, here().owner, { minutes: 0 })).toBe('mute_invalid');
    });

    test('a plan limits the number of channels', async () => {
      const small = await createTestOrganisation(bench.sql);
      await bench.sql`update organisations set plan = 'free' where id = ${small.organisation}`;
      const codes: string[] = [];
      for (let times = 0; times < 6; times += 1)
        codes.push(await bench.refusal(createChannel, small.owner, hook));
      expect(codes).toEqual(['taken', 'taken', 'taken', 'taken', 'taken', 'plan_limit_channels']);
    });

    test('rule 30: the first owner of an organisation has a channel, without anybody having made one', async () => {
      const fresh = await createTestOrganisation(bench.sql);
      const organisation = {
        id: fresh.organisation,
        name: 'fresh',
        plan: 'team',
        time_zone: 'UTC',
        ends_at: null,
      } as const;
      const user = {
        email: `first-${newId()}@example.org`,
        password: 'long enough words',
        role: 'owner',
      };
      await bench.call(createUser, operatorIn(organisation), user);
      const { items } = await bench.call(listChannels, fresh.owner);
      expect(
        items.map(({ kind, config, covers, verified }) => ({ kind, config, covers, verified })),
      ).toEqual([
        { kind: 'email', config: { address: user.email }, covers: 'all', verified: true },
      ]);
    });

    test('a test really sends, ten times an hour', async () => {
      const got: string[] = [];
      const server = createServer((request, response) => {
        got.push(String(request.headers['webhook-id']));
        request.resume().on('end', () => response.writeHead(got.length === 1 ? 204 : 410).end());
      });
      const port = await portOf(server);
      const config = { url: `http://127.0.0.1:${port}/` };
      const fresh = await createTestOrganisation(bench.sql);
      expect(await bench.call(tryChannel, fresh.owner, { kind: 'webhook', config })).toMatchObject({
        verdict: 'delivered',
        status: 204,
      });
      const made = await bench.call(createChannel, fresh.owner, {
        kind: 'webhook',
        try: false,
        config,
      });
      expect(await bench.call(testChannel, fresh.owner, { channel_id: made.id })).toMatchObject({
        verdict: 'refused',
        status: 410,
      });
      for (let times = 2; times < 10; times += 1)
        await bench.call(testChannel, fresh.owner, { channel_id: made.id });
      expect(await bench.refusal(testChannel, fresh.owner, { channel_id: made.id })).toBe(
        'channel_test_limit',
      );
      expect(got).toHaveLength(10);
      server.close();
    });
  });

  test('delivery times exclude waits that are intended: a channel with a delay is not slow', async () => {
    const { id } = await bench.call(createChannel, here().owner, { ...hook, delay_s: 300 });
    const { monitor, incident } = await incidentOf();
    const organisation_id = here().organisation;
    const at = (ms: number) => bench.now + ms;
    const told = async (
      event: string,
      holds: readonly (readonly [string, number, number])[],
      takenAfter: number,
    ): Promise<void> => {
      const message = newId();
      await bench.sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, next_at, settled_at)
      values (${message}, ${organisation_id}, ${id}, ${event}, ${message}, '{}', 'delivered', ${new Date(at(0))}, ${new Date(at(0))}, ${new Date(at(0))}, ${new Date(at(takenAfter))})`;
      const step = {
        organisation_id,
        channel_id: id,
        monitor_id: monitor,
        incident_id: incident,
        event,
        state: 'told',
        message_id: message,
      };
      await bench.sql`insert into alert_steps ${rowsFor(bench.sql, 'alert_steps', { ...step, due_at: at(0), look_at: at(0), created_at: at(0), holds: [...holds] })}`;
    };
    await told('down', [['delay', bench.now, bench.now + 300_000]], 300_200);
    expect((await bench.call(getChannel, here().viewer, { channel_id: id })).p95_ms).toBeCloseTo(
      200,
      0,
    );
    await bench.sql`delete from deliveries where channel_id = ${id}`;
    await told('up', [], 700);
    expect((await bench.call(getChannel, here().viewer, { channel_id: id })).p95_ms).toBeCloseTo(
      700,
      0,
    );
    await bench.sql`delete from deliveries where channel_id = ${id}`;
  });

  describe('notifications of an incident', () => {
    test('rule 34: the first acknowledgement counts, and a resolved or unconfirmed incident cannot be acknowledged', async () => {
      const { incident } = await incidentOf();
      const first = await bench.call(acknowledgeIncident, here().member, { incident_id: incident });
      bench.now += 1_000;
      expect(
        await bench.call(acknowledgeIncident, here().owner, { incident_id: incident }),
      ).toEqual(first);
      const { incident: unconfirmed } = await incidentOf(false);
      expect(
        await bench.refusal(acknowledgeIncident, here().member, { incident_id: unconfirmed }),
      ).toBe('incident_over');
    });

    test('rule 36: a mute says until when, ends by itself, and can be ended', async () => {
      const { until } = await bench.call(muteAlerts, here().member, { minutes: 60 });
      expect(until).toBe(new Date(bench.now + 3_600_000).toISOString());
      bench.now += 3_600_000;
      expect(await bench.call(showMute, here().viewer)).toEqual({ until: null, by: null });
      await bench.call(muteAlerts, here().member, { minutes: 60 });
      expect(await bench.call(unmuteAlerts, here().member)).toEqual({ until: null, by: null });
    });

    test('rule 40: each channel says why it was not notified', async () => {
      const { incident, monitor } = await incidentOf(false);
      const explained = await bench.call(getIncidentNotifications, here().viewer, {
        incident_id: incident,
      });
      expect(explained.channels.length).toBeGreaterThan(0);
      for (const { outcome, lines } of explained.channels) {
        expect(outcome).toBe('not_notified');
        expect(lines.at(-1)?.text).toContain('no other continent confirmed the outage');
      }
      expect(
        (await bench.call(listNotified, here().viewer, { monitor_id: monitor })).items.length,
      ).toBeGreaterThan(0);
      expect(explained.messages).toEqual([]);
      const { messages: _, ...story } = explained;
      expect(
        await bench.call(explainNotifications, here().viewer, { incident_id: incident }),
      ).toEqual(story);
      expect(await bench.call(listMessages, here().viewer)).toEqual({
        items: [],
        next_cursor: null,
      });
    });
  });
});

/**
 * Rule 30: a mailbox is told of nothing before somebody said from it that it is theirs, and is not
 * asked without end.
 */
describe('asking mailboxes', () => {
  const bench = gateBench({ signUp: 'open', signUpPlan: 'team', mail: true });
  let house: TestOrganisation;
  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
  });
  const email = (address: string) => ({ kind: 'email', config: { address } });
  const address = (): string => `${newId()}@elsewhere.example`;
  const questions = async (to: string): Promise<number> =>
    (
      await bench.sql`select 1 from deliveries where kind = 'mail' and event = 'channel' and recipient = ${to}`
    ).length;
  const later = (ms: number): void => {
    bench.now += ms;
  };
  const [hour, day] = [3_600_000, 86_400_000];

  describe('a mailbox', () => {
    test('is asked again, three times a day at most, and only until it has confirmed', async () => {
      const to = address();
      const { id } = await bench.call(createChannel, house.owner, email(to));
      expect(await questions(to)).toBe(1);
      const again = () => bench.refusal(askMailbox, house.owner, { channel_id: id });
      expect([await again(), await again(), await again()]).toEqual([
        'taken',
        'taken',
        'channel_test_limit',
      ]);
      await expect(bench.call(askMailbox, house.owner, { channel_id: id })).rejects.toMatchObject({
        waitS: 86_400,
      });
      expect(await questions(to)).toBe(3);
      later(day + 1);
      expect(await again()).toBe('taken');
      await bench.sql`update channels set verified_at = now() where id = ${id}`;
      expect(await again()).toBe('channel_invalid');
      expect(await questions(to)).toBe(4);
    });

    test('and its channel are managed by the owner of the channel', async () => {
      const { id } = await bench.call(createChannel, house.owner, email(address()));
      expect(await bench.refusal(askMailbox, house.member, { channel_id: id })).toBe(
        'role_insufficient',
      );
    });

    test('that has not confirmed gets no test either; the user’s own does', async () => {
      const { owner } = await createTestOrganisation(bench.sql);
      const to = address();
      const { id } = await bench.call(createChannel, owner, email(to));
      expect(await bench.refusal(testChannel, owner, { channel_id: id })).toBe('channel_invalid');
      expect(await bench.refusal(tryChannel, owner, email(to))).toBe('channel_invalid');
      // Mail is set up for accounts alone here, so that nothing leaves; but it is tried.
      await bench.sql`update users set email_verified_at = now() where id = ${owner.user}`;
      expect(await bench.call(tryChannel, owner, email(owner.email))).toMatchObject({
        class: 'mail_not_set_up',
      });
      await bench.sql`update channels set verified_at = now() where id = ${id}`;
      expect(await bench.call(testChannel, owner, { channel_id: id })).toMatchObject({
        class: 'mail_not_set_up',
      });
      expect(await bench.call(tryChannel, owner, { ...email(to), channel: id })).toMatchObject({
        class: 'mail_not_set_up',
      });
      expect(await bench.refusal(tryChannel, owner, { ...email(address()), channel: id })).toBe(
        'channel_invalid',
      );
    });

    test('counts to the ten that an organisation asks and tests in an hour', async () => {
      const { owner } = await createTestOrganisation(bench.sql);
      const codes: string[] = [];
      for (let times = 0; times < 11; times += 1)
        codes.push(await bench.refusal(createChannel, owner, email(address())));
      expect(codes).toEqual([...Array.from({ length: 10 }, () => 'taken'), 'channel_test_limit']);
      const [channel] = await bench.sql<
        { id: string }[]
      >`select id from channels where organisation_id = ${owner.caller.organisation.id} limit 1`;
      const moved = { channel_id: channel?.id, config: { address: address() } };
      expect(await bench.refusal(updateChannel, owner, moved)).toBe('channel_test_limit');
      await expect(bench.call(updateChannel, owner, moved)).rejects.toMatchObject({ waitS: 3600 });
      later(hour + 1);
      expect(await bench.refusal(updateChannel, owner, moved)).toBe('taken');
      expect((await bench.call(getChannel, owner, { channel_id: channel?.id })).verified).toBe(
        false,
      );
    });
  });

  const asVisitor = async (
    operation: typeof showConfirmation | typeof confirmChannel | typeof unsubscribe,
    secret: string,
  ): Promise<unknown> => {
    try {
      const visitor = { address: '127.0.0.1', device: '', cookie: undefined };
      return (
        await bench.gate.executeForVisitor(operation, visitor, rawInput(operation, { secret }))
      ).body;
    } catch (error) {
      return error instanceof Refusal ? error.code : error;
    }
  };

  test('a mailbox that unsubscribes again mails the owners no second time', async () => {
    const { owner, organisation } = await createTestOrganisation(bench.sql);
    const [to, message] = [address(), newId()];
    const { id } = await bench.call(createChannel, owner, email(to));
    await bench.sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told,
      state, due_at, created_at, next_at)
      values (${message}, ${organisation}, ${id}, 'down', ${message}, '{"monitors": []}', 'delivered',
        now(), now(), now())`;
    const links = createAlertLinks(bench.sql, { secretKey: testSecretKey });
    const link = await links.signUnsubscribe(message, to);
    const mailed = () => bench.sql`
      select 1 from deliveries where event = 'unsubscribed' and recipient = ${owner.email}`;
    for (const _ of ['first', 'again']) {
      expect(await asVisitor(unsubscribe, link)).toEqual({ address: to });
      expect(await mailed()).toHaveLength(1);
    }
    // Subscribed again, it ends alerts again.
    await bench.sql`update channels set unsubscribed_at = null where id = ${id}`;
    await asVisitor(unsubscribe, link);
    expect(await mailed()).toHaveLength(2);
  });

  test('a mail to confirm is shown until it expires or a newer one replaces it; then, and once confirmed, the page says so', async () => {
    const secrets = createAccountSecrets(bench.sql, { secretKey: testSecretKey });
    const to = address();
    const { id } = await bench.call(createChannel, house.owner, email(to));
    const mailed = async (): Promise<string> => {
      const { text, fingerprint } = await secrets.mint('channel');
      await linkChannel(bench.sql, id, fingerprint);
      return text;
    };
    const first = await mailed();
    expect(await asVisitor(showConfirmation, first)).toMatchObject({ address: to, said: false });
    later(day + 1);
    expect(await asVisitor(showConfirmation, first)).toBe('link_invalid');
    expect(await asVisitor(confirmChannel, first)).toBe('link_invalid');
    await bench.call(askMailbox, house.owner, { channel_id: id });
    const second = await mailed();
    expect(await asVisitor(showConfirmation, first)).toBe('link_invalid');
    expect((await bench.call(getChannel, house.owner, { channel_id: id })).verified).toBe(false);
    expect(await asVisitor(confirmChannel, second)).toEqual({ name: to });
    expect(await asVisitor(showConfirmation, second)).toMatchObject({ address: to, said: true });
    // Its yes counts once: what was ended after it stays ended.
    expect(await asVisitor(confirmChannel, second)).toBe('link_invalid');
  });
});
