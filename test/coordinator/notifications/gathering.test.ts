import { beforeEach, describe, expect, test } from 'vitest';
import { executeAll } from '../../../coordinator/database/connect.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { claimDeliveries, type OnTheWay } from '../../../coordinator/deliveries/sending.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import {
  heldAlerts,
  type Owned,
  releaseAlerts,
  writeAlerts,
  writeDowns,
} from '../../../coordinator/notifications/release.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { answered, notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('gathering', async () => {
  const { sql } = await ownDatabase({ name: 'gathering', connections: 8 });
  const second = 1_000;

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
  });

  describe('a gathered message', () => {
    test('rule 32: 100 monitors that go down one after the other within a minute are four messages at most, the first undelayed', async () => {
      await bench.channel('chat');
      const monitors = await Promise.all(
        Array.from({ length: 100 }, (_, index) => bench.monitor(`Shop ${index}`)),
      );
      for (const [index, monitor] of monitors.entries()) {
        await bench.down(monitor);
        if (index % 4 === 0) await bench.tell();
        bench.now += 600;
      }
      const first = bench.heard('chat')[0];
      expect(first?.names).toEqual(['Shop 0']);
      for (let seconds = 0; seconds < 20; seconds += 4) {
        bench.now += 4 * second;
        await bench.tell();
      }
      expect(bench.heard('chat').length).toBeLessThanOrEqual(4);
      expect(new Set(bench.heard('chat').flatMap(({ names }) => names)).size).toBe(100);
    });

    test('rule 32: a "down" that ended before its gathered message leaves is sent as past, without an "up"', async () => {
      await bench.channel('chat');
      for (const name of ['One', 'Two']) {
        await bench.down(await bench.monitor(name));
        await bench.tell();
      }
      const third = await bench.down(await bench.monitor('Three'));
      await bench.tell();
      bench.now += 3 * second;
      await bench.up(third);
      await bench.tell();
      expect(bench.heard('chat')).toHaveLength(2);
      for (let seconds = 0; seconds < 60; seconds += 2) {
        bench.now += 2 * second;
        await bench.tell();
      }
      expect(bench.heard('chat').map(({ event, names }) => [event, names])).toEqual([
        ['incident.down', ['One']],
        ['incident.down', ['Two']],
        ['incident.was_down', ['Three']],
      ]);
      expect(
        await sql`select holds -> -1 ->> 0 as held_by from alert_steps where incident_id = ${third}`,
      ).toEqual([{ held_by: 'bucket' }]);
    });
  });

  describe('a channel that a program reads', () => {
    test.each(['webhook', 'pagerduty', 'incident_io'])(
      'rule 32: %s gets each of 50 outages within 100 s as a message of its own, at once, and each end',
      async (kind) => {
        await bench.channel('duty', { kind });
        const incidents: string[] = [];
        const monitors = await Promise.all(
          Array.from({ length: 50 }, (_, index) => bench.monitor(`Shop ${index}`)),
        );
        for (const [index, monitor] of monitors.entries()) {
          incidents.push(await bench.down(monitor));
          await bench.tell();
          expect(bench.sent).toHaveLength(index + 1);
          bench.now += 2 * second;
        }
        for (const incident of incidents) await bench.up(incident);
        await bench.tell();
        await eventually(async () => bench.sent.length === 100);
        const rows = await sql<{ event: string; named: number; threads: number }[]>`
          select event, max(jsonb_array_length(told -> 'monitors')) as named,
            count(distinct thread_id)::int as threads
          from deliveries group by event order by event`;
        expect([...rows]).toEqual([
          { event: 'down', named: 1, threads: 50 },
          { event: 'up', named: 1, threads: 50 },
        ]);
        expect(await sql`select 1 from alert_steps where holds <> '[]'`).toEqual([]);
      },
    );
  });

  describe('what is sent together', () => {
    /** All that was sent to a channel that shows text, as one. */
    const said = (): string[] =>
      bench.sent.flatMap((outgoing) => (outgoing.by === 'https' ? [outgoing.body] : []));

    test('rule 32: has one line for a monitor, with its newest state', async () => {
      await bench.channel('room', { kind: 'mattermost' });
      for (const name of ['One', 'Two']) {
        await bench.down(await bench.monitor(name));
        await bench.tell();
      }
      const [flap, other] = [await bench.monitor('Flap'), await bench.monitor('Other')];
      const first = await bench.down(flap);
      await bench.down(other);
      await bench.tell();
      bench.now += second;
      await bench.up(first);
      bench.now += second;
      await bench.down(flap);
      await bench.tell();
      for (let seconds = 0; seconds < 30; seconds += 2) {
        bench.now += 2 * second;
        await bench.tell();
      }
      const last = said().at(-1) ?? '';
      expect(said()).toHaveLength(3);
      expect(last).toContain('2 monitors are down');
      expect(last.match(/\*\*Flap\*\*/g)).toHaveLength(1);
      expect(last).not.toContain('was down for');
    });
  });

  describe('shares of the organisations', () => {
    const shares = { all: 20, subject: 2, host: 4, organisation: 8, failing: 20 };
    const claim = (onTheWay: readonly OnTheWay[] = []) =>
      claimDeliveries(sql, bench.kind, {
        now: bench.now,
        forMs: 120 * second,
        place: newId(),
        shares,
        onTheWay,
      });
    /** Messages of a channel that are due. */
    const due = async (channel: string, count: number, organisation = bench.organisation) => {
      await sql`insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, next_at)
      select gen_random_uuid(), ${organisation}, ${channel}, 'down', gen_random_uuid(), '{}', 'waiting', now(), now(), ${new Date(bench.now)}
      from generate_series(1, ${count})`;
    };
    const channelAt = async (name: string, host: string) => {
      const id = await bench.channel(name);
      await sql`update channels set host = ${host} where id = ${id}`;
      await due(id, 3);
      return id;
    };
    const countBy = (
      messages: Awaited<ReturnType<typeof claim>>,
      key: 'host' | 'subject' | 'organisation',
    ) =>
      Object.fromEntries(
        [...Map.groupBy(messages, (message) => String(message[key]))].map(([of, some]) => [
          of,
          some.length,
        ]),
      );

    test('neither a channel, nor a host, nor an organisation takes more than its share of what is on its way', async () => {
      const slow = [];
      for (const name of ['a', 'b', 'c', 'd']) slow.push(await channelAt(name, 'slow.test'));
      await channelAt('e', 'quick.test');
      await channelAt('f', 'other.test');
      const other = await notificationBench(sql);
      await due(await other.channel('theirs'), 3, other.organisation);
      const claimed = await claim();
      expect(countBy(claimed, 'host')['slow.test']).toBe(4);
      expect(countBy(claimed, 'organisation')).toEqual({
        [bench.organisation]: 8,
        [other.organisation]: 2,
      });
      expect(Math.max(...Object.values(countBy(claimed, 'subject')))).toBe(2);
      // What is on its way counts, and gives its places back.
      expect(await claim(claimed)).toEqual([]);
      const left = claimed.filter(({ host }) => host !== 'slow.test');
      expect(countBy(await claim(left), 'host')).toEqual({ 'slow.test': 4 });
      expect(slow).toHaveLength(4);
    });

    test('of one plan, each organisation has its first before any has its second', async () => {
      const [monitor, other] = [await bench.monitor('Shop'), await notificationBench(sql)];
      const theirs = await other.monitor('Mail');
      await bench.channel('chat');
      await other.channel('theirs');
      const incident = (organisation: string, of: string, count: number) => sql`
      with made as (
        insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, seen_continent)
        select gen_random_uuid(), ${organisation}, ${of}, now(), now(), now(), 'Europe' from generate_series(1, ${count})
        returning id, organisation_id, monitor_id)
      insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
      select organisation_id, monitor_id, id, 'down', 'due', now() from made`;
      await incident(bench.organisation, monitor, 1_500);
      await incident(other.organisation, theirs, 2);
      expect(await bench.coordinator().planner.plan()).toBe(500);
      const planned =
        await sql`select organisation_id, count(*)::int from alerts where planned_at is not null group by 1`;
      expect(
        Object.fromEntries(planned.map(({ organisation_id, count }) => [organisation_id, count])),
      ).toEqual({
        [bench.organisation]: 498,
        [other.organisation]: 2,
      });
    });

    test('never more than there is room for', async () => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await channelAt(name, `${name}.test`);
      const busy = (count: number): OnTheWay[] =>
        Array.from({ length: count }, () => ({
          subject: newId(),
          host: 'busy.test',
          organisation: newId(),
          is_failing: false,
        }));
      expect(await claim(busy(17))).toHaveLength(3);
      expect(await claim(busy(20))).toEqual([]);
    });
  });

  test('forty channels of one host that hangs delay none of another', async () => {
    for (let index = 0; index < 40; index += 1) {
      const id = await bench.channel(`slow-${index}`);
      await sql`update channels set host = 'slow.test' where id = ${id}`;
    }
    await bench.channel('quick');
    let answer: () => void = () => undefined;
    const hanging = new Promise<void>((resolve) => {
      answer = resolve;
    });
    bench.answers.of = (outgoing) =>
      'url' in outgoing && outgoing.url.includes('slow')
        ? hanging.then(() => answered(200))
        : answered(200);
    const by = bench.coordinator();
    for (const name of ['One', 'Two', 'Three']) {
      await bench.down(await bench.monitor(name));
      while (await by.planner.plan());
      while (await by.composer.compose());
      await by.courier.hurry();
      bench.now += 20 * second;
    }
    // It passes over a channel whose last answer is being stored, and comes back.
    await eventually(async () => {
      while (await by.composer.compose());
      await by.courier.hurry();
      return bench.heard('quick').length === 3;
    });
    expect(
      bench.sent.filter((outgoing) => 'url' in outgoing && outgoing.url.includes('slow')).length,
    ).toBe(10);
    answer();
    await eventually(
      async () => (await sql`select 1 from deliveries where state = 'waiting'`).length === 0,
    );
    await by.courier.close();
  });
});

