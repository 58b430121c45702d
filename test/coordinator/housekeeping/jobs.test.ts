import { describe, expect, test } from 'vitest';
import { createHousekeeper, oldestAccepted } from '../../../coordinator/housekeeping/jobs.ts';
import { makeJournalHours } from '../../../coordinator/results/journal.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { storeChecks, testResults } from '../../support/checks.ts';
import { eventually } from '../../support/eventually.ts';
import { testLog } from '../../support/network.ts';
import { notificationBench } from '../../support/notification-parts.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const day = 86_400_000;
const noon = Date.UTC(2026, 10, 20, 12);
const kept = { rawDays: 2, rollupDays: 400, ledgerDays: 400 };
const { sql } = await ownDatabase();

/** Its day is there. */
const store = (at: number) =>
  sql`insert into chunks (monitor_key, at, data) values (1, ${new Date(at)}, '')`;

const days = async (): Promise<string[]> => {
  const rows = await sql<
    { name: string }[]
  >`select relid::regclass::text as name from pg_partition_tree('chunks') where isleaf order by 1`;
  return rows.map(({ name }) => name);
};

/** Reads the results for as long as it takes, as a backup does. */
const startReading = async (): Promise<{ readonly end: () => Promise<void> }> => {
  const [began, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reading = sql.begin('isolation level repeatable read read only', async (transaction) => {
    await transaction`set local idle_in_transaction_session_timeout = 0`;
    await transaction`select count(*) from chunks`;
    began.resolve();
    await over.promise;
  });
  await began.promise;
  return {
    end: async () => {
      over.resolve();
      await reading;
    },
  };
};

/** Whether a statement about results waits, so that all that come after it wait behind it. */
const isAnyWaiting = async (): Promise<boolean> => {
  const [row] = await sql<
    { waits: boolean }[]
  >`select exists (select 1 from pg_locks where not granted and relation = 'chunks'::regclass) as waits`;
  return row?.waits === true;
};

const housekeeperAt = (
  now: () => number,
  more: Partial<Parameters<typeof createHousekeeper>[0]> = {},
) =>
  createHousekeeper({
    ...{ sql, clock: { now }, results: testResults(), log: testLog(), kept },
    isLeader: () => true,
    ...more,
  });

describe('the housekeeper', () => {
  test('creates the days to come and drops those that are over, and delays no result while a reader holds them all', async () => {
    let now = noon;
    const housekeeper = housekeeperAt(() => now);
    await housekeeper.prepare();
    const before = await days();
    expect(before[0]).toBe('chunks_20261118');
    expect(before.at(-1)).toBe('chunks_20261123');
    now += day;
    const reading = await startReading();
    let isOver = false;
    const ticking = housekeeper.tick().finally(() => {
      isOver = true;
    });
    await eventually(async () => isOver || (await isAnyWaiting()));
    await store(now);
    await ticking;
    expect(await days()).toEqual([...before, 'chunks_20261124']);
    await reading.end();
    await housekeeper.tick();
    expect(await days()).toEqual([...before.slice(1), 'chunks_20261124']);
    await store(now + 3 * day);
    const [index] =
      await sql`select 1 from pg_indexes where tablename = 'chunks_20261124' and indexdef like '%(monitor_key, at)%'`;
    expect(index).toBeDefined();
  });

  test('makes the hours of the journal a day ahead, and drops those that are in chunks for good', async () => {
    const housekeeper = housekeeperAt(() => noon + 7 * 60_000);
    const hours = async (): Promise<string[]> =>
      (
        await sql<{ name: string }[]>`select relid::regclass::text as name
          from pg_partition_tree('journal') where isleaf order by 1`
      ).map(({ name }) => name);
    await makeJournalHours(sql, noon - 2 * 3_600_000, noon);
    await sql`update sealed_hours set until = ${new Date(noon - 3_600_000)}`;
    await housekeeper.tick();
    expect((await hours()).slice(0, 2)).toEqual(['journal_2026112011', 'journal_2026112012']);
    await sql`update sealed_hours set until = ${new Date(noon)}`;
    await housekeeper.tick();
    await housekeeper.prepare();
    const left = await hours();
    expect(left[0]).toBe('journal_2026112012');
    expect(left).toContain('journal_2026112020');
  });

  test('deletes what is over on the one coordinator that leads, and once an hour', async () => {
    let [now, leads] = [noon, false];
    const housekeeper = housekeeperAt(() => now, { isLeader: () => leads });
    const leave = async () => {
      await sql`insert into outbox (topic, payload, done_at) values ('probe', '{}', now() - interval '8 days')`;
    };
    const left = async () => (await sql`select 1 from outbox where done_at is not null`).length;
    await leave();
    await housekeeper.tick();
    expect(await left()).toBe(1);
    leads = true;
    await housekeeper.tick();
    expect(await left()).toBe(0);
    await leave();
    now += 3_599_000;
    await housekeeper.tick();
    expect(await left()).toBe(1);
    now += 1_000;
    await housekeeper.tick();
    expect(await left()).toBe(0);
  });

  test('makes rows of days that are over, and deletes those after their time', async () => {
    await storeChecks(sql, 8, [{ at: noon + 1 }, { at: noon + 2 }]);
    await sql`insert into probes (id, name, continent) values (${newId()}, 'P', 'Asia')`;
    await sql`update stale_days set since = ${new Date(noon)}`;
    let now = noon + day;
    const housekeeper = housekeeperAt(() => now);
    const stored = () => sql`select day from days`;
    await housekeeper.tick();
    expect(await stored()).toEqual([{ day: noon - day / 2 }]);
    now += 400 * day;
    await housekeeper.tick();
    expect(await stored()).toEqual([]);
  });

  test('deletes the checks that a plan keeps no longer, once a day', async () => {
    let now = noon;
    const housekeeper = housekeeperAt(() => now, { kept: { ...kept, rawDays: 30 } });
    await housekeeper.prepare();
    const monitors = new Map<string, number>();
    for (const plan of ['free', 'business'] as const) {
      const { organisation } = await createTestOrganisation(sql, { plan });
      const [row] = await sql<{ key: number }[]>`
        insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
        values (${newId()}, ${organisation}, 0, 'a', 'https', 'https://a.example/', 60) returning key`;
      monitors.set(plan, row?.key ?? 0);
    }
    const store = async (plan: string, days: number): Promise<void> => {
      await storeChecks(sql, monitors.get(plan) ?? 0, [{ at: noon - days * day }]);
    };
    const left = async (plan: string) =>
      sql`select array_agg((${new Date(noon)}::date - at::date) order by at) as chunks from chunks
        where monitor_key = ${monitors.get(plan) ?? 0}`;
    for (const plan of monitors.keys()) for (const days of [29, 8, 7, 0]) await store(plan, days);
    await housekeeper.tick();
    expect(await left('free')).toEqual([{ chunks: [7, 0] }]);
    expect(await left('business')).toEqual([{ chunks: [29, 8, 7, 0] }]);
    await store('free', 20);
    await housekeeper.tick();
    expect(await left('free')).toEqual([{ chunks: [20, 7, 0] }]);
    now += day;
    await housekeeper.tick();
    expect(await left('free')).toEqual([{ chunks: [0] }]);
    // Nothing comes to a day of which a plan keeps only what comes.
    const today = noon - day / 2;
    expect(oldestAccepted({ ...kept, rawDays: 30 }, noon)).toBe(today - 7 * day);
    expect(oldestAccepted(kept, noon)).toBe(today - 2 * day);
  });

  test('deletes idempotency records after a day', async () => {
    const { organisation } = await createTestOrganisation(sql);
    const housekeeper = housekeeperAt(() => noon);
    for (const [call, age] of [
      ['over', day],
      ['kept', day - 1],
    ] as const)
      await sql`insert into kept_answers (organisation_id, call, request, answered_at)
        values (${organisation}, ${Buffer.from(call)}, ${Buffer.from('request')}, ${new Date(noon - age)})`;
    await housekeeper.tick();
    const left = await sql<
      { call: Buffer }[]
    >`select call from kept_answers where organisation_id = ${organisation}`;
    expect(left.map(({ call }) => String(call))).toEqual(['kept']);
  });

  test('lets go of the older half of answers, when those of an organisation come to twice what they may', async () => {
    const { organisation } = await createTestOrganisation(sql);
    let now = noon;
    const housekeeper = housekeeperAt(() => now, { mostAnswerBytes: 2_000 });
    const keep = (
      call: string,
    ) => sql`insert into kept_answers (organisation_id, call, request, answered_at, answer)
      values (${organisation}, ${Buffer.from(call)}, ${Buffer.from('request')}, ${new Date(now)}, ${Buffer.alloc(1_000)})`;
    const whole = async () => {
      const rows = await sql<{ call: Buffer }[]>`
        select call from kept_answers where organisation_id = ${organisation} and answer is not null order by answered_at`;
      return rows.map(({ call }) => String(call));
    };
    for (const call of ['a', 'b', 'c', 'd']) {
      await keep(call);
      now += 1;
    }
    await housekeeper.tick();
    expect(await whole()).toEqual(['c', 'd']);
    await keep('e');
    now += 299_000;
    await housekeeper.tick();
    expect(await whole()).toEqual(['c', 'd', 'e']);
    now += 1_000;
    await housekeeper.tick();
    expect(await whole()).toEqual(['d', 'e']);
    expect(
      await sql`select 1 from kept_answers where organisation_id = ${organisation}`,
    ).toHaveLength(5);
  });

  test('rule 40: deletes notifications after 400 days, and never what an open incident needs for its end', async () => {
    const bench = await notificationBench(sql);
    const kept400 = housekeeperAt(() => bench.now);
    await bench.channel('chat');
    const over = await bench.down(await bench.monitor('Over'));
    await bench.tell();
    bench.now += 60_000;
    await bench.up(over);
    await bench.tell();
    await bench.down(await bench.monitor('Open'));
    await bench.tell();
    // Rows carry the time of the database where nobody asks for another.
    await sql`update alerts set created_at = ${new Date(bench.now)} where organisation_id = ${bench.organisation}`;
    const left = async () =>
      (
        await sql`select (select count(*) from alerts) as alerts, (select count(*) from alert_steps) as steps, (select count(*) from deliveries) as messages,
        (select sum(jsonb_array_length(log))::int from deliveries) as attempts`
      )[0];
    bench.now += 399 * day;
    await kept400.tick();
    expect(await left()).toEqual({ alerts: 3, steps: 3, messages: 3, attempts: 3 });
    bench.now += 2 * day;
    await kept400.tick();
    expect(await left()).toEqual({ alerts: 1, steps: 1, messages: 1, attempts: 1 });
  });

  test('deletes warnings 400 days after their end, with their alerts and notifications', async () => {
    const bench = await notificationBench(sql);
    const kept400 = housekeeperAt(() => bench.now);
    await bench.channel('chat');
    const over = await bench.warn(await bench.monitor('Over'));
    const open = await bench.warn(await bench.monitor('Open'));
    bench.now += 240_000;
    await bench.tell();
    await bench.endWarning(over);
    const left = async () => {
      const of = bench.organisation;
      return [
        (await sql`select id from warnings where organisation_id = ${of} order by key`).map(
          ({ id }) => id,
        ),
        await sql`select count(*) from alerts where organisation_id = ${of}`,
        await sql`select count(*) from alert_steps where organisation_id = ${of}`,
      ];
    };
    bench.now += 399 * day;
    await kept400.tick();
    expect(await left()).toEqual([[over, open], [{ count: 3 }], [{ count: 2 }]]);
    bench.now += 2 * day;
    await kept400.tick();
    expect(await left()).toEqual([[open], [{ count: 1 }], [{ count: 1 }]]);
  });

  test.each([
    [
      'the ledger',
      `delete from ledger where ended_at < now() - interval '400 days'`,
      'ledger_by_end',
    ],
    ['the outbox', `delete from outbox where done_at < now() - interval '7 days'`, 'outbox_by_end'],
    [
      'deliveries',
      `delete from deliveries where id in (select id from deliveries where kind = 'mail' and state <> 'waiting' and settled_at < now() order by settled_at limit 9)`,
      'deliveries_settled',
    ],
    [
      'steps',
      `delete from alert_steps where id in (select id from alert_steps where created_at < now() order by created_at limit 9)`,
      'alert_steps_by_age',
    ],
    [
      'warnings',
      `delete from warnings where id in (select id from warnings where ended_at < now() order by ended_at limit 9)`,
      'warnings_ended',
    ],
    [
      'kept answers',
      `select ctid from kept_answers where answered_at <= now() - interval '1 day' order by answered_at limit 9`,
      'kept_answers_at',
    ],
  ])('finds what is over in %s by an index', async (_, statement, index) => {
    const plan = await sql.begin(async (transaction) => {
      // A small table is read as fast without one.
      await transaction`set local enable_seqscan = off`;
      return JSON.stringify(await transaction.unsafe(`explain ${statement}`));
    });
    expect(plan).toContain(index);
  });
});
