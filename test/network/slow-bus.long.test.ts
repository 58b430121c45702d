import { expect, test } from 'vitest';
import { eventually, passed } from '../support/eventually.ts';
import { resultsOf, seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { startMortalServices } from '../support/services-run.ts';
import { startSlowApi } from '../support/slow-api.ts';

/**
 * Two coordinators on a bus whose API answers in 3 to 5 s: after an ordinary rolling restart, and
 * after the database was away for a minute, each partition soon has its owner and keeps it. Ten
 * rounds: `SLOW_BUS_ROUNDS=10`.
 */
const rounds = Number(process.env.SLOW_BUS_ROUNDS ?? 1);
const monitors = 20;
const slowMs = (): number => 3_000 + Math.random() * 2_000;
/** All that was checked has its row so soon after the last fault. */
const restMs = 30_000;

test(
  'on a slow bus no partition changes hands again and again, and every check has its row',
  async ({ onTestFinished }) => {
    const mortal = await startMortalServices();
    onTestFinished(mortal.stop);
    const network = await createNetwork({ services: mortal.services });
    onTestFinished(network.close);
    const api = await startSlowApi(network.account, slowMs);
    onTestFinished(api.close);
    const start = async () => network.startCoordinatorProcess({ NATS_URL: await api.url() });
    const fleet = [await start(), await start()];
    await network.addProbes('Asia', 'Europe', 'North America');
    const target = await network.startTarget();
    const ids: string[] = [];
    for (let count = 0; count < monitors; count += 1)
      ids.push(await network.addMonitor({ target: target.url(`/${count}`), interval_s: 10 }));
    for (const id of ids) await seenFrom(network.sql, id, 3);
    const changes = await countChanges(network);
    api.setSlow(true);
    for (let round = 1; round <= rounds; round += 1) {
      await changes.forget();
      for (const [slot, coordinator] of fleet.entries()) {
        expect(await coordinator.stop()).toBe(0);
        fleet[slot] = await start();
      }
      await mortal.postgres.kill();
      await passed(60_000);
      await mortal.postgres.start();
      const seen = target.hits.length;
      const stored = async () =>
        (await Promise.all(ids.map((id) => resultsOf(network.sql, id)))).flat().length;
      const began = performance.now();
      await eventually(async () => (await stored()) >= seen, restMs, 500);
      const tookMs = performance.now() - began;
      // What still circles would be seen circling.
      await passed(restMs - Math.min(tookMs, restMs));
      const most = await changes.most();
      process.stdout.write(
        `round ${round}: ${seen} checks, all stored ${(tookMs / 1_000).toFixed(1)} s after the database was back; a partition changed hands ${most} times at most\n`,
      );
      expect(most).toBeLessThanOrEqual(3);
      const [held] = await network.sql<{ held: number }[]>`
        select count(*)::int as held from leases where expires_at > now() and owner is not null`;
      expect(held?.held).toBe(32);
    }
  },
  180_000 + rounds * 240_000,
);

/** How often a partition got another owner than the one before. */
async function countChanges({ sql }: Network) {
  await sql`create table owners (partition smallint, owner uuid, at timestamptz default clock_timestamp())`;
  await sql.unsafe(`create function note_owner() returns trigger language plpgsql as $$
    begin insert into owners (partition, owner) values (new.partition, new.owner); return null; end $$`);
  await sql.unsafe(`create trigger note_owner after update on leases for each row
    when (new.owner is not null and new.owner is distinct from old.owner)
    execute function note_owner()`);
  return {
    forget: () => sql`delete from owners`,
    most: async (): Promise<number> => {
      const [row] = await sql<{ most: number }[]>`
        select coalesce(max(changes), 0)::int as most from (
          select count(*) filter (where owner <> before) as changes from (
            select partition, owner, lag(owner) over (partition by partition order by at) as before
            from owners) as moves
          group by partition) as counted`;
      return row?.most ?? 0;
    },
  };
}
