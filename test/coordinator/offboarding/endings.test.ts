import { describe, expect, test } from 'vitest';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { insertAudit } from '../../../coordinator/gate/audit.ts';
import { insertPingTokens } from '../../../coordinator/monitors/queries.ts';
import {
  beginEnding,
  createOrganisationEndings,
  endOrganisation,
  undoEnding,
} from '../../../coordinator/offboarding/deletion.ts';
import { forgetMonitors } from '../../../coordinator/results/retention.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { seedDemo } from '../../support/demo.ts';
import { testLog } from '../../support/network.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { rowsFor } from '../../support/rows.ts';
import { ownDatabase } from '../../support/services.ts';

const day = 86_400_000;
const { sql } = await ownDatabase();
const batchSize = { rows: 5, monitors: 7 };
const always = (): boolean => true;

const end = (house: TestOrganisation, now: number): Promise<number> =>
  inTransaction(sql, (transaction) =>
    beginEnding(transaction, {
      organisation: house.organisation,
      user: house.owner.user,
      at: now,
      endsAt: now + 7 * day,
    }),
  );

/** One that has some monitors, and ends in a week from `now`. */
const ending = async (now: number): Promise<TestOrganisation> => {
  const house = await createTestOrganisation(sql);
  const monitors = Array.from({ length: 20 }, (_, number) => ({
    id: newId(),
    organisation_id: house.organisation,
    partition: number,
    name: `M ${number}`,
    type: 'heartbeat',
    target: '',
    interval_s: 60,
  }));
  await sql`insert into monitors ${rowsFor(sql, 'monitors', monitors)}`;
  expect(await end(house, now)).toBe(20);
  return house;
};

/** As ending(), with some of everything. */
const endingEstate = async (now: number): Promise<TestOrganisation> => {
  const house = await createTestOrganisation(sql);
  const { idOf } = await seedDemo(sql, house.organisation, now);
  const { organisation } = house;
  await sql`insert into probes (id, organisation_id, name, continent, keys)
    values (${newId()}, ${organisation}, ${newId()}, 'Europe', '[{"key": "K", "until": null}]')`;
  const fingerprint = Buffer.from(newId()).toString('hex');
  await insertPingTokens(sql, organisation, [
    { fingerprint, monitor: idOf('Nightly backup'), box: Buffer.from('box') },
  ]);
  await sql`insert into invitations (id, organisation_id, email, role, created_at, expires_at)
    values (${newId()}, ${organisation}, 'x@example.org', 'viewer', now(), now() + interval '30 days')`;
  await sql`insert into probe_invitations (id, organisation_id, name, continent, fingerprint, shown, created_at, expires_at)
    values (${newId()}, ${organisation}, 'P', 'Europe', ${Buffer.from(newId())}, 's', now(), now() + interval '1 hour')`;
  await sql`insert into kept_answers (organisation_id, call, request, answered_at)
    values (${organisation}, ${Buffer.from(newId())}, ${Buffer.from('request')}, now())`;
  const entry = {
    at: now,
    organisation,
    user: null,
    who: 'x',
    through: 'page',
    token_name: null,
    address: null,
  } as const;
  for (let count = 0; count < 12; count += 1)
    await insertAudit(sql, { ...entry, operation: 'createGroup', changed: {} });
  await end(house, now);
  return house;
};

/**
 * Table → how many rows of it are the organisation's, of every table that says whose its rows are.
 */
const rowsOf = async (organisation: string): Promise<Readonly<Record<string, number>>> => {
  const tables = await sql<
    { name: string }[]
  >`select c.table_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = current_schema() and c.column_name = 'organisation_id' and t.table_type = 'BASE TABLE' order by 1`;
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await sql<
      { count: number }[]
    >`select count(*)::int as count from ${sql(name)} where organisation_id = ${organisation}`;
    counts[name] = row?.count ?? 0;
  }
  return counts;
};

const isThere = async (organisation: string): Promise<boolean> =>
  (await sql`select 1 from organisations where id = ${organisation}`).length > 0;
/** As partitions, probes and those who take pings do. */
const hearAll = async (): Promise<void> => {
  await sql`update outbox set done_at = now() where done_at is null`;
};
const mailsTo = async (recipient: string): Promise<string[]> =>
  (
    await sql<
      { what: string }[]
    >`select told->>'what' as what from deliveries where recipient = ${recipient} order by created_at`
  ).map(({ what }) => what);

