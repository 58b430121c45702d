import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { connect } from '../../../coordinator/database/connect.ts';
import { listenTo } from '../../../coordinator/database/listen.ts';
import { commitUnits, emptyUnit } from '../../../coordinator/engine/commit.ts';
import { fairShare } from '../../../coordinator/engine/division.ts';
import {
  Fenced,
  forgetCoordinator,
  forgetCoordinators,
  ownedPartitions,
  recordCoordinator,
  releaseLeases,
  renewEpoch,
  renewLeases,
  takeLeases,
} from '../../../coordinator/engine/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { eventually } from '../../support/eventually.ts';
import { ownDatabase } from '../../support/services.ts';

describe('leases', async () => {
  const { database, sql } = await ownDatabase();
  const slot = sql.access.openSlot();
  afterAll(() => slot.end());
  const [ada, bob] = [newId(), newId()];

  afterEach(async () => {
    await sql`update leases set owner = null, expires_at = 'epoch'`;
  });
  const live = async (owner: string, hasBus = true): Promise<number> =>
    (
      await recordCoordinator(
        sql,
        { owner, version: '1', hasBus },
        { heardMs: 60_000, countedMs: 180_000 },
      )
    ).heard;
  const first = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const expire = () => sql`update leases set expires_at = now() - interval '1 second'`;

  test('are taken once each, however many ask at the same time', async () => {
    const others = [connect(database.url), connect(database.url)];
    const taken = await Promise.all(
      [sql, ...others].map((each, index) =>
        takeLeases(each, index === 0 ? ada : newId(), first(16), 60_000),
      ),
    );
    const partitions = taken.flat().map(({ partition }) => partition);
    expect(new Set(partitions).size).toBe(partitions.length);
    expect(await ownedPartitions(sql)).toBe(partitions.length);
    await Promise.all(others.map((other) => other.end()));
  });

  test('that expired hold until another coordinator takes them, which raises the epoch', async () => {
    const [mine] = await takeLeases(sql, ada, first(1), 60_000);
    await expire();
    expect(await renewLeases(sql, ada, 60_000)).toEqual([mine]);
    await expire();
    const [his] = await takeLeases(sql, bob, first(1), 60_000);
    expect(his).toEqual({ partition: mine?.partition, epoch: (mine?.epoch ?? 0) + 1 });
    expect(await renewLeases(sql, ada, 60_000)).toEqual([]);
  });

  test('released are free at once, and listeners are notified', async () => {
    const taken = await takeLeases(sql, ada, first(32), 60_000);
    const heard = Promise.withResolvers<void>();
    const listening = await listenTo(sql, 'leases', () => heard.resolve(), {
      log: { warn: () => undefined },
    });
    await releaseLeases(
      sql,
      ada,
      taken.map(({ partition }) => partition),
    );
    await heard.promise;
    expect(await takeLeases(sql, bob, first(32), 60_000)).toHaveLength(32);
    await listening.unlisten();
  });

  test('are renewed beside a commit that locks several of them, in whatever order', async () => {
    await sql`delete from leases where partition = 0`;
    await sql`insert into leases (partition) values (0)`;
    await takeLeases(sql, ada, first(32), 60_000);
    // Without gaps before it, the newest row lies last.
    await sql`vacuum full leases`;
    await sql`update leases set expires_at = expires_at where partition = 0`;
    const lie = await sql<{ partition: number }[]>`select partition from leases order by ctid`;
    expect(lie.at(-1)?.partition).toBe(0);
    const other = connect(database.url);
    const renewed = await sql.begin(async (transaction) => {
      await transaction`select 1 from leases where partition = 0 for share`;
      const renewing = renewLeases(other, ada, 60_000);
      renewing.catch(() => undefined); // Told below; until then nobody waits for it.
      await eventually(
        async () =>
          (
            await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
          ).length > 0,
      );
      await transaction`select 1 from leases where partition = 1 for share`;
      return { renewing };
    });
    expect(await renewed.renewing).toHaveLength(32);
    await other.end();
  });

  test('under a new epoch keep out what was sent under the old one, and wait for what is under way', async () => {
    const [lease] = await takeLeases(sql, ada, first(1), 60_000);
    if (!lease) throw new Error('no lease');
    const other = connect(database.url);
    const done: string[] = [];
    const renewed = await sql.begin(async (transaction) => {
      await transaction`select hold_leases(${ada}, ${[lease.partition]}::smallint[], ${[lease.epoch]}::bigint[])`;
      const renewing = renewEpoch(other, lease).finally(() => done.push('renewed'));
      renewing.catch(() => undefined); // Told below; until then nobody waits for it.
      await eventually(
        async () =>
          (
            await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
          ).length > 0,
      );
      done.push('committed');
      return { renewing };
    });
    expect(await renewed.renewing).toEqual({ ...lease, epoch: lease.epoch + 1 });
    expect(done).toEqual(['committed', 'renewed']);
    await expect(commitUnits({ sql, slot }, ada, [emptyUnit(lease)])).rejects.toThrow(Fenced);
    await commitUnits({ sql, slot }, ada, [emptyUnit(await renewed.renewing)]);
    await expect(renewEpoch(sql, lease)).rejects.toThrow(Fenced);
    await releaseLeases(sql, ada, [lease.partition]);
    await expect(renewEpoch(sql, await renewed.renewing)).rejects.toThrow(Fenced);
    await other.end();
  });

  test('are named where they are outdated, beside those of today, so that no coordinator retries both without end', async () => {
    const [older] = await takeLeases(sql, ada, first(1), 60_000);
    await expire();
    const [newer] = await takeLeases(sql, ada, first(1), 60_000);
    if (!older || !newer) throw new Error('no lease');
    expect(newer.epoch).toBeGreaterThan(older.epoch);
    const commit = commitUnits({ sql, slot }, ada, [emptyUnit(older), emptyUnit(newer)]);
    await expect(commit).rejects.toMatchObject({ name: 'Fenced', partitions: [older.partition] });
  });

  test('let a commit through only for their owner of today', async () => {
    const [lease] = await takeLeases(sql, ada, first(1), 60_000);
    if (!lease) throw new Error('no lease');
    const unit = { ...emptyUnit(lease), sealedUntil: 3_600_000 };
    await commitUnits({ sql, slot }, ada, [unit]);
    await expire();
    await takeLeases(sql, bob, first(1), 60_000);
    await expect(commitUnits({ sql, slot }, ada, [unit])).rejects.toThrow(Fenced);
    await expect(
      commitUnits({ sql, slot }, bob, [{ ...unit, sealedUntil: 7_200_000 }]),
    ).rejects.toThrow(Fenced);
    expect(await sql`select until from sealed_hours where partition = ${lease.partition}`).toEqual([
      { until: 3_600_000 },
    ]);
  });

  test('cannot be taken in the middle of a commit of their owner', async () => {
    const [lease] = await takeLeases(sql, ada, first(1), 60_000);
    await expire();
    await sql.begin(async (transaction) => {
      await transaction`select 1 from leases where partition = ${lease?.partition ?? 0} for share`;
      const taken = await takeLeases(sql, bob, first(32), 60_000);
      expect(taken.map(({ partition }) => partition)).not.toContain(lease?.partition);
      expect(taken).toHaveLength(31);
    });
  });

  test('are shared among the coordinators that lived recently', async () => {
    expect(await live(ada)).toBe(0);
    expect(await live(bob)).toBe(1);
    await forgetCoordinator(sql, bob);
    expect(await live(ada)).toBe(0);
  });

  test('are not shared with one that has lost the bus', async () => {
    await live(ada);
    await live(bob, false);
    expect(await live(ada)).toBe(0);
    expect(await live(bob, false)).toBe(1);
    await live(bob);
    expect(await live(ada)).toBe(1);
    await forgetCoordinator(sql, bob);
  });

  test('ignore silent coordinators, which are deleted after an hour', async () => {
    await live(bob);
    await sql`update coordinators set seen_at = now() - interval '59 minutes' where id = ${bob}`;
    expect(await live(ada)).toBe(0);
    await forgetCoordinators(sql);
    expect(await sql`select id from coordinators where id = ${bob}`).toHaveLength(1);
    await sql`update coordinators set seen_at = now() - interval '61 minutes' where id = ${bob}`;
    await forgetCoordinators(sql);
    expect(await sql`select id from coordinators`).toMatchObject([{ id: ada }]);
  });
});

describe('the fair share of a coordinator', () => {
  const share = (cutOffMs: number | null, others: number) =>
    fairShare(32, {
      cutOffMs,
      others: { heard: others, counted: others },
      reportedWithinMs: 12_000,
    });

  test('is the same for all that have the bus, rounded up so that none is left over', () => {
    expect([0, 1, 2, 31, 40].map((others) => share(null, others).keep)).toEqual([32, 16, 11, 1, 1]);
    expect(share(null, 2)).toEqual({ keep: 11, take: 11 });
  });

  test('is zero without the bus for a while, if another coordinator has it', () => {
    expect(share(11_999, 1)).toEqual({ keep: 32, take: 0 });
    expect(share(12_000, 1)).toEqual({ keep: 0, take: 0 });
  });

  test('is what it holds and what is free, while no coordinator has the bus', () => {
    expect(share(0, 0)).toEqual({ keep: 32, take: 32 });
    expect(share(3_600_000, 0)).toEqual({ keep: 32, take: 32 });
  });
});
