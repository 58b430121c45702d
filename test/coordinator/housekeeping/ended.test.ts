import { expect, test } from 'vitest';
import { forgetEnded } from '../../../coordinator/housekeeping/jobs.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();
const { owner, organisation } = await createTestOrganisation(sql);
const [now, made] = [Date.UTC(2026, 10, 20, 12), new Date(Date.UTC(2026, 10, 19))];

/** What is valid for a time: a row that ends then. `mark` is its fingerprint. */
const temporary: Readonly<Record<string, (end: number, mark: Buffer) => PromiseLike<unknown>>> = {
  one_time_secrets: (end, mark) => sql`
    insert into one_time_secrets (id, kind, fingerprint, user_id, expires_at)
    values (${newId()}, 'second step', ${mark}, ${owner.user}, ${new Date(end)})`,
  invitations: (end, mark) => sql`
    insert into invitations (id, organisation_id, email, role, fingerprint, created_at, expires_at)
    values (${newId()}, ${organisation}, ${`${mark.toString('hex')}@example.org`}, 'viewer', ${mark},
      ${made}, ${new Date(end)})`,
  oauth_records: (end, mark) => sql`
    insert into oauth_records (model, fingerprint, payload, created_at, expires_at)
    values ('Session', ${mark}, '{}'::jsonb, ${made}, ${new Date(end)})`,
  shares: (end, mark) => sql`
    insert into shares (id, organisation_id, report, title, fingerprint, expires_at)
    values (${newId()}, ${organisation}, '{}'::jsonb, 'All monitors', ${mark}, ${new Date(end)})`,
};

test.each(Object.entries(temporary))(
  '%s are deleted when their time is over, and not before',
  async (table, insert) => {
    const [over, valid] = [Buffer.from('over'), Buffer.from('valid')];
    await insert(now, over);
    await insert(now + 1, valid);
    await forgetEnded(sql, now);
    const left = await sql<{ fingerprint: Buffer }[]>`select fingerprint from ${sql(table)}`;
    expect(left.map(({ fingerprint }) => String(fingerprint))).toEqual(['valid']);
  },
);

test('every table whose rows end is one of these, or keeps them for a reason', async () => {
  const found = await sql<{ name: string }[]>`select table_name as name
    from information_schema.columns
    where table_schema = 'public' and column_name = 'expires_at' order by 1`;
  // Leases are renewed; tokens and invitations of probes are listed as ended.
  const kept = ['leases', 'probe_invitations', 'tokens'];
  expect(found.map(({ name }) => name)).toEqual([...Object.keys(temporary), ...kept].toSorted());
});
