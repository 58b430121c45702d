import { expect, test } from 'vitest';
import { forgetEnded } from '../../../coordinator/housekeeping/jobs.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase();
const { owner, organisation } = await createTestOrganisation(sql);
const [now, made] = [Date.UTC(2026, 10, 20, 12), new Date(Date.UTC(2026, 10, 19))];

/** What is valid for a time: a row that ends then. `mark` is its fingerprint. */
const temporary: Readonly<Record<string, (end: Date, mark: Buffer) => PromiseLike<unknown>>> = {
  sign_in_links: (end, mark) => sql`
    insert into sign_in_links (fingerprint, user_id, made_for, created_at, expires_at)
    values (${mark}, ${owner.user}, 'operator', ${made}, ${end})`,
  second_steps: (end, mark) => sql`
    insert into second_steps (fingerprint, user_id, created_at, expires_at)
    values (${mark}, ${owner.user}, ${made}, ${end})`,
  passkey_challenges: (end, mark) => sql`
    insert into passkey_challenges (fingerprint, purpose, expires_at)
    values (${mark}, 'sign in', ${end})`,
  sign_ups: (end, mark) => sql`
    insert into sign_ups (id, fingerprint, email, name, password_hash, created_at, expires_at)
    values (${newId()}, ${mark}, 'new@example.org', 'New', 'hash', ${made}, ${end})`,
  email_verifications: (end, mark) => sql`
    insert into email_verifications (id, user_id, email, fingerprint, created_at, expires_at)
    values (${newId()}, ${owner.user}, 'new@example.org', ${mark}, ${made}, ${end})`,
  password_resets: (end, mark) => sql`
    insert into password_resets (fingerprint, user_id, created_at, expires_at)
    values (${mark}, ${owner.user}, ${made}, ${end})`,
  invitations: (end, mark) => sql`
    insert into invitations (id, organisation_id, email, role, fingerprint, created_at, expires_at)
    values (${newId()}, ${organisation}, ${`${mark.toString('hex')}@example.org`}, 'viewer', ${mark},
      ${made}, ${end})`,
  oauth_records: (end, mark) => sql`
    insert into oauth_records (model, fingerprint, payload, created_at, expires_at)
    values ('Session', ${mark}, '{}'::jsonb, ${made}, ${end})`,
};

test.each(Object.entries(temporary))(
  '%s are deleted when their time is over, and not before',
  async (table, insert) => {
    const [over, valid] = [Buffer.from('over'), Buffer.from('valid')];
    await insert(new Date(now), over);
    await insert(new Date(now + 1), valid);
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
