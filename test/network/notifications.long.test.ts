import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { insertChannel } from '../../coordinator/notifications/queries.ts';
import { channelSecretsOf, createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { portOf } from '../support/connections.ts';
import { eventually, passed } from '../support/eventually.ts';
import { incidentThat, isConfirmed, isResolved, seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { testSecretKey } from '../support/people.ts';
import { type Got, openReceiver, type Receiver, says } from '../support/receivers.ts';
import { broken, fine } from '../support/targets.ts';

/**
 * From a target that breaks to a message that somebody gets, real in every part: the receiver is a
 * server of somebody's.
 */
describe('messages', () => {
  const places: readonly Continent[] = ['Asia', 'Europe', 'North America'];
  let network: Network;

  const bodyShape = z.object({
    type: z.string(),
    data: z.object({
      sentence: z.string(),
      incidents: z.array(
        z.object({ id: z.string(), event: z.string(), monitor: z.object({ id: z.string() }) }),
      ),
    }),
  });
  type Got = z.infer<typeof bodyShape> & { readonly id: string; readonly at: number };

  const receivers: { close: () => void }[] = [];
  const startReceiver = async (): Promise<{ readonly url: string; readonly got: Got[] }> => {
    const got: Got[] = [];
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      request.on('end', () => {
        got.push({
          ...bodyShape.parse(JSON.parse(text)),
          id: String(request.headers['webhook-id']),
          at: Date.now(),
        });
        response.writeHead(204).end();
      });
    });
    const port = await portOf(server);
    receivers.push({ close: () => void server.close() });
    // Listening on a port, it has an address that is no pipe.
    return { url: `http://127.0.0.1:${port}/alerts`, got };
  };

  const addChannel = async (
    url: string,
    monitors: readonly string[],
    kind = 'webhook',
  ): Promise<string> => {
    const id = newId();
    const secret = JSON.stringify({ secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` });
    await network.sql.begin(async (transaction) => {
      await insertChannel(transaction, {
        id,
        organisation: network.organisation,
        user: null,
        kind,
        name: 'Receiver',
        config: { url },
        secrets: await createSecretsAtRest(testSecretKey).seal(
          transaction,
          secret,
          channelSecretsOf(id),
        ),
        host: null,
        enabled: true,
        covers: 'chosen',
        monitors,
        groups: [],
        delay_s: 0,
        reminder_s: null,
        hours: null,
        warnings: true,
        verified_at: Date.now(),
      });
    });
    return id;
  };

  beforeAll(async () => {
    network = await createNetwork();
    await network.startCoordinator();
    await network.startCoordinator();
    await network.addProbes(...places);
  });
  afterAll(async () => {
    await network.close();
    for (const { close } of receivers) close();
  });

  test('rules 28 and 32: a target that breaks is one message, right after it is confirmed, and one when it is over', async () => {
    const [target, receiver] = [await network.startTarget(), await startReceiver()];
    const monitor = await network.addMonitor({
      target: target.url(),
      interval_s: 2,
      name: 'Checkout',
    });
    await addChannel(receiver.url, [monitor]);
    await seenFrom(network.sql, monitor, 3);
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed);
    const down = await eventually(async () => receiver.got[0]);
    expect(down).toMatchObject({
      type: 'incident.down',
      data: { sentence: expect.stringMatching(/^Checkout is down/) },
    });
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved);
    await eventually(async () => receiver.got.length === 2);
    expect(receiver.got.map(({ type }) => type)).toEqual(['incident.down', 'incident.up']);
  });

  test('rule 47: a gateway that breaks with three monitors that depend on it is one message, and who stays down is told of after it', async () => {
    const [uplink, target, slow] = [
      await network.startTarget(),
      await network.startTarget(),
      await network.startTarget(),
    ];
    // Its own turns are far apart: whoever depends on it is confirmed before it, and has it asked.
    const gateway = await network.addMonitor({
      target: uplink.url(),
      interval_s: 600,
      name: 'Gateway',
    });
    const children: string[] = [];
    for (const [name, { url }] of [
      ['Shop', target] as const,
      ['Mail', target] as const,
      ['Cache', slow] as const,
    ])
      children.push(await network.addMonitor({ target: url(), interval_s: 2, name }));
    await network.sql`update monitors set depends_on_monitors = ${[gateway]}::uuid[]
      where id = any(${children}::uuid[])`;
    const receiver = await startReceiver();
    await addChannel(receiver.url, [gateway, ...children]);
    for (const child of children) await seenFrom(network.sql, child, 3);
    const heard = () =>
      receiver.got.map(({ type, data }) => `${data.sentence.split(' ')[0]} ${type.split('.')[1]}`);
    for (const each of [uplink, target, slow]) each.answer(broken);
    for (const monitor of [...children, gateway])
      await incidentThat(network.sql, monitor, isConfirmed);
    await eventually(async () => heard().length > 0);
    // Longer than a parent's answer is waited for: what is still held is held by its outage.
    await passed(20_000);
    expect(heard()).toEqual(['Gateway down']);
    uplink.answer(fine);
    target.answer(fine);
    await incidentThat(network.sql, gateway, isResolved, 120_000);
    await eventually(async () => heard().length === 3, 60_000);
    expect(heard()).toEqual(['Gateway down', 'Gateway up', 'Cache down']);
  });

  test('rules 32 and 51: 100 targets that break at once are a few messages to people that name their cause, and a message each to a program', async () => {
    const [target, receiver] = [await network.startTarget(), await startReceiver()];
    const monitors: string[] = [];
    for (let index = 0; index < 100; index += 1)
      monitors.push(
        await network.addMonitor({
          target: `${target.url()}?page=${index}`,
          interval_s: 3,
          name: `Page ${index}`,
        }),
      );
    await addChannel(receiver.url, monitors);
    const people = await openReceiver();
    receivers.push({ close: () => void people.close() });
    const chat = await addChannel(people.url, monitors, 'mattermost');
    const last = monitors.at(-1) ?? '';
    await seenFrom(network.sql, last, 3);
    target.answer(broken);
    // Another attempt is the same message. On a machine that is too busy to check, a monitor may
    // have had an outage before, which is told as well.
    const messages = () => [
      ...new Map(receiver.got.map((message) => [message.id, message])).values(),
    ];
    const downs = () =>
      messages().flatMap(({ data }) =>
        data.incidents.filter(
          ({ event }) => event === 'incident.down' || event === 'incident.was_down',
        ),
      );
    await eventually(
      async () => new Set(downs().map(({ monitor }) => monitor.id)).size === 100,
      150_000,
    );
    const incidents = downs().map(({ id }) => id);
    expect(incidents).toHaveLength(new Set(incidents).size);
    expect(messages().every(({ data }) => data.incidents.length === 1)).toBe(true);
    // What joined the cause after it was told is held.
    const told = () =>
      network.sql<{ messages: number; monitors: number; sentences: string[] }[]>`
        select count(distinct message_id)::int as messages,
          count(distinct monitor_id)::int as monitors,
          array_agg(distinct d.told ->> 'sentence') filter (where d.id is not null) as sentences
        from alert_steps s left join deliveries d on d.id = s.message_id
        where s.channel_id = ${chat} and (s.state = 'told' or s.holds -> -1 ->> 0 = 'cause')`;
    const [said] = await eventually(async () => {
      const rows = await told();
      return rows[0]?.monitors === 100 ? rows : undefined;
    }, 150_000);
    expect(said?.sentences.join('\n')).toMatch(
      /^\d+ monitors are down.*: (?:all|\d+ of the) \d+ at address 127\.0\.0\.1/m,
    );
    // Four, and however long this machine took to find them all, no more than one for each 15 s
    // beside them.
    const [spread] = await network.sql<{ ms: number }[]>`
    select extract(epoch from max(created_at) - min(created_at))::float8 * 1000 as ms from alert_steps where monitor_id = any(${monitors}::uuid[])`;
    expect(said?.messages).toBeLessThanOrEqual(4 + Math.floor((spread?.ms ?? 0) / 15_000));
  });
});

/**
 * A coordinator that is a process of its own is killed in the middle of delivery, and another one
 * goes on.
 */
describe('a coordinator that is killed while it sends', () => {
  let network: Network;
  let receiver: Receiver;
  let folder: string;
  beforeAll(async () => {
    network = await createNetwork();
    receiver = await openReceiver();
    folder = await mkdtemp(join(tmpdir(), 'antipode-killed-'));
  });
  afterAll(async () => {
    await network.close();
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  });

  const addChannel = async (path: string): Promise<void> => {
    const config = JSON.stringify({
      url: `${receiver.url}${path}`,
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    });
    await network.sql`insert into channels (id, organisation_id, kind, name, config, verified_at)
    values (${newId()}, ${network.organisation}, 'webhook', ${path}, ${config}::text::jsonb, now())`;
  };
  /** A monitor that nobody checks goes down, and its "down" is due. */
  const down = async (name: string): Promise<void> => {
    const [monitor, incident] = [newId(), newId()];
    await network.sql.begin(async (transaction) => {
      await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, enabled, paused_at)
      values (${monitor}, ${network.organisation}, 3, ${name}, 'https', 'https://shop.example', 60, false, now())`;
      await transaction`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_continent, seen_probe, cause)
      values (${incident}, ${network.organisation}, ${monitor}, now(), now(), 'Europe', 'Frankfurt', '{"class": "heartbeat_late", "params": {}}')`;
      await transaction`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
      values (${network.organisation}, ${monitor}, ${incident}, 'down', 'due', now())`;
    });
  };
  const states = async () =>
    (
      await network.sql<
        { state: string }[]
      >`select state from deliveries where kind = 'alert' order by state`
    ).map(({ state }) => state);
  const keysAt = (path: string) =>
    receiver.got
      .filter((got: Got) => got.path === path)
      .map(({ headers }) => headers['webhook-id']);

  test('rules 28 and 31: kill -9 in the middle of delivery loses nothing, and repeats unanswered messages with the same key', async () => {
    await addChannel('/quick');
    await addChannel('/held');
    // One receiver answers, the other has the request and says nothing.
    receiver.answer((response, got) => {
      if (got.path === '/quick') says(204)(response, got);
    });
    const killed = await network.startCoordinatorProcess();
    await down('Shop');
    await eventually(
      async () => keysAt('/held').length > 0 && (await states()).join() === 'delivered,waiting',
      60_000,
    );
    killed.signal('SIGKILL');
    await killed.exited;
    const [held, quick] = [keysAt('/held'), keysAt('/quick')];
    // Meanwhile another outage becomes due, of which nobody knows.
    await down('Mail');
    receiver.answer(says(204));
    // The claim of the dead one ends, as it does by itself.
    await network.sql`update deliveries set next_at = now(), claimed_until = now() where state = 'waiting'`;
    const other = await network.startCoordinatorProcess();
    await eventually(
      async () => (await states()).join() === 'delivered,delivered,delivered,delivered',
      60_000,
    );
    const [key] = held;
    expect(keysAt('/held').filter((each) => each === key).length).toBeGreaterThan(held.length);
    // What was taken is not sent again, and nothing is sent under another key.
    expect(keysAt('/quick').filter((each) => each === quick[0])).toEqual(quick);
    expect([new Set(keysAt('/held')).size, new Set(keysAt('/quick')).size]).toEqual([2, 2]);
    await other.stop();
  });

  test('rules 28 and 31: what a killed coordinator had claimed is sent at once by the one that starts in its place', async () => {
    await addChannel('/waits');
    receiver.answer((response, got) => {
      if (got.path !== '/waits') says(204)(response, got);
    });
    const here = { DATA_DIR: folder };
    const killed = await network.startCoordinatorProcess(here);
    await down('Stock');
    await eventually(async () => keysAt('/waits').length === 1, 60_000);
    killed.signal('SIGKILL');
    await killed.exited;
    const claimedUntil = async () =>
      (
        await network.sql<
          { at: number }[]
        >`select claimed_until as at from deliveries where kind = 'alert' and state = 'waiting'`
      ).map(({ at }) => at);
    const [until = 0] = await claimedUntil();
    receiver.answer(says(204));
    await network.startCoordinatorProcess(here);
    await eventually(async () => (await claimedUntil()).length === 0, 60_000);
    expect(Date.now()).toBeLessThan(until);
    const [key] = keysAt('/waits');
    expect(keysAt('/waits')).toEqual([key, key]);
  });
});
