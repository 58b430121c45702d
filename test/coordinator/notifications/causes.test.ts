import { beforeEach, describe, expect, test } from 'vitest';
import { nothingSuspected } from '../../../coordinator/causes/finder.ts';
import { lockForJudging } from '../../../coordinator/causes/queries.ts';
import { createPlanner } from '../../../coordinator/notifications/plan.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { testLog } from '../../support/network.ts';
import { answered, notificationBench } from '../../support/notification-parts.ts';
import { ownDatabase } from '../../support/services.ts';

describe('rule 51: outages of one cause are told as one', async () => {
  const { sql } = await ownDatabase({ name: 'told-causes', connections: 8 });
  const second = 1_000;
  const minute = 60 * second;
  const server = '203.0.113.7';

  let bench: Awaited<ReturnType<typeof notificationBench>>;
  let passing: string[];
  let failed: string[];
  beforeEach(async () => {
    await sql`truncate organisations, alerts cascade`;
    bench = await notificationBench(sql);
    await bench.channel('chat');
    for (let nth = 0; nth < 41; nth += 1) await monitorAt(`198.51.100.${nth}`);
    passing = [];
    failed = [];
  });

  const monitorAt = async (address: string): Promise<string> => {
    const id = await bench.monitor(`At ${address}`);
    await sql`update monitors set target = ${`https://${id}.example/`} where id = ${id}`;
    await sql`insert into served (monitor_id, organisation_id, addresses, seen_at)
      values (${id}, ${bench.organisation}, ${[`${address}:443`]}, now())`;
    await sql`update monitor_status set status = 'up' where monitor_id = ${id}`;
    return id;
  };
  const share = async (count: number, address = server): Promise<void> => {
    for (let nth = 0; nth < count; nth += 1) passing.push(await monitorAt(address));
  };
  const fail = async (monitor: string, address = server): Promise<string> => {
    const incident = await bench.down(monitor);
    await sql`update monitor_status set status = 'down' where monitor_id = ${monitor}`;
    await sql`update incidents set cause = '{"class":"connection_refused","params":{}}'
      where id = ${incident}`;
    const evidence = { url: 'https://a.example/', attempts: [{ address }] };
    for (const [part, continent] of [
      ['seen', 'Europe'],
      ['confirmed', 'Asia'],
    ] as const)
      await sql`
        insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms,
          evidence)
        values (${incident}, ${part}, ${continent}, 'p', now(), 1, 1,
          ${JSON.stringify(evidence)}::text::jsonb)`;
    failed.push(incident);
    return incident;
  };
  const failNext = async (count: number): Promise<void> => {
    for (let nth = 0; nth < count; nth += 1) await fail(passing.shift() ?? '');
  };
  const later = async (ms: number) => {
    bench.now += ms;
    await bench.tell();
  };
  const said = () => bench.heard('chat').map(({ sentence }) => sentence);
  const holds = async (incident: string) =>
    (
      await sql<{ holds: [string][] }[]>`
        select holds from alert_steps where incident_id = ${incident} and event = 'down'`
    )[0]?.holds.map(([by]) => by);

  test('rule 51: the first leaves alone, the others with their cause, and their ends together', async () => {
    await share(30);
    await failNext(1);
    await bench.tell();
    expect(said()).toEqual([expect.stringMatching(/^At 203.0.113.7 is down/)]);
    expect(bench.asked).toEqual([]);

    await later(3 * second);
    await failNext(1);
    await bench.tell();
    expect(bench.asked.toSorted()).toEqual(passing.toSorted());
    await later(0.5 * second);
    await failNext(28);
    await bench.tell();
    await later(0.9 * second);
    expect(said()).toHaveLength(1);
    await later(0.2 * second);
    expect(said().slice(1)).toEqual([
      '30 monitors are down: all 30 at address 203.0.113.7:443, and none of the 41 others.',
    ]);
    expect(bench.heard('chat').at(-1)?.names).toHaveLength(29);

    await later(5 * minute);
    for (const incident of failed.slice(0, 29)) await bench.up(incident);
    await later(minute);
    expect(said()).toHaveLength(2);
    await bench.up(failed.at(-1) ?? '');
    await bench.tell();
    await bench.reviewCauses();
    await later(second);
    expect(said().slice(2)).toEqual([
      '30 monitors are up again after 7 min: it was address 203.0.113.7:443.',
    ]);
    await later(60 * minute);
    expect(said()).toHaveLength(3);
  });

  test('rule 51: two that share nothing wait for nothing', async () => {
    await fail(await monitorAt('192.0.2.1'), '192.0.2.1');
    await bench.tell();
    await fail(await monitorAt('192.0.2.2'), '192.0.2.2');
    await bench.tell();
    expect(said()).toHaveLength(2);
    expect(bench.asked).toEqual([]);
  });

  test('rule 51: where those that were asked pass, the second is told after 2 s', async () => {
    await share(30);
    await failNext(1);
    await bench.tell();
    await failNext(1);
    await bench.tell();
    await later(1.9 * second);
    expect(said()).toHaveLength(1);
    await later(0.2 * second);
    expect(said()).toHaveLength(2);
    expect(await holds(failed[1] ?? '')).toEqual(['cause_check']);
  });

  test('rule 51: those that were asked are asked again ten seconds later, if others begin to fail', async () => {
    await share(30);
    await failNext(2);
    await bench.tell();
    expect(bench.asked).toHaveLength(28);
    await later(9 * second);
    await failNext(1);
    await bench.tell();
    expect(bench.asked).toHaveLength(28);
    await later(second);
    await failNext(1);
    await bench.tell();
    expect(bench.asked.slice(28).toSorted()).toEqual(passing.toSorted());
  });

  test('rule 51: those that were asked stand for the others', async () => {
    await share(90);
    await failNext(2);
    await bench.tell();
    expect(bench.asked).toHaveLength(44);
    await later(second);
    for (const monitor of bench.asked.slice(0, 40)) await fail(monitor);
    await bench.tell();
    await later(second);
    expect(said().at(-1)).toMatch(/^42 monitors are down: all 42 at address 203.0.113.7:443,/);
    // What joins is held, until there are more than twice as many.
    const [next = '', ...others] = passing.filter((monitor) => !bench.asked.includes(monitor));
    const joined = await fail(next);
    await later(5 * minute);
    expect(said()).toHaveLength(1);
    expect(await holds(joined)).toEqual(['cause']);
    for (const monitor of others.slice(0, 42)) await fail(monitor);
    await later(second);
    expect(said().slice(1)).toEqual([
      expect.stringMatching(/^85 monitors are down: all 85 at address/),
    ]);
    expect(bench.heard('chat').at(-1)?.names).toHaveLength(43);
  });

  test('rule 51: what joins within a minute is told together, however often it doubles', async () => {
    await share(220);
    await failNext(2);
    await bench.tell();
    await later(second);
    const answering = new Set(bench.asked.slice(0, 40));
    for (const monitor of answering) await fail(monitor);
    await bench.tell();
    await later(1.1 * second);
    expect(said()).toEqual([expect.stringMatching(/^42 monitors are down: all 42 at address/)]);
    passing = passing.filter((monitor) => !answering.has(monitor));
    for (const more of [44, 88]) {
      await later(15 * second);
      await failNext(more);
      await bench.tell();
    }
    await later(29 * second);
    expect(said()).toHaveLength(1);
    await later(1.1 * second);
    expect(said().slice(1)).toEqual([
      expect.stringMatching(/^174 monitors are down: all 174 at address/),
    ]);
  });

  test('rule 51: what leaves the cause is told, and what is over while it is held is not', async () => {
    await share(20);
    await failNext(2);
    await bench.tell();
    await failNext(14);
    await bench.tell();
    await later(1.1 * second);
    expect(said()).toHaveLength(1);
    await failNext(2);
    await later(minute);
    expect(said()).toHaveLength(1);
    const [other = '', over = ''] = failed.slice(16);
    await sql`update incidents set cause = '{"class":"name_not_found","params":{}}'
      where id = ${other}`;
    await bench.up(over);
    await bench.reviewCauses();
    await later(second);
    expect(said().slice(1)).toEqual([expect.stringMatching(/^At 203.0.113.7 is down/)]);
    const [step] = await sql<{ because: string }[]>`
      select because from alert_steps where incident_id = ${over} and event = 'down'`;
    expect(step?.because).toBe('over');
  });

  test('rule 50: one that is over but for one outage is a cause anew when it fails again', async () => {
    await share(12);
    const monitors = [...passing];
    await failNext(12);
    await bench.tell();
    await later(1.1 * second);
    for (const incident of failed.slice(1)) await bench.up(incident);
    await later(3 * minute);
    expect(said()).toEqual([
      expect.stringMatching(/^12 monitors are down: all 12 at address/),
      '11 monitors are up again.',
    ]);
    for (const monitor of monitors.slice(1)) await fail(monitor);
    await bench.tell();
    await later(1.1 * second);
    expect(said().slice(2)).toEqual([
      expect.stringMatching(/^11 monitors are down: all 11 at address/),
    ]);
  });

  test('rule 51: a channel with a long delay is told of a cause once, too', async () => {
    await bench.channel('boss', { delay_s: 15 * 60 });
    await share(20);
    await failNext(16);
    await bench.tell();
    await later(30 * second);
    await failNext(4);
    await bench.tell();
    await later(14.6 * minute);
    await later(2 * minute);
    expect(bench.heard('boss').map(({ sentence }) => sentence)).toEqual([
      expect.stringMatching(/^20 monitors are down: all 20 at address/),
    ]);
  });

  test('rule 51: ends do not wait for an outage that stays', async () => {
    await share(20);
    await failNext(20);
    await bench.tell();
    await later(1.1 * second);
    expect(said()).toHaveLength(1);
    for (const incident of failed.slice(1)) await bench.up(incident);
    await later(1.9 * minute);
    expect(said()).toHaveLength(1);
    await later(0.2 * minute);
    expect(said().slice(1)).toEqual(['19 monitors are up again.']);
  });

  test('rule 51: a channel that a program reads hears of each at once', async () => {
    const hook = await bench.channel('hook', { kind: 'webhook' });
    await share(5);
    await failNext(5);
    await bench.tell();
    const messages = await sql<{ cause: string | null }[]>`
      select told #>> '{monitors,0,cause_id}' as cause from deliveries where channel_id = ${hook}`;
    const [found] = await sql<{ id: string }[]>`select id from causes where ended_at is null`;
    expect(messages).toEqual(Array(5).fill({ cause: found?.id }));
  });

  test('rule 51: a message names two causes that are found together', async () => {
    await share(5);
    await share(4, '203.0.113.8');
    for (const [nth, monitor] of passing.entries())
      await fail(monitor, nth < 5 ? server : '203.0.113.8');
    await bench.tell();
    await later(1.1 * second);
    expect(said()).toEqual([
      '9 monitors are down: all 5 at address 203.0.113.7:443, and 4 of the 45 others; all 4 at address 203.0.113.8:443, and none of the 41 others.',
    ]);
  });

  test('rule 51: what joins later waits for ten minutes at most', async () => {
    await share(20);
    await failNext(16);
    await bench.tell();
    await later(1.1 * second);
    await later(60 * minute);
    await failNext(1);
    await later(9 * minute);
    expect(said()).toHaveLength(1);
    await later(2 * minute);
    expect(said().slice(1)).toEqual([expect.stringMatching(/^17 monitors are down: all 17 at/)]);
  });

  test('rule 51: a monitor that fails again is told, and not that it is up', async () => {
    await share(20);
    const [first = ''] = passing;
    await failNext(16);
    await bench.tell();
    await later(1.1 * second);
    await bench.up(failed[0] ?? '');
    await later(minute);
    await fail(first);
    await later(second);
    expect(bench.heard('chat').slice(1)).toMatchObject([{ names: [expect.any(String)] }]);
    await later(5 * minute);
    expect(said()).toHaveLength(2);
  });

  test('rule 51: a message of a cause that was not delivered is told anew with what ended', async () => {
    await share(20);
    bench.answers.of = () => answered(500);
    await failNext(16);
    await bench.tell();
    await later(1.1 * second);
    await bench.up(failed[0] ?? '');
    await later(3 * minute);
    bench.answers.of = () => answered(204);
    const before = said().length;
    for (let round = 0; round < 20; round += 1) await later(minute);
    const names = bench
      .heard('chat')
      .slice(before)
      .flatMap((message) => message.names);
    expect(names.length).toBeGreaterThanOrEqual(16);
    expect(said().slice(before).join()).toMatch(/15 monitors are down.*at address/);
  });

  test('rule 51: what cannot be judged is told as ever', async () => {
    await share(5);
    await failNext(3);
    const planner = createPlanner({
      ...{ sql, clock: { now: () => bench.now }, log: testLog(), kindOf: () => undefined },
      judge: (transaction) => transaction`select 1 / 0`.then(() => nothingSuspected),
    });
    await bench.tell({ ...bench.coordinator(), planner });
    expect(said()).toEqual(['3 monitors are down: connection refused.']);
  });

  test('rule 51: outages of an organisation that another coordinator judges wait as suspects do', async () => {
    await share(5);
    await sql.begin(async (other) => {
      expect(await lockForJudging(other, [bench.organisation])).toHaveLength(1);
      await failNext(2);
      await bench.tell();
      expect(said()).toEqual([]);
    });
    await later(2 * second);
    expect(said()).toHaveLength(1);
  });

  test('rule 51: a coordinator that dies in between loses nothing', async () => {
    await share(10);
    await failNext(10);
    // It has planned, and no other memory than the rows is left.
    const dead = bench.coordinator();
    await dead.planner.plan();
    bench.now += 2 * second;
    await bench.tell(bench.coordinator(newId()));
    expect(said()).toEqual([expect.stringMatching(/^10 monitors are down: all 10 at address/)]);
  });
});
