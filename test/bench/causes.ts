import { createCauseFinder } from '../../coordinator/causes/finder.ts';
import type { Sql } from '../../coordinator/database/connect.ts';
import { inTransaction } from '../../coordinator/database/sql.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createNetwork } from '../support/network.ts';
import { startServices } from '../support/services-run.ts';
import { type Bench, type Figure, median } from './figure.ts';

/** One organisation with 20,000 monitors, half of them at one address that breaks. */

const mostMs = 1_000;
const sharing = 10_000;

const fill = async (sql: Sql): Promise<string> => {
  const organisation = newId();
  await sql`insert into organisations (id, name, plan, time_zone)
    values (${organisation}, 'bench', 'self_hosted', 'UTC')`;
  await sql`
    insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    select gen_random_uuid(), ${organisation}, 3, 'Monitor ' || n, 'https',
      'https://shop' || n || '.example/', 60
    from generate_series(1, ${2 * sharing}) n`;
  await sql`
    insert into served (monitor_id, organisation_id, addresses, server, seen_at)
    select id, organisation_id, array[case when n <= ${sharing} then '203.0.113.7:443'
      else '198.51.' || n / 250 || '.' || n % 250 || ':443' end], 'nginx', now()
    from (select *, row_number() over (order by key) as n from monitors) m`;
  await sql`update monitor_status set status = 'up' where organisation_id = ${organisation}`;
  // What has happened before: of empty tables the database's plans would be those of small ones.
  await breakThem(sql, sharing);
  await sql`update incidents set resolved_at = now()`;
  await sql`update monitor_status set status = 'up' where organisation_id = ${organisation}`;
  await sql`analyze`;
  return organisation;
};

/** So many of those at the address, or these, are down now. */
const breakThem = async (sql: Sql, monitors: number | readonly string[]): Promise<void> => {
  await sql.begin(async (transaction) => {
    await transaction`
      create temporary table broken on commit drop as
      select m.id as monitor, m.organisation_id, gen_random_uuid() as incident from monitors m
        join served s on s.monitor_id = m.id join monitor_status t on t.monitor_id = m.id
      where s.addresses = '{203.0.113.7:443}' and t.status = 'up'
        ${typeof monitors === 'number' ? transaction`` : transaction`and m.id = any(${monitors}::uuid[])`}
      order by m.key limit ${typeof monitors === 'number' ? monitors : sharing}`;
    await transaction`
      insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
        seen_continent, seen_probe, cause)
      select incident, organisation_id, monitor, now(), now(), 'Europe', 'Frankfurt',
        '{"class": "connection_refused", "params": {}}' from broken`;
    await transaction`
      insert into incident_evidence (incident_id, part, continent, probe, at, outcome, took_ms, evidence)
      select incident, part, part, 'p', now(), 1, 1,
        '{"url": "https://a.example/", "attempts": [{"address": "203.0.113.7"}]}'
      from broken, unnest(array['seen', 'confirmed']) part`;
    await transaction`update monitor_status set status = 'down'
      where monitor_id in (select monitor from broken)`;
  });
};

const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

const figureOf = (what: string, ms: number): Figure => ({
  what,
  ours: `${ms.toFixed(0)} ms`,
  against: `${mostMs} ms`,
  ratio: ms / mostMs,
  goal: '≤ 1.00 ×',
  holds: ms <= mostMs,
});

export const causes: Bench = {
  name: 'causes',
  about:
    'a cause of 10,000 outages among 20,000 monitors: to find it, and to judge all of them (1 min)',
  run: async (say) => {
    say('database');
    const { services, stop } = await startServices();
    const network = await createNetwork({ services });
    const { sql } = network;
    try {
      say(`${2 * sharing} monitors`);
      const organisation = await fill(sql);
      const asked: string[] = [];
      const finder = createCauseFinder({
        ...{ sql, clock: { now: Date.now }, isLeader: () => true },
        ask: (monitors) => asked.push(...monitors),
        onReviewed: async () => undefined,
      });
      const judge = () =>
        inTransaction(sql, (transaction) => finder.judge(transaction, [organisation]));
      say('two are down, and then those that are asked');
      await breakThem(sql, 2);
      const suspected = await timeOf(judge);
      await breakThem(sql, asked);
      // It rests after a judgement that took long.
      await new Promise((done) => setTimeout(done, 11 * suspected));
      const found = await timeOf(judge);
      const members = await membersNow(sql);
      if (members !== asked.length + 2)
        throw new Error(`found ${members} of ${asked.length + 2} that are known`);
      say(`${sharing} are down`);
      await breakThem(sql, sharing);
      const joined = await timeOf(async () => {
        while ((await membersNow(sql)) < sharing) await judge();
      });
      const rounds: number[] = [];
      for (let round = 0; round < 5; round += 1)
        rounds.push(
          await timeOf(() =>
            createCauseFinder({
              ...{ sql, clock: { now: Date.now }, isLeader: () => true, ask: () => undefined },
              onReviewed: async () => undefined,
            }).tick(),
          ),
        );
      return [
        figureOf('two outages: whether they may have a cause, and who is asked', suspected),
        figureOf(`the cause of ${asked.length + 2}, found by those that were asked`, found),
        figureOf('a thousand more join it', (joined * 1_000) / (sharing - members)),
        figureOf(`all ${sharing} judged again, the median of five`, median(rounds)),
      ];
    } finally {
      await network.close();
      await stop();
    }
  },
};

const membersNow = async (sql: Sql): Promise<number> =>
  (await sql<{ count: number }[]>`select count(*)::int as count from cause_members`)[0]?.count ?? 0;