describe('last resort', async () => {
  const { sql } = await ownDatabase({ name: 'fallback', connections: 8 });
  const minute = 60_000;

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
  });

  describe('when delivery fails', () => {
    const owner = async (email: string) => {
      const id = newId();
      await sql`insert into users (id, email, password_hash) values (${id}, ${email}, '')`;
      await sql`insert into memberships (organisation_id, user_id, role) values (${bench.organisation}, ${id}, 'owner')`;
    };
    const mails = () =>
      sql<
        { kind: string; recipient: string; about: object }[]
      >`select event as kind, recipient, told as about from deliveries where kind = 'mail' order by event, recipient`;

    test('rule 38: a "down" that no channel took within two minutes is mailed to all owners, once and together', async () => {
      await sql`truncate users, deliveries cascade`;
      await owner('ada@example.org');
      await owner('bob@example.org');
      await bench.channel('chat');
      bench.answers.of = () => answered(503);
      await bench.down(await bench.monitor('Shop'));
      await bench.down(await bench.monitor('Mail'));
      await bench.tell();
      bench.now += 2 * minute - 1;
      await bench.rescue();
      expect(await mails()).toEqual([]);
      bench.now += 1;
      await bench.rescue();
      await bench.rescue();
      expect((await mails()).map(({ kind, recipient }) => `${kind} ${recipient}`)).toEqual([
        'last-resort ada@example.org',
        'last-resort bob@example.org',
      ]);
      expect((await mails())[0]?.about).toMatchObject({ count: 2 });
    });

    test('rule 38: not when one of several took it', async () => {
      await sql`truncate users, deliveries cascade`;
      await owner('ada@example.org');
      await bench.channel('chat');
      await bench.channel('good');
      bench.answers.of = (outgoing) =>
        answered('url' in outgoing && outgoing.url.includes('good') ? 200 : 503);
      await bench.down(await bench.monitor('Shop'));
      await bench.tell();
      bench.now += 3 * minute;
      await bench.rescue();
      expect(await mails()).toEqual([]);
    });

    test('rule 38: owners are mailed once a day of a channel that refused for good', async () => {
      await sql`truncate users, deliveries cascade`;
      await owner('ada@example.org');
      await bench.channel('gone');
      bench.answers.of = () => answered(410);
      await bench.down(await bench.monitor('Shop'));
      await bench.tell();
      await bench.rescue();
      bench.now += 23 * 60 * minute;
      await bench.rescue();
      const of = (await mails()).filter(({ kind }) => kind === 'not-delivering');
      expect(of.map(({ about }) => about)).toMatchObject([
        { name: 'gone', failure: expect.stringContaining('410') },
      ]);
      bench.now += 60 * minute;
      await bench.rescue();
      expect((await mails()).filter(({ kind }) => kind === 'not-delivering')).toHaveLength(2);
    });
  });

  test('rule 39: a fault of a private probe that lasts a minute is mailed to its owners, once an hour, and to no one else', async () => {
    await sql`truncate users, deliveries, notices, probes cascade`;
    const [ada, own, public_] = [newId(), newId(), newId()];
    await sql`insert into users (id, email, password_hash) values (${ada}, 'ada@example.org', '')`;
    await sql`insert into memberships (organisation_id, user_id, role) values (${bench.organisation}, ${ada}, 'owner')`;
    await sql`insert into probes (id, organisation_id, name, continent) values (${own}, ${bench.organisation}, 'attic', 'Europe'), (${public_}, null, 'hall', 'Asia')`;
    const lost = async (probe: string) => {
      await sql`insert into notices (kind, subject, message, began_at) values ('probe_lost', ${probe}, 'The probe attic has not been heard', ${new Date(bench.now)})`;
    };
    const mails = () =>
      sql`select event as kind, recipient, told as about from deliveries where kind = 'mail'`;
    await lost(own);
    await lost(public_);
    bench.now += 59_999;
    await bench.rescue();
    expect(await mails()).toEqual([]);
    bench.now += 1;
    await bench.rescue();
    await bench.rescue();
    const mail = {
      kind: 'private-probe',
      recipient: 'ada@example.org',
      about: { message: 'The probe attic has not been heard' },
    };
    expect(await mails()).toEqual([mail]);
    const again = async () => {
      await sql`update notices set ended_at = ${new Date(bench.now)} where ended_at is null`;
      await lost(own);
      bench.now += 60_000;
      await bench.rescue();
    };
    await again();
    expect(await mails()).toEqual([mail]);
    bench.now += 3_600_000;
    await again();
    expect(await mails()).toEqual([mail, mail]);
  });

  test('rule 39: a fault of the monitoring itself is a notice, and goes to no channel', async () => {
    await bench.channel('chat');
    await sql`insert into notices (kind, subject, message) values ('probe_lost', 'x', 'A probe is lost')`;
    await bench.tell();
    expect([bench.sent, await sql`select 1 from alert_steps`]).toEqual([[], []]);
  });
});

