import { beforeAll, expect, test } from 'vitest';
import { hashPassword, verifyPassword } from '../../../coordinator/people/secrets.ts';
import { createSecretsAtRest, pingTokenOf, secretsOf } from '../../../coordinator/secrets/at-rest.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from '../../support/people.ts';
import { ownDatabase } from '../../support/services.ts';

const { sql } = await ownDatabase({ name: 'test', connections: 6 });
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(sql);
});

const stored = async (id: string): Promise<Buffer> =>
  (await sql<{ secrets: Buffer }[]>`select secrets from monitors where id = ${id}`)[0]?.secrets ?? Buffer.alloc(0);

test('a secret opens again, for what it belongs to only, and only with the key of the installation', async () => {
  const secrets = createSecretsAtRest(testSecretKey);
  const id = newId();
  const box = await sql.begin((transaction) => secrets.seal(transaction, 'hunter2', secretsOf(id)));
  expect(box.includes('hunter2')).toBe(false);
  expect(await secrets.open(sql, box, secretsOf(id))).toBe('hunter2');
  expect(await createSecretsAtRest(testSecretKey).open(sql, box, secretsOf(id))).toBe('hunter2');
  await expect(secrets.open(sql, box, secretsOf(newId()))).rejects.toThrow();
  await expect(createSecretsAtRest('another key, which is just as long as the first one').open(sql, box, secretsOf(id))).rejects.toThrow(
    'SECRET_KEY',
  );
  const twice = await sql.begin((transaction) => secrets.seal(transaction, 'hunter2', secretsOf(id)));
  expect(twice.equals(box)).toBe(false);
});

test('a rotation puts everything under a new key, also what is written while it runs, and takes the old keys away', async () => {
  const secrets = createSecretsAtRest(testSecretKey);
  const monitors = Array.from({ length: 450 }, () => newId());
  await sql.begin(async (transaction) => {
    for (const id of monitors) {
      const box = await secrets.seal(transaction, `secret of ${id}`, secretsOf(id));
      await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, secrets)
        values (${id}, ${house.organisation}, 0, 'x', 'https', 'https://example.com', 60, ${box})`;
    }
    const token = await secrets.seal(transaction, 'a beat token', pingTokenOf(monitors[0] ?? ''));
    await transaction`insert into beat_tokens (fingerprint, organisation_id, monitor_id, token)
      values (${Buffer.from([0])}, ${house.organisation}, ${monitors[0] ?? ''}, ${token})`;
  });
  const before = new Map(await Promise.all(monitors.map(async (id) => [id, await stored(id)] as const)));

  // Holds the old key while the rotation runs, and writes with it at the very end.
  const late = newId();
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let sealed: () => void = () => undefined;
  const holding = new Promise<void>((resolve) => {
    sealed = resolve;
  });
  const slow = sql.begin(async (transaction) => {
    const box = await secrets.seal(transaction, 'late', secretsOf(late));
    sealed();
    await released;
    await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, secrets)
      values (${late}, ${house.organisation}, 0, 'x', 'https', 'https://example.com', 60, ${box})`;
  });
  await holding;
  const rotation = createSecretsAtRest(testSecretKey).rotate(sql);
  await expect.poll(async () => (await sql`select 1 from secret_keys`).length).toBe(2);
  release();
  await slow;
  const { id: key, rewritten } = await rotation;

  expect(rewritten).toBeGreaterThanOrEqual(452);
  expect(await sql`select id from secret_keys`).toEqual([{ id: key }]);
  for (const id of monitors) {
    const box = await stored(id);
    expect(box.equals(before.get(id) ?? box)).toBe(false);
    expect(await secrets.open(sql, box, secretsOf(id))).toBe(`secret of ${id}`);
  }
  expect(await secrets.open(sql, await stored(late), secretsOf(late))).toBe('late');
  const [ping] = await sql<{ token: Buffer }[]>`select token from beat_tokens`;
  expect(await secrets.open(sql, ping?.token ?? Buffer.alloc(0), pingTokenOf(monitors[0] ?? ''))).toBe('a beat token');
});

test('a password is kept as argon2id, recognised, and a wrong or missing one is not', async () => {
  const stored = await hashPassword('correct horse battery');
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(await hashPassword('correct horse battery')).not.toBe(stored);
  expect(await verifyPassword('correct horse battery', stored)).toBe(true);
  expect(await verifyPassword('correct horse batterx', stored)).toBe(false);
  expect(await verifyPassword('correct horse battery', null)).toBe(false);
  expect(await verifyPassword('', 'none')).toBe(false);
});
