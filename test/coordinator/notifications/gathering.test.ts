import { beforeEach, describe, expect, test } from 'vitest';
import { claimMessages, type OnTheWay } from '../../../coordinator/notifications/deliver.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { ownDatabase } from '../../support/services.ts';
import { answered, notificationBench } from '../../support/telling-bench.ts';

const { sql } = await ownDatabase({ name: 'gathering', connections: 8 });
const second = 1_000;

let bench: Awaited<ReturnType<typeof notificationBench>>;
beforeEach(async () => {
  await sql`truncate organisations, alerts cascade`;
  bench = await notificationBench(sql);
});

describe('what leaves together', () => {
  test('rule 32: 100 monitors that go down one after the other within a minute are four messages at most, the first undelayed', async () => {
    await bench.channel('chat');
    const monitors = await Promise.all(Array.from({ length: 100 }, (_, index) => bench.monitor(`Shop ${index}`)));
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

  test('rule 32: a "down" that is over before it leaves with others is told as past, and its end is not told again', async () => {
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
    expect(await sql`select holds -> -1 ->> 0 as held_by from alert_steps where incident_id = ${third}`).toEqual([{ held_by: 'bucket' }]);
  });
});

describe('what is said together', () => {
  /** All that was sent to a channel that shows text, as one. */
  const said = (): string[] => bench.sent.flatMap((outgoing) => (outgoing.by === 'https' ? [outgoing.body] : []));

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

describe('who gets how many places', () => {
  const shares = { all: 20, channel: 2, host: 4, organisation: 8 };
  const claim = (onTheWay: readonly OnTheWay[] = []) =>
    claimMessages(sql, { now: bench.now, forMs: 120 * second, place: newId(), shares, onTheWay });
  /** Messages of a channel that are due. */
  const due = async (channel: string, count: number, organisation = bench.organisation) => {
    await sql`insert into messages (id, organisation_id, channel_id, event, thread_id, told, state, due_at, created_at, next_at)
      select gen_random_uuid(), ${organisation}, ${channel}, 'down', gen_random_uuid(), '{}', 'waiting', now(), now(), ${new Date(bench.now)}
      from generate_series(1, ${count})`;
  };
  const channelAt = async (name: string, host: string) => {
    const id = await bench.channel(name);
    await sql`update channels set host = ${host} where id = ${id}`;
    await due(id, 3);
    return id;
  };
  const countBy = (messages: Awaited<ReturnType<typeof claim>>, key: 'host' | 'channel_id' | 'organisation_id') =>
    Object.fromEntries([...Map.groupBy(messages, (message) => message[key])].map(([of, some]) => [of, some.length]));

  test('neither a channel, nor a host, nor an organisation takes more than its share of what is on its way', async () => {
    const slow = [];
    for (const name of ['a', 'b', 'c', 'd']) slow.push(await channelAt(name, 'slow.test'));
    await channelAt('e', 'quick.test');
    await channelAt('f', 'other.test');
    const other = await notificationBench(sql);
    await due(await other.channel('theirs'), 3, other.organisation);
    const claimed = await claim();
    expect(countBy(claimed, 'host')['slow.test']).toBe(4);
    expect(countBy(claimed, 'organisation_id')).toEqual({ [bench.organisation]: 8, [other.organisation]: 2 });
    expect(Math.max(...Object.values(countBy(claimed, 'channel_id')))).toBe(2);
    // What is on its way counts, and gives its places back.
    const onTheWay = claimed.map(({ channel_id: channel, host, organisation_id: organisation }) => ({
      channel,
      host,
      organisation,
      count: 1,
    }));
    expect(await claim(onTheWay)).toEqual([]);
    const left = onTheWay.filter(({ host }) => host !== 'slow.test');
    expect(countBy(await claim(left), 'host')).toEqual({ 'slow.test': 4 });
    expect(slow).toHaveLength(4);
  });

  test('of what is planned together, each organisation has the first of its own before any has its second', async () => {
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
    await incident(bench.organisation, monitor, 300);
    await incident(other.organisation, theirs, 2);
    expect(await bench.coordinator().planner.plan()).toBe(true);
    const planned = await sql`select organisation_id, count(*)::int from alerts where planned_at is not null group by 1`;
    expect(Object.fromEntries(planned.map(({ organisation_id, count }) => [organisation_id, count]))).toEqual({
      [bench.organisation]: 98,
      [other.organisation]: 2,
    });
  });

  test('never more than there is room for', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await channelAt(name, `${name}.test`);
    const busy = { channel: newId(), host: 'busy.test', organisation: newId(), count: 17 };
    expect(await claim([busy])).toHaveLength(3);
    expect(await claim([{ ...busy, count: 20 }])).toEqual([]);
  });
});

test('forty channels of one host that hangs hold up none of another', async () => {
  for (let index = 0; index < 40; index += 1) {
    const id = await bench.channel(`slow-${index}`);
    await sql`update channels set host = 'slow.test' where id = ${id}`;
  }
  await bench.channel('quick');
  let answer: () => void = () => undefined;
  const hanging = new Promise<void>((resolve) => {
    answer = resolve;
  });
  bench.answers.of = (outgoing) => ('url' in outgoing && outgoing.url.includes('slow') ? hanging.then(() => answered(200)) : answered(200));
  const by = bench.coordinator();
  for (const name of ['One', 'Two', 'Three']) {
    await bench.down(await bench.monitor(name));
    while (await by.planner.plan());
    while (await by.composer.compose());
    await by.courier.hurry();
    bench.now += 20 * second;
  }
  await eventually(async () => bench.heard('quick').length === 3);
  expect(bench.sent.filter((outgoing) => 'url' in outgoing && outgoing.url.includes('slow')).length).toBe(10);
  answer();
  await eventually(async () => (await sql`select 1 from messages where state = 'waiting'`).length === 0);
  await by.courier.close();
});
