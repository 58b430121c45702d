import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { createCursors } from '../../../coordinator/gate/cursors.ts';
import { operate } from '../../../coordinator/operator/operate.ts';
import { createNetworkKeys } from '../../../coordinator/probes/identities.ts';
import {
  createKeptKey,
  createSecretsAtRest,
  inForce,
  pingTokenOf,
  secretsOf,
} from '../../../coordinator/secrets/at-rest.ts';
import { createTokens } from '../../../coordinator/tokens/authenticate.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { systemClock } from '../../../shared/base/time.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';
import {
  createAccount,
  createDatabase,
  environmentOf,
  type TestDatabase,
} from '../../support/services.ts';

let database: TestDatabase;
let sql: Sql;
let house: TestOrganisation;
const monitors = Array.from({ length: 450 }, () => newId());

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'test', connections: 6 });
  house = await createTestOrganisation(sql);
  const secrets = createSecretsAtRest(testSecretKey);
  await sql.begin(async (transaction) => {
    for (const id of monitors) {
      const box = await secrets.seal(transaction, `secret of ${id}`, secretsOf(id));
      await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, secrets)
        values (${id}, ${house.organisation}, 0, 'x', 'https', 'https://example.com', 60, ${box})`;
    }
    const [first = ''] = monitors;
    const token = await secrets.seal(transaction, 'a beat token', pingTokenOf(first));
    await transaction`insert into beat_tokens (fingerprint, organisation_id, monitor_id, token)
      values (${Buffer.from([0])}, ${house.organisation}, ${first}, ${token})`;
  });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

const newKey = 'the key that comes after, which has enough characters';
const log = createLog({ name: 'test', level: 'silent' });

/** What a coordinator is that was started with these. */
const startedWith = (secretKey: string, previousKey?: string) => {
  const keys = { secretKey, previousKey };
  const cursors = createCursors(createKeptKey(sql, keys, 'cursors'));
  return {
    secrets: createSecretsAtRest(secretKey, previousKey),
    authenticate: async (token: string) =>
      (
        await createTokens({ ...keys, sql, log, clock: systemClock }).authenticate(
          `Bearer ${token}`,
        )
      ).role,
    mint: () => createTokens({ ...keys, sql, log, clock: systemClock }).mint(),
    cursors,
    networkKeys: () => createNetworkKeys({ sql, masterOf: (newest) => inForce(keys, newest) }),
  };
};
type Coordinator = ReturnType<typeof startedWith>;

const opensAll = async ({ secrets }: Coordinator): Promise<boolean> => {
  const rows = await sql<
    { id: string; secrets: Buffer }[]
  >`select id, secrets from monitors where secrets is not null`;
  for (const row of rows)
    if ((await secrets.open(sql, row.secrets, secretsOf(row.id))) !== `secret of ${row.id}`)
      return false;
  return rows.length === monitors.length;
};

test('SECRET_KEY is replaced while coordinators work, also by a command that was killed in the midst of it, and nothing is lost', async () => {
  const old = startedWith(testSecretKey);
  const both = startedWith(newKey, testSecretKey);
  const list = ['monitors', house.organisation];
  const cursor = await old.cursors.make(list, { key: 7, place: null });
  const [oldNetwork, bothNetwork] = [await old.networkKeys(), await both.networkKeys()];
  const before = oldNetwork.keyOf('Europe').id;

  // Until the command runs, the new key makes nothing that an older coordinator could not read.
  await both.secrets.check(sql);
  expect(bothNetwork.keyOf('Europe').id).toBe(before);
  expect(await both.authenticate(house.owner.readWrite)).toBe('owner');
  expect(await both.cursors.read(list, cursor)).toEqual({ key: 7, place: null });
  expect(
    await old.cursors.read(list, await both.cursors.make(list, { key: 8, place: 'Größe' })),
  ).toEqual({ key: 8, place: 'Größe' });
  const late = await sql.begin((transaction) => both.secrets.seal(transaction, 'late', 'x'));
  expect(await old.secrets.open(sql, late, 'x')).toBe('late');
  expect((await both.secrets.rotate(sql)).rewritten).toBe(451);
  expect(await opensAll(old)).toBe(true);
  await expect(startedWith(newKey).secrets.check(sql)).rejects.toThrow(
    /SECRET_KEY: is not the one/,
  );

  const killed = both.secrets.replaceSecretKey(sql, () => {
    throw new Error('killed');
  });
  await expect(killed).rejects.toThrow('killed');
  expect((await sql`select 1 from secret_keys`).length).toBe(2);
  expect(await opensAll(startedWith(newKey, testSecretKey))).toBe(true);
  expect(await both.authenticate(house.owner.readWrite)).toBe('owner');

  // Its first transaction took the keys of the network out of use, for every coordinator alike.
  expect(await bothNetwork.refresh(async () => undefined)).toBe(true);
  const after = bothNetwork.keyOf('Europe').id;
  expect(after).not.toBe(before);
  expect(
    (await (await startedWith(newKey, testSecretKey).networkKeys()).keysNow())('Europe').id,
  ).toBe(after);

  const seen: number[] = [];
  const again = await startedWith(newKey, testSecretKey).secrets.replaceSecretKey(
    sql,
    (_what, rows) => seen.push(rows),
  );
  expect(again.rewritten).toBe(251);
  expect(seen).toEqual([200, 250, 251]);
  expect(await sql`select id from secret_keys`).toEqual([{ id: again.id }]);

  const alone = startedWith(newKey);
  await alone.secrets.check(sql);
  expect(await opensAll(alone)).toBe(true);
  expect(await alone.authenticate(house.owner.readWrite)).toBe('owner');
  expect(await alone.cursors.read(list, cursor)).toEqual({ key: 7, place: null });
  expect((await alone.networkKeys()).keyOf('Europe').id).toBe(after);
  await expect(startedWith(testSecretKey).secrets.check(sql)).rejects.toThrow(
    /SECRET_KEY: is not the one/,
  );
  await expect(
    startedWith(testSecretKey, 'yet another key, with enough characters too').secrets.check(sql),
  ).rejects.toThrow(/SECRET_KEY: is not the one/);
});

test('done, it does nothing more, and another replacement after it keeps the tokens, too', async () => {
  const alone = startedWith(newKey, testSecretKey);
  const network = await alone.networkKeys();
  expect((await alone.secrets.replaceSecretKey(sql)).rewritten).toBe(0);
  expect(await network.refresh(async () => undefined)).toBe(false);

  const third = 'a third key, because this is done every year';
  const next = startedWith(third, newKey);
  expect((await next.secrets.replaceSecretKey(sql)).rewritten).toBe(451);
  const last = startedWith(third);
  expect(await opensAll(last)).toBe(true);
  expect(await last.authenticate(house.viewer.read)).toBe('viewer');
});

test('the command says what is missing when the key before is not named, and changes nothing', async () => {
  const said = { out: '', err: '' };
  const environment = {
    ...environmentOf(database, await createAccount()),
    SECRET_KEY: 'a third key, because this is done every year',
  };
  const code = await operate(['secret-key', 'replace'], environment, {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    watched: false,
  });
  expect([code, said.out]).toEqual([2, '']);
  expect(said.err).toMatch(/SECRET_KEY_PREVIOUS is not set: restart all coordinators/);
});

test('an installation without secrets yet goes by the older of both until the command has run', async () => {
  const empty = await createDatabase();
  const other = connect(empty.url, { name: 'test', connections: 2 });
  const both = createSecretsAtRest(newKey, testSecretKey);
  await both.check(other);
  await createSecretsAtRest(testSecretKey).check(other);
  await both.replaceSecretKey(other);
  await createSecretsAtRest(newKey).check(other);
  await other.end();
  await empty.drop();
});
