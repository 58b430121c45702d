import { expect, test } from 'vitest';
import { canEveryoneVerify } from '../../../coordinator/probes/announcements.ts';
import { mintProbe } from '../../../coordinator/probes/identities.ts';
import { endAllDirectCredentials, endDirectCredentials, endedDirectCredentials } from '../../../coordinator/probes/queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { credentialsLiveMs } from '../../../shared/bus/identity.ts';
import { createKey, readJwt } from '../../../shared/bus/nkeys.ts';
import type { RosterProbe } from '../../../shared/checks/assignment.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation } from '../../support/people.ts';

const bench = gateBench();

test('signatures are required once every probe that is heard says that it verifies, a private one’s word waited for as long as asked', () => {
  const probe = (id: string, more: Partial<RosterProbe> = {}): RosterProbe => ({
    ...{ id, name: id, continent: 'Europe', organisation: null, healthy: true, quarantined: false },
    ...more,
  });
  const saying = (can: Readonly<Record<string, readonly string[]>>) => (id: string) =>
    can[id] === undefined ? undefined : { message: { can: [...can[id]] } };
  const both = { epoch: 1, probes: [probe('a'), probe('b')] };
  expect(canEveryoneVerify(both, saying({ a: ['verify'], b: ['verify', 'relay'] }), true)).toBe(true);
  // One of the version before says nothing of it, one has not spoken, nobody is there.
  expect(canEveryoneVerify(both, saying({ a: ['verify'], b: [] }), true)).toBe(false);
  expect(canEveryoneVerify(both, saying({ a: ['verify'] }), true)).toBe(false);
  expect(canEveryoneVerify({ epoch: 1, probes: [] }, saying({}), true)).toBe(false);
  const lost = { epoch: 1, probes: [probe('a'), probe('b', { healthy: false })] };
  expect(canEveryoneVerify(lost, saying({ a: ['verify'], b: [] }), true)).toBe(true);
  const withPrivate = { epoch: 1, probes: [probe('a'), probe('b', { organisation: 'b' })] };
  expect(canEveryoneVerify(withPrivate, saying({ a: ['verify'], b: [] }), true)).toBe(false);
  expect(canEveryoneVerify(withPrivate, saying({ a: ['verify'], b: [] }), false)).toBe(true);
});

test('a private probe’s credentials of before end whatever it says of those that it has now', async () => {
  const { organisation } = await createTestOrganisation(bench.sql);
  const [offered] = await bench.sql<{ at: Date }[]>`select signing_offered_at as at from installation`;
  const add = async (key: string, createdAt = Date.now() - 3_600_000): Promise<string> => {
    const id = newId();
    await bench.sql`insert into probes (id, name, continent, organisation_id, keys, created_at)
      values (${id}, ${key}, 'Europe', ${organisation}, ${JSON.stringify([{ key, until: null }])}::text::jsonb, ${new Date(createdAt)})`;
    return id;
  };
  await endDirectCredentials(bench.sql, await add('liar'), 0);
  const later = Date.now() + 60_000;
  // Made by a coordinator of before, after the first of this version.
  await endDirectCredentials(bench.sql, await add('new liar', later), 0);
  await endDirectCredentials(bench.sql, await add('honest'), later);
  await endAllDirectCredentials(bench.sql);
  const ended = await endedDirectCredentials(bench.sql);
  expect(ended.get('liar')).toBe(Number(offered?.at) - 1_000);
  expect(ended.get('new liar')).toBe(later);
  expect(ended.get('honest')).toBe(later - 1_000);
});

test('what a private probe gets without a relay is dated before this version, so that it ends when the relay begins', async () => {
  const account = createKey('account');
  const now = Date.now();
  const issuedAt = (organisation: string | null, isRelayed: boolean): number => {
    const of = { name: 'one', continent: 'Europe', organisation } as const;
    const { iat, exp = 0 } = readJwt(mintProbe(account, { probe: newId(), key: createKey('user').id, of, isRelayed }, now));
    expect(exp * 1_000).toBeGreaterThan(now + credentialsLiveMs - 2_000);
    return iat * 1_000;
  };
  expect(issuedAt(newId(), false)).toBeLessThanOrEqual(now - 14 * 86_400_000);
  for (const at of [issuedAt(newId(), true), issuedAt(null, true), issuedAt(null, false)]) expect(at).toBeGreaterThan(now - 2_000);
});
