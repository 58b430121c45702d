import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

/** How many monitors each group has, as the database keeps it (migration 028). */

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'test', connections: 2 });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

const inNone = '00000000-0000-0000-0000-000000000000';
type Counts = { organisation_id: string; group_id: string; monitors: number }[];
const kept = () => sql<Counts>`select organisation_id, group_id, monitors from monitor_counts where monitors <> 0 order by 1, 2`;
const counted = () =>
  sql<Counts>`select organisation_id, coalesce(group_id, ${inNone}) as group_id, count(*)::int as monitors from monitors group by 1, 2 order by 1, 2`;

test('is what counting them says, whatever is made, moved and deleted, many at once', async () => {
  const change = fc.record({
    act: fc.constantFrom('make', 'move', 'pause', 'delete', 'delete group'),
    count: fc.integer({ min: 1, max: 4 }),
    from: fc.integer({ min: 0, max: 2 }),
    to: fc.integer({ min: 0, max: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (changes) => {
      const { organisation } = await createTestOrganisation(sql);
      const groups = [newId(), newId()];
      for (const id of groups)
        await sql`insert into groups (id, organisation_id, name, name_folded) values (${id}, ${organisation}, ${id}, ${id})`;
      const groupOf = async (index: number): Promise<string | null> => {
        const [row] = await sql<{ id: string }[]>`select id from groups where id = ${groups[index] ?? inNone}`;
        return row?.id ?? null;
      };
      const some = (group: string | null, count: number) =>
        sql`select id from monitors where organisation_id = ${organisation} and group_id is not distinct from ${group} order by key limit ${count}`;
      for (const { act, count, from, to } of changes) {
        const [here, there] = [await groupOf(from), await groupOf(to)];
        if (act === 'make')
          await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, group_id)
            select gen_random_uuid(), ${organisation}::uuid, 0, 'M', 'https', 'https://shop.example', 60, ${here}::uuid from generate_series(1, ${count}::int)`;
        if (act === 'move') await sql`update monitors set group_id = ${there} where id in (${some(here, count)})`;
        if (act === 'pause') await sql`update monitors set enabled = false, paused_at = now() where id in (${some(here, count)})`;
        if (act === 'delete') await sql`delete from monitors where id in (${some(here, count)})`;
        if (act === 'delete group') await sql`delete from groups where id = ${here}`;
        expect(await kept()).toEqual(await counted());
      }
      if (changes.length % 3 === 0) await sql`delete from organisations where id = ${organisation}`;
      if (changes.length % 5 === 0) await sql`truncate monitors cascade`;
      expect(await kept()).toEqual(await counted());
    }),
    { numRuns: 25 },
  );
});
