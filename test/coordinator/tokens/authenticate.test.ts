import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { deleteMembers, writeRoles } from '../../../coordinator/people/queries.ts';
import {
  createTokens,
  fingerprintOf,
  isTokenText,
  newTokenText,
  shownPart,
  type Tokens,
} from '../../../coordinator/tokens/authenticate.ts';
import { deleteTokensOf, writeLastUsed } from '../../../coordinator/tokens/queries.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { createLog } from '../../../shared/base/log.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const { database, sql } = await ownDatabase({ name: 'test', connections: 4 });
let house: TestOrganisation;
let now = Date.parse('2026-11-20T10:00:00Z');
let tokens: Tokens;
const queries: string[] = [];

beforeAll(async () => {
  house = await createTestOrganisation(sql, { name: 'Shop' });
  tokens = createTokens({
    sql,
    secretKey: testSecretKey,
    clock: { now: () => now },
    log: createLog({ name: 'test', level: 'silent' }),
  });
});

afterAll(async () => {
  await tokens.close();
});

const bearer = (token: string) => tokens.authenticate(`Bearer ${token}`);
const refused = async (authorization: string | undefined): Promise<string> =>
  tokens.authenticate(authorization).then(
    () => 'taken',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

describe('the text of a token', () => {
  test('is svc_, 34 characters and a checksum that catches every single typing error', () => {
    const token = newTokenText();
    expect(token).toMatch(/^svc_[0-9A-Za-z]{40}$/);
    expect(isTokenText(token)).toBe(true);
    for (let at = 4; at < token.length; at += 1) {
      const wrong = token[at] === 'x' ? 'y' : 'x';
      expect(isTokenText(`${token.slice(0, at)}${wrong}${token.slice(at + 1)}`)).toBe(false);
    }
    expect(new Set(Array.from({ length: 1000 }, newTokenText)).size).toBe(1000);
  });

  test('is not stored: only a keyed fingerprint and its first eight characters', async () => {
    const [row] = await sql<{ fingerprint: Buffer; shown: string }[]>`
      select fingerprint, shown from tokens where user_id = ${house.owner.user} and scope = 'read'`;
    expect(row?.shown).toBe(shownPart(house.owner.read));
    expect(row?.shown).toHaveLength(8);
    expect(
      fingerprintOf(house.owner.read, Buffer.alloc(32)).equals(row?.fingerprint ?? Buffer.alloc(0)),
    ).toBe(false);
    expect(row?.fingerprint).toHaveLength(32);
  });
});

describe('a caller', () => {
  test('is identified by the token: organisation, role, scope and name of the token', async () => {
    expect(await bearer(house.viewer.read)).toMatchObject({
      is: 'token',
      organisation: {
        id: house.organisation,
        name: 'Shop',
        plan: 'self_hosted',
        time_zone: 'UTC',
        ends_at: null,
      },
      user: house.viewer.user,
      role: 'viewer',
      scope: 'read',
      token: { name: 'read of a test' },
    });
    expect(await tokens.authenticate(`bearer   ${house.owner.readWrite} `)).toMatchObject({
      role: 'owner',
      scope: 'read_write',
    });
  });

  test('without a token, or with a forged one, is refused', async () => {
    expect(await refused(undefined)).toBe('token_missing');
    expect(await refused('')).toBe('token_missing');
    expect(await refused('Bearer')).toBe('token_missing');
    expect(await refused('Basic YTpi')).toBe('token_missing');
    expect(await refused('Bearer something-else')).toBe('token_missing');
    expect(await refused('Bearer svc_short')).toBe('token_invalid');
    expect(await refused(`Bearer ${newTokenText()}`)).toBe('token_invalid');
    expect(await refused(`Bearer ${house.owner.read.slice(0, -1)}-`)).toBe('token_invalid');
  });

  test('whose role changes has the new one at once, and their tokens end', async () => {
    const { organisation, admin } = await createTestOrganisation(sql);
    expect((await bearer(admin.read)).role).toBe('admin');
    await writeRoles(sql, organisation, { user: admin.user, role: 'viewer' });
    expect((await bearer(admin.read)).role).toBe('viewer');
    await deleteTokensOf(sql, organisation, admin.user);
    expect(await refused(`Bearer ${admin.read}`)).toBe('token_invalid');
  });

  test('who leaves the organisation loses its tokens', async () => {
    const { organisation, member } = await createTestOrganisation(sql);
    await deleteMembers(sql, organisation, member.user);
    expect(await refused(`Bearer ${member.read}`)).toBe('token_invalid');
    expect(await sql`select 1 from tokens where user_id = ${member.user}`).toHaveLength(0);
  });

  test('whose token has ended is refused from that moment', async () => {
    const { member } = await createTestOrganisation(sql);
    await sql`update tokens set expires_at = ${new Date(now + 1000)} where user_id = ${member.user}`;
    expect((await bearer(member.read)).user).toBe(member.user);
    now += 1000;
    expect(await refused(`Bearer ${member.read}`)).toBe('token_invalid');
  });

  test('among fifty at once costs one query in all, and each gets its own token', async () => {
    const watched = connect(database.url, { name: 'watched', connections: 1 });
    const shared = createTokens({
      sql: Object.assign((...given: Parameters<Sql>) => {
        queries.push('query');
        return watched(...given);
      }, watched),
      secretKey: testSecretKey,
      clock: { now: () => now },
      log: createLog({ name: 'test', level: 'silent' }),
    });
    // The key of fingerprints is read once for a process.
    await shared.mint();
    queries.length = 0;
    const asked = Array.from({ length: 50 }, (_, index) =>
      index % 2 === 0 ? house.owner : house.viewer,
    );
    const answers = await Promise.all(
      asked.map((person) => shared.authenticate(`Bearer ${person.read}`)),
    );
    expect(answers.map(({ role }) => role)).toEqual(asked.map(({ role }) => role));
    expect(queries).toHaveLength(1);
    await shared.close();
    await watched.end();
  });
});

test('the last use of a token is written behind, once for many calls, and never moved back', async () => {
  const { owner } = await createTestOrganisation(sql);
  const lastUsed = async () =>
    (
      await sql<
        { at: number | null }[]
      >`select last_used_at as at from tokens where id = ${owner.caller.token?.id ?? ''}`
    )[0]?.at;
  await bearer(owner.readWrite);
  now += 5_000;
  await bearer(owner.readWrite);
  expect(await lastUsed()).toBeNull();
  await tokens.flush();
  expect(await lastUsed()).toBe(now);
  await writeLastUsed(sql, new Map([[owner.caller.token?.id ?? '', now - 60_000]]));
  expect(await lastUsed()).toBe(now);
});
