import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { makeResultDays } from '../../../coordinator/engine/result-queries.ts';
import { createRememberedMonitors, type RememberedMonitors } from '../../../coordinator/monitors/memory.ts';
import { type MonitorList, monitorStatusPage } from '../../../coordinator/monitors/status-queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

let database: TestDatabase;
let sql: Sql;
let somebodyElse: Sql;
let organisation: string;
let shown: RememberedMonitors;

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'test', connections: 2 });
  somebodyElse = connect(database.url, { name: 'another coordinator', connections: 1 });
});

afterAll(async () => {
  await Promise.all([sql.end(), somebodyElse.end()]);
  await database.drop();
});

const insert = async (name: string, group: string | null = null): Promise<string> => {
  const id = newId();
  await somebodyElse`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, group_id)
    values (${id}, ${organisation}, 0, ${name}, 'https', 'https://example.org/', 60, ${group})`;
  return id;
};

beforeEach(async () => {
  ({ organisation } = await createTestOrganisation(sql));
  shown = createRememberedMonitors();
  for (const name of ['a', 'b', 'c']) await insert(name);
});

const list = (most = 10, of = organisation): MonitorList => ({
  ...{ organisation: of, sort: 'created', after: null, most },
  filter: { status: null, type: null, group: null, enabled: null, tag: null, external_id: null, text: '' },
});

const names = async (most = 10): Promise<readonly string[]> => (await shown.page(sql, list(most))).map(({ name }) => name);

describe('Pages of monitors from kept rows', () => {
  it('are those of the database, the first time and when everything is kept', async () => {
    const whole = await monitorStatusPage(sql, list());
    for (const _ of [1, 2, 3]) expect(await shown.page(sql, list())).toEqual([...whole]);
    expect(await names(2)).toEqual(['a', 'b']);
  });

  it('show every change that somebody else committed: of a row, of its group, a new row, a row gone', async () => {
    await names();
    await somebodyElse`update monitors set name = 'B' where organisation_id = ${organisation} and name = 'b'`;
    expect(await names()).toEqual(['a', 'B', 'c']);
    const group = newId();
    await somebodyElse`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${organisation}, 'g', 'g')`;
    await insert('d', group);
    expect((await shown.page(sql, list())).at(-1)?.group_id).toBe(group);
    await somebodyElse`delete from groups where id = ${group}`;
    expect((await shown.page(sql, list())).at(-1)?.group_id).toBe(null);
    await somebodyElse`delete from monitors where organisation_id = ${organisation} and name = 'a'`;
    expect(await names()).toEqual(['B', 'c', 'd']);
  });

  it('show how a monitor is as of now: its status, and what was seen of it', async () => {
    await names();
    const [first] = await shown.page(sql, list(1));
    expect(first).toMatchObject({ status: 'pending', seen: false, last_result_at: null });
    const at = new Date('2026-11-20T10:00:00Z');
    await makeResultDays(sql, at.getTime(), at.getTime());
    await somebodyElse`insert into results (monitor_key, at, probe_key, took_ms, outcome) values (${first?.key ?? 0}, ${at}, 1, 5, 1)`;
    await somebodyElse`insert into incidents (id, organisation_id, monitor_id, started_at)
      values (${newId()}, ${organisation}, ${first?.id ?? ''}, ${at})`;
    const [now] = await shown.page(sql, list(1));
    expect(now).toMatchObject({ name: 'a', status: 'verifying', since: at.getTime(), last_result_at: at.getTime() });
    expect(await shown.page(sql, list(1))).toEqual(await monitorStatusPage(sql, list(1)));
  });

  it('show nothing of what is not committed, or was rolled back', async () => {
    await names();
    await somebodyElse
      .begin(async (transaction) => {
        await transaction`update monitors set name = 'never' where organisation_id = ${organisation}`;
        expect(await names()).toEqual(['a', 'b', 'c']);
        throw new Error('rolled back');
      })
      .catch((error: unknown) => expect(String(error)).toContain('rolled back'));
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('are of one organisation only', async () => {
    await names();
    const other = await createTestOrganisation(sql);
    expect(await shown.page(sql, list(10, other.organisation))).toEqual([]);
  });
});