describe('an organisation whose days are over', () => {
  test('is deleted step by step, waits until all were notified, and leaves its users and nothing else', async () => {
    let now = Date.now();
    const [house, other] = [await endingEstate(now), await createTestOrganisation(sql)];
    const before = await rowsOf(house.organisation);
    for (const table of [
      'monitors',
      'incidents',
      'channels',
      'deliveries',
      'alert_steps',
      'beat_tokens',
      'status_pages',
      'probes',
      'audit_log',
      'kept_answers',
    ])
      expect([table, (before[table] ?? 0) > 0]).toEqual([table, true]);
    const endings = createOrganisationEndings({
      sql,
      clock: { now: () => now },
      log: testLog(),
      batchSize,
    });
    await endings.tick(always);
    expect([await mailsTo(house.owner.email), await rowsOf(house.organisation)]).toEqual([
      [],
      before,
    ]);

    now += 6 * day;
    await endings.tick(always);
    await endings.tick(always);
    expect([await mailsTo(house.owner.email), await rowsOf(house.organisation)]).toEqual([
      ['ends-soon'],
      before,
    ]);

    now += day;
    await endings.tick(always);
    expect(await isThere(house.organisation)).toBe(true);
    const [probe] =
      await sql`select keys, revoked_at is not null as revoked from probes where organisation_id = ${house.organisation}`;
    expect(probe).toEqual({ keys: [], revoked: true });
    expect(await sql`select 1 from revoked_keys where key = 'K'`).toHaveLength(1);
    const waiting = await sql<{ what: string; count: number }[]>`
      select coalesce(payload->>'change', topic) as what, count(*)::int as count from outbox
      where organisation_id = ${house.organisation} and done_at is null and topic <> 'probe' group by 1 order by 1`;
    expect(Object.fromEntries(waiting.map(({ what, count }) => [what, count]))).toMatchObject({
      ping_key: expect.any(Number),
      deleted: before.monitors,
    });
    await hearAll();
    await endings.tick(always);
    expect(await isThere(house.organisation)).toBe(false);
    const { outbox: _, ...left } = await rowsOf(house.organisation);
    expect(Object.entries(left).filter(([, count]) => count > 0)).toEqual([]);
    const users =
      await sql`select 1 from users where email = any(${[house.owner, house.viewer].map(({ email }) => email)})`;
    expect(users).toHaveLength(2);
    expect(await mailsTo(house.owner.email)).toEqual(['ends-soon', 'gone']);
    expect((await rowsOf(other.organisation)).memberships).toBe(4);
    const [trace] =
      await sql`select operation, changed->'about'->>'id' as id, changed->'before'->>'name' as name from audit_log
      where organisation_id is null and operation = 'endOrganisation'`;
    expect(trace).toEqual({
      operation: 'endOrganisation',
      id: house.organisation,
      name: house.name,
    });
    // The bulk of the history goes as that of any monitor that was deleted.
    while (await inTransaction(sql, forgetMonitors));
    expect(await sql`select 1 from chunks limit 1`).toHaveLength(0);
  });

  test('is completed by another when one is killed between two steps, and nothing is done twice', async () => {
    const now = Date.now();
    const at = now + 7 * day;
    const house = await ending(now);
    const step = () =>
      inTransaction(sql, (transaction) =>
        endOrganisation(transaction, house.organisation, at, batchSize),
      );
    const states: string[] = [];
    for (let state = ''; state !== 'gone'; ) {
      // Killed after its batch and before the commit: as if it had not been.
      const killed = new Error('killed');
      const dying = inTransaction(sql, async (transaction) => {
        await endOrganisation(transaction, house.organisation, at, batchSize);
        throw killed;
      });
      await expect(dying).rejects.toBe(killed);
      state = await step();
      states.push(state);
      if (state === 'later') await hearAll();
    }
    expect(states.filter((state) => state === 'later')).toHaveLength(1);
    expect(await mailsTo(house.owner.email)).toEqual(['gone']);
    expect(await step()).toBe('later');
  });

  test('cannot be kept once its end has begun, and does not end when it was kept before', async () => {
    const now = Date.now();
    const at = now + 7 * day;
    const [late, kept] = [await ending(now), await ending(now)];
    const step = (of: TestOrganisation) =>
      inTransaction(sql, (transaction) =>
        endOrganisation(transaction, of.organisation, at, batchSize),
      );
    const keep = (of: TestOrganisation, when: number) =>
      inTransaction(sql, (transaction) => undoEnding(transaction, of.organisation, when));
    expect(await step(late)).toBe('more');
    // Whose clock is behind.
    expect(await keep(late, now)).toBeUndefined();
    expect(await keep(kept, now)).toBe(20);
    const before = await rowsOf(kept.organisation);
    expect([await step(kept), await rowsOf(kept.organisation)]).toEqual(['later', before]);
  });
});