/**
 * What the core decides of alerts (core/incident.ts) is what the table says, also when two decide
 * at once.
 */
describe('alerts', async () => {
  const { sql } = await ownDatabase();
  let incident: string;
  let owned: Owned;
  const time = Date.UTC(2026, 0, 1);

  beforeEach(async () => {
    await sql`delete from alerts`;
    await sql`update leases set owner = null, expires_at = 'epoch'`;
    owned = { owner, leases: await takeLeases(sql, owner, [...Array(32).keys()], 60_000) };
    incident = newId();
    const [organisation, monitor] = [newId(), newId()];
    await sql`insert into organisations (id, name, plan, time_zone) values (${organisation}, ${organisation}, 'team', 'UTC')`;
    await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${organisation}, 3, 'shop', 'https', 'https://shop.example', 60)`;
    await sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${incident}, ${organisation}, ${monitor}, ${new Date(time)})`;
  });

  const owner = newId();
  const rows = () =>
    sql<{ event: string; state: string; settled: boolean }[]>`
    select event, state, settled_at is not null as settled from alerts where incident_id = ${incident} order by id`;
  const write = (...writes: Parameters<typeof writeAlerts>[1]) =>
    inTransaction(sql, (transaction) => writeAlerts(transaction, writes));
  type Down = Parameters<typeof writeDowns>[1][number];
  const writeOnly = (...writes: Down[]) =>
    inTransaction(sql, (transaction) => executeAll(writeDowns(transaction, writes)));
  const down = { event: 'down', due_at: time } as const;
  const up = { event: 'up', at: time + 60_000 } as const;
  const ids = async () =>
    (await sql<{ id: number }[]>`select id from alerts where incident_id = ${incident}`).map(
      ({ id }) => id,
    );

  test('rule 28: a "down" that is raised twice is one', async () => {
    await write({ ...down, incident });
    await write({ ...down, incident, due_at: time + 1 }, { ...down, incident });
    expect(await rows()).toEqual([{ event: 'down', state: 'held', settled: false }]);
  });

  test.each([
    ['beside others', write],
    ['in one trip', writeOnly],
  ])(
    'rule 25: a waiting one is due by the new start of its incident when that is retimed, written %s; a sent one stays',
    async (_, tell) => {
      const dueAt = async () =>
        (
          await sql<{ due_at: number }[]>`select due_at from alerts where incident_id = ${incident}`
        )[0]?.due_at;
      await tell({ ...down, incident });
      await tell({ ...down, incident, due_at: time + 1 }, { ...down, incident, due_at: time + 2 });
      expect(await dueAt()).toBe(time + 2);
      expect(await releaseAlerts(sql, owned, await ids())).toBe(1);
      await tell({ ...down, incident, due_at: time + 3 });
      expect(await dueAt()).toBe(time + 2);
      expect(await rows()).toEqual([{ event: 'down', state: 'due', settled: false }]);
    },
  );

  test('rule 25: one that is over before it is due is dropped, without a message', async () => {
    await write({ ...down, due_at: up.at, incident });
    await write({ ...up, incident });
    expect(await rows()).toEqual([{ event: 'down', state: 'dropped', settled: true }]);
    expect(await releaseAlerts(sql, owned, await ids())).toBe(0);
  });

  test.each([
    [
      'in one transaction',
      (one: Down, end: Parameters<typeof writeAlerts>[1][number]) => write(one, end),
    ],
    [
      'before it was released',
      async (one: Down, end: Parameters<typeof writeAlerts>[1][number]) => {
        await write(one);
        await write(end);
      },
    ],
  ])(
    'rule 4: what is raised and over %s, and was due before its end, is told late once',
    async (_, tell) => {
      await tell({ ...down, incident }, { ...up, incident });
      await write({ ...up, incident }, { event: 'was_down', due_at: time, incident });
      expect(await rows()).toMatchObject([
        { event: 'down', state: 'dropped' },
        { event: 'was_down', state: 'due' },
      ]);
    },
  );

  test('rule 25: recipients of a "down" get the end, once', async () => {
    await write({ ...down, incident });
    expect(await releaseAlerts(sql, owned, await ids())).toBe(1);
    await write({ ...up, incident });
    await write({ ...up, event: 'closed', incident });
    expect(await rows()).toEqual([
      { event: 'down', state: 'due', settled: false },
      { event: 'up', state: 'due', settled: false },
    ]);
  });

  test('an end without a "down" sends nothing', async () => {
    await write({ ...up, incident });
    expect(await rows()).toEqual([]);
  });

  test('rule 17: recipients of a "down" get "closed" when the monitor is deleted, whose incidents are gone by then', async () => {
    await write({ ...down, incident });
    expect(await releaseAlerts(sql, owned, await ids())).toBe(1);
    await sql`delete from monitors`;
    await write({ ...up, event: 'closed', incident });
    expect(await rows()).toMatchObject([
      { event: 'down', state: 'due' },
      { event: 'closed', state: 'due' },
    ]);
  });

  test('are released by the owner of their partition alone, and not by one that was replaced', async () => {
    await write({ ...down, incident });
    const mine = owned.leases.filter(({ partition }) => partition === 3);
    const others = owned.leases.filter(({ partition }) => partition !== 3);
    expect(await heldAlerts(sql, { owner, leases: others }, time, 0, 10)).toEqual([]);
    expect(await heldAlerts(sql, { owner, leases: mine }, time, 0, 10)).toMatchObject([
      { partition: 3, by_target: true },
    ]);
    await sql`update leases set expires_at = now() - interval '1 second'`;
    await takeLeases(sql, newId(), [...Array(32).keys()], 60_000);
    expect(await releaseAlerts(sql, owned, await ids())).toBe(0);
    expect(await rows()).toMatchObject([{ state: 'held' }]);
  });

  test('rules 4 and 25: one that is released while its incident ends is sent, or told late, and never both', async () => {
    await write({ ...down, incident });
    const held = await ids();
    let released: Promise<number> = Promise.resolve(0);
    await inTransaction(sql, async (transaction) => {
      await writeAlerts(transaction, [{ ...up, incident }]);
      // Waits for the end of this transaction, and finds it dropped.
      released = releaseAlerts(sql, owned, held);
      await transaction`select pg_sleep(0)`;
    });
    expect(await released).toBe(0);
    expect(await rows()).toMatchObject([
      { event: 'down', state: 'dropped' },
      { event: 'was_down', state: 'due' },
    ]);
  });
});
